#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "tensor/dtype.h"

namespace assay {

/// NVIDIA's number for what a GPU's processors can do: 9.0 is an H100 or H200.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// What a GPU is, as found.
struct GpuFacts {
  std::string name;  ///< "NVIDIA H200"
  ComputeCapability capability;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int clock_mhz = 0;  ///< The highest.
  int memory_clock_mhz = 0;
  bool ecc = false;
  int driver_api = 0;  ///< 13000: CUDA 13.0
};

/// What multiplies matrices of a dtype on a GPU.
struct GpuProducts {
  enum class Unit : std::uint8_t {
    none,         ///< No instruction: whatever a library claims, another dtype computes.
    cuda_cores,   ///< An instruction of the ordinary processors.
    crippled,     ///< The same at 1/64 of the f32 rate: there for compatibility.
    tensor_cores  ///< Matrix instructions.
  } unit = Unit::none;
  const char* instruction = nullptr;  ///< "mma bf16"; null: none
};

/// By compute capability alone (CUDA C++ Programming Guide, "Arithmetic Instructions" and "Compute Capabilities"):
///
///   f16    HFMA2 at twice the f32 rate on 6.0, at 1/64 on 6.1; tensor cores from 7.0 on
///   bf16   tensor cores from 8.0 on, else none
///   tf32   tensor cores from 8.0 on, else none
///   s8     DP4A on 6.1 and 7.0, tensor cores from 7.2 on; none on 6.0
///   e4m3   tensor cores from 8.9 on, else none
GpuProducts gpu_products(DType operand, ComputeCapability capability);

/// The f32 multiply-adds of one multiprocessor and clock: 64 on 6.0, 7.x, 8.0; 128 elsewhere.
int f32_lanes(ComputeCapability capability);

/// f32 multiply-adds of all multiprocessors at the highest clock, in GFLOP/s.
double f32_peak_gflops(const GpuFacts& gpu);

/// "9.0".
std::string to_string(ComputeCapability capability);

}  // namespace assay
