#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"
#include "kernels/quantize.h"

// cast: y = x in y's dtype
// quantize_rows, quantize_weight: as kernels/quantize.h says
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

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
  float limit;

  /// NaN stays what it is.
  ON_DEVICE float within_limit(float value) const { return value > limit ? limit : value < -limit ? -limit : value; }

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    float largest = 0;
    float poison = 0;  // Zero times NaN or infinity is NaN, and a sum keeps it.
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      const Pack pack = x.pack(row, first, width);
      for (const float value : pack.value) {
        largest = fmaxf(largest, fabsf(value));
        poison += 0 * value;
      }
    }
    largest = team.max(largest);
    poison = team.sum(poison);
    const bool zero = largest < smallest_row;
    const float inverse = zero ? 0 : limit / largest;
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      Pack pack = x.pack(row, first, width);
      for (float& value : pack.value) value = within_limit(value * inverse);
      q.set_pack(row, first, width, pack);
    }
    if (team.rank == 0) scale[row] = (zero ? 1 : largest / limit) + poison;
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
             Quantize{input(call, memory, 0), output(call, memory, 0), memory.out<float>(1), width,
                      quantized_limit(call.out(0).dtype)});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
