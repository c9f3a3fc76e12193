#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// y[i] = x[i] / (1 - rate) where the element's random number is rate or more, else 0
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Drop {
  In x;
  const std::int32_t* seed;
  Out y;
  std::int64_t width, stream;
  float rate, grown;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack pack = x.pack(row, first, width);
    for (int i = 0; i < pack_width && first + i < width; ++i) {
      const float drawn = uniform_of(random_word(seed, stream, row * width + first + i));
      pack.value[i] = drawn >= rate ? pack.value[i] * grown : 0;
    }
    y.set_pack(row, first, width, pack);
  }
};

}  // namespace

Offer prepare_dropout(const Call& call, const MachineFacts&) {
  return offer("element by element, Philox 4x32-10", [call](const Memory& memory) {
    const Attributes& a = call.attributes;
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              Drop{input(call, memory, 0), memory.in<std::int32_t>(1), output(call, memory, 0), width, a.stream,
                   static_cast<float>(a.rate), static_cast<float>(1 / (1 - a.rate))});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
