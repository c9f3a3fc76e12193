#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// y[i] = x[i] / (1 - rate) where the element's random number is rate or more, else 0; x: rows `first` on of a step's
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Drop {
  In x;
  const std::int32_t* seed;
  const std::int32_t* first_of_step;
  Out y;
  std::int64_t width, rows_each, stream;
  float rate, grown;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack pack = x.pack(row, first, width);
    const std::int64_t drawn_from = (*first_of_step * rows_each + row) * width + first;
    for (int i = 0; i < pack_width && first + i < width; ++i) {
      const float drawn = uniform_of(random_word(seed, stream, drawn_from + i));
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
              Drop{input(call, memory, 0), memory.in<std::int32_t>(1), memory.in<std::int32_t>(2),
                   output(call, memory, 0), width, call.in(0).rows_each(), a.stream, static_cast<float>(a.rate),
                   static_cast<float>(1 / (1 - a.rate))});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
