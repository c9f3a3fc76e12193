#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/gpu.h"
#include "hardware/readings.h"
#include "tensor/dtype.h"
#include "tensor/ledger.h"

namespace assay {

/// Instruction sets that a kernel may use. `true` means: the processor has it, the operating system saves its state,
/// the permission was really obtained (AMX), and no cap forbids it.
struct InstructionSets {
  bool avx2 = false;      ///< with FMA and F16C
  bool avx_vnni = false;  ///< In the registers of AVX2.
  bool avx512 = false;    ///< F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_tile = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
};

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;
  int shared_by_cores = 1;
  int instances = 1;  ///< Of this level, among the processors that this process may run on.
};

/// How a kernel multiplies.
enum class Arithmetic : std::uint8_t { instructions, scalar_loops };

/// A kernel of a backend: one name may stand for kernels of several operations.
struct KernelKey {
  std::string operation;       ///< "linear"
  std::string implementation;  ///< Its name in the backend's list: "avx512 bf16 dot products".

  bool operator==(const KernelKey&) const = default;
  bool operator<(const KernelKey& other) const {
    return std::tie(operation, implementation) < std::tie(other.operation, other.implementation);
  }
};

/// How fast one implementation of the cpu backend multiplied here, all threads.
struct MatmulRate {
  DType operand = DType::f32;   ///< Of x and W as they are stored.
  DType computed = DType::f32;  ///< What its instruction multiplies.
  KernelKey key;
  std::string kernel;  ///< Its description, packing and all.
  Arithmetic arithmetic = Arithmetic::instructions;
  double gflops = 0;  ///< The same weights again and again; a turn that was little disturbed.
  /// Weights from beyond the second cache, as those of a model's layers are, over all turns: what kernels for constant
  /// weights are ordered by. 0: not measured.
  double streaming_gflops = 0;
};

/// How fast matmuls with these operands were measured here, all threads.
struct MatmulPeak {
  DType operand = DType::f32;
  double instruction_gflops = 0;  ///< A loop over registers: no memory, no tails. 0: no such instruction.
  double matmul_gflops = 0;       ///< The best kernel of ours at a large shape.
  std::string kernel;             ///< Which one that was.
  Verdict verdict = Verdict::unsupported;
  std::string evidence;
  std::string instruction;        ///< The one of the instruction peak: "vdpbf16ps zmm"; empty: none.
  std::vector<MatmulRate> rates;  ///< Of every implementation that took such operands, in the order of choice.

  /// The same of one row by streaming weights, as decoding has it: what orders kernels for few rows. A loop that takes
  /// few rows only is in no other list.
  std::vector<MatmulRate> row_rates = {};

  /// Of the instruction peak, over probes; empty: it was not read more than once.
  std::vector<double> instruction_readings_gflops = {};

  /// No product can be faster: what gates compare with.
  double instruction_high_gflops() const {
    return std::max(instruction_gflops, upper_end(instruction_readings_gflops));
  }

  /// Takes matmul_gflops and kernel from the fastest of `rates`, of which there is one.
  void set_best() {
    const auto best = std::max_element(rates.begin(), rates.end(),
                                       [](const MatmulRate& a, const MatmulRate& b) { return a.gflops < b.gflops; });
    matmul_gflops = best->gflops;
    kernel = best->kernel;
  }
  /// The best that products can reach which add in that dtype; 0: not known. The matmuls that are timed add in f32 or
  /// s32: what adds in f16 does without widening, and is bound by the instruction alone.
  double product_gflops(DType accumulator) const {
    return accumulator == DType::f16 ? instruction_gflops : matmul_gflops;
  }
};

struct PowerSource {
  std::string name;
  bool readable = false;
  std::string why;   ///< Why not, or what it covers.
  std::string path;  ///< The file that is read; empty where there is none.
};

/// What this machine is, as found; never what to do about it. The measured part is empty until studies/probe has
/// filled it (or its cache).
struct MachineFacts {
  std::string processor;
  std::string hypervisor;  ///< Empty: none seen.
  std::string operating_system;
  std::string kernel;
  int cores = 1;    ///< That this process may run on.
  int threads = 1;  ///< That kernels are told to use.
  std::int64_t memory_bytes = 0;
  std::int64_t available_bytes = 0;
  std::vector<Cache> caches;
  std::optional<double> frequency_mhz;
  InstructionSets isa;
  std::string cap;  ///< Name of the cap on the instruction set, empty if none: "avx2", "avx512", "no-amx", ...
  std::vector<PowerSource> power_sources;
  std::optional<GpuFacts> gpu;  ///< Where these are a GPU's facts: its memory and rates then, the host's processor.

  double bandwidth_one_core_gbs = 0;  ///< Read bandwidth from memory, GB/s (10^9), measured; 0: not measured.
  double bandwidth_gbs = 0;           ///< The same, all threads: the highest of this probe's readings.
  std::vector<double> bandwidth_readings_gbs = {};  ///< Of it, over probes, the last ones.
  double measured_share = 0;  ///< Of the processor time that measuring asked for, what it got; 1: idle machine.
  std::vector<MatmulPeak> peaks;

  /// Whether others had more than half of the processor time that measuring asked for: rates may be too low.
  bool was_busy() const { return measured_share < 0.5; }

  /// No reading of memory can be faster: what gates compare with.
  double bandwidth_high_gbs() const { return std::max(bandwidth_gbs, upper_end(bandwidth_readings_gbs)); }

  const MatmulPeak* peak(DType operand) const {
    for (const MatmulPeak& peak : peaks) {
      if (peak.operand == operand) return &peak;
    }
    return nullptr;
  }
};

}  // namespace assay
