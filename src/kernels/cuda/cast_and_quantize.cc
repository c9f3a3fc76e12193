#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"
#include "kernels/quantize.h"

// cast: y = x in y's dtype
// quantize_rows, quantize_weight, quantize_groups: as kernels/quantize.h says
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// What is seen of values that share a scale, and what they are multiplied by.
struct Shared {
  float largest = 0;
  float poison = 0;  ///< Zero times NaN or infinity is NaN, and a sum keeps it.

  ON_DEVICE void see(const Pack& pack) {
    for (const float value : pack.value) {
      largest = fmaxf(largest, fabsf(value));
      poison += 0 * value;
    }
  }
  ON_DEVICE bool is_zero() const { return largest < smallest_row; }
  ON_DEVICE float scale(float limit) const { return (is_zero() ? 1 : largest / limit) + poison; }
  /// NaN stays what it is.
  ON_DEVICE Pack quantized(Pack pack, float limit) const {
    const float inverse = is_zero() ? 0 : limit / largest;
    for (float& value : pack.value) {
      value *= inverse;
      value = value > limit ? limit : value < -limit ? -limit : value;
    }
    return pack;
  }
};

struct Quantize {
  In x;
  Out q;
  float* scale;
  std::int64_t width;
  float limit;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    Shared shared;
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width)
      shared.see(x.pack(row, first, width));
    shared.largest = team.max(shared.largest);
    shared.poison = team.sum(shared.poison);
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width)
      q.set_pack(row, first, width, shared.quantized(x.pack(row, first, width), limit));
    if (team.rank == 0) scale[row] = shared.scale(limit);
  }
};

/// A thread a group.
struct QuantizeGroup {
  In x;
  Out q;
  float* scale;  ///< (rows, groups)
  std::int64_t width;
  float limit;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t group) const {
    const std::int64_t begin = group * activation_group;
    const std::int64_t end = begin + activation_group < width ? begin + activation_group : width;
    Shared shared;
    for (std::int64_t first = begin; first < end; first += pack_width) shared.see(x.pack(row, first, end));
    for (std::int64_t first = begin; first < end; first += pack_width)
      q.set_pack(row, first, end, shared.quantized(x.pack(row, first, end), limit));
    scale[row * activation_groups(width) + group] = shared.scale(limit);
  }
};

}  // namespace

Offer prepare_cast(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width, CopyPack<In>{input(call, memory, 0), output(call, memory, 0), width});
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

Offer prepare_quantize_groups(const Call& call, const MachineFacts&) {
  return offer("a thread a group", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_matrix(call.in(0).rows(), activation_groups(width),
               QuantizeGroup{input(call, memory, 0), output(call, memory, 0), memory.out<float>(1), width,
                             quantized_limit(call.out(0).dtype)});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
