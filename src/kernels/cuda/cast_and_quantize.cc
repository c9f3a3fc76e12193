#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// cast: y = x in y's dtype
// quantize_rows, quantize_weight: scale = largest / 127, q = round(x * (127 / largest)), a row of zeros: scale 1
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Rows without a magnitude above this count as zero: 127 / it must stay finite in f32.
constexpr float smallest_row = 0x1p-100F;

struct Copy {
  In x;
  Out y;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    y.set_pack(row, first, width, x.pack(row, first, width));
  }
};

struct Quantize {
  In x;
  Out q;
  float* scale;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    float largest = 0;
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      const Pack pack = x.pack(row, first, width);
      for (const float value : pack.value) largest = fmaxf(largest, fabsf(value));
    }
    largest = team.max(largest);
    const bool zero = largest < smallest_row;
    const float inverse = zero ? 0 : 127.0F / largest;
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      Pack pack = x.pack(row, first, width);
      for (float& value : pack.value) value = fminf(fmaxf(value * inverse, -127), 127);
      q.set_pack(row, first, width, pack);
    }
    if (team.rank == 0) scale[row] = zero ? 1 : largest / 127;
  }
};

}  // namespace

Offer prepare_cast(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width, Copy{input(call, memory, 0), output(call, memory, 0), width});
  });
}

Offer prepare_quantize(const Call& call, const MachineFacts&) {
  return offer("a team of threads a row", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_rows(call.in(0).rows(), packs(width),
             Quantize{input(call, memory, 0), output(call, memory, 0), memory.out<float>(1), width});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
