#include "hardware/gpu.h"

#include <fmt/format.h>

namespace assay {
namespace {

using Unit = GpuProducts::Unit;

/// A dtype's unit from a capability on, and before it.
struct Since {
  ComputeCapability from;
  ComputeCapability before;  ///< Exclusive.
  DType operand;
  Unit unit;
  const char* instruction;
};

constexpr ComputeCapability always = {0, 0};
constexpr ComputeCapability forever = {1000, 0};
constexpr Since table[] = {
    {always, forever, DType::f32, Unit::cuda_cores, "ffma"},
    {{5, 3}, {6, 1}, DType::f16, Unit::cuda_cores, "hfma2"},
    {{6, 1}, {7, 0}, DType::f16, Unit::crippled, "hfma2"},
    {{7, 0}, forever, DType::f16, Unit::tensor_cores, "mma f16"},
    {{8, 0}, forever, DType::bf16, Unit::tensor_cores, "mma bf16"},
    {{8, 0}, forever, DType::tf32, Unit::tensor_cores, "mma tf32"},
    {{6, 1}, {7, 2}, DType::s8, Unit::cuda_cores, "dp4a"},
    {{7, 2}, forever, DType::s8, Unit::tensor_cores, "mma s8"},
    {{8, 9}, forever, DType::e4m3, Unit::tensor_cores, "mma e4m3"},
    {{8, 9}, forever, DType::e5m2, Unit::tensor_cores, "mma e5m2"},
};

}  // namespace

GpuProducts gpu_products(DType operand, ComputeCapability capability) {
  for (const Since& row : table) {
    if (row.operand == operand && row.from <= capability && capability < row.before) return {row.unit, row.instruction};
  }
  return {};
}

int f32_lanes(ComputeCapability capability) {
  const bool is_narrow =
      capability == ComputeCapability{6, 0} || capability.major == 7 || capability == ComputeCapability{8, 0};
  return is_narrow ? 64 : 128;
}

double f32_peak_gflops(const GpuFacts& gpu) {
  return 2.0 * f32_lanes(gpu.capability) * gpu.multiprocessors * gpu.clock_mhz * 1e-3;
}

std::string to_string(ComputeCapability capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

}  // namespace assay
