#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// y = f(x)                      x, y: (rows, width)
// y = f(x[:w]) * x[w:]          x: (rows, 2w), y: (rows, w)
// z = f(x) * y
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Activate {
  In x, factor;  ///< factor: absent, or what the result is multiplied by
  Out y;
  std::int64_t width;
  Activation activation;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack result = x.pack(row, first, width);
    for (float& value : result.value) value = activate(activation, value);
    if (factor.present()) {
      const Pack by = factor.pack(row, first, width);
      for (int i = 0; i < pack_width; ++i) result.value[i] *= by.value[i];
    }
    y.set_pack(row, first, width, result);
  }
};

/// The columns of an input from `first` on.
In columns_from(In in, std::int64_t first) {
  in.data += first * static_cast<std::int64_t>(size_of(in.dtype));
  return in;
}

}  // namespace

Offer prepare_activation(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              Activate{input(call, memory, 0), {}, output(call, memory, 0), width, call.attributes.activation});
  });
}

Offer prepare_gated_activation(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width() / 2;
    const In x = input(call, memory, 0);
    for_packs(call.in(0).rows(), width,
              Activate{x, columns_from(x, width), output(call, memory, 0), width, call.attributes.activation});
  });
}

Offer prepare_gate(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              Activate{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), width,
                       call.attributes.activation});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
