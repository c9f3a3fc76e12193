#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// dx = dy f'(x)
// of z = f(x) y:    dx = dz y f'(x), dy = dz f(x)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct ActivationGradient {
  In dy, x;
  Out dx;
  std::int64_t width;
  Activation activation;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack result = dy.pack(row, first, width);
    const Pack at = x.pack(row, first, width);
    for (int i = 0; i < pack_width; ++i) result.value[i] *= activation_slope(activation, at.value[i]);
    dx.set_pack(row, first, width, result);
  }
};

struct GateGradient {
  In dz, x, y;
  Out dx, dy;
  std::int64_t width;
  Activation activation;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack of_x = dz.pack(row, first, width);  // dx may take dz's place: it is read once
    Pack of_y = of_x;
    const Pack at = x.pack(row, first, width);
    const Pack by = y.pack(row, first, width);
    for (int i = 0; i < pack_width; ++i) {
      of_x.value[i] *= by.value[i] * activation_slope(activation, at.value[i]);
      of_y.value[i] *= activate(activation, at.value[i]);
    }
    dx.set_pack(row, first, width, of_x);
    dy.set_pack(row, first, width, of_y);
  }
};

}  // namespace

Offer prepare_activation_gradient(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              ActivationGradient{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), width,
                                 call.attributes.activation});
  });
}

Offer prepare_gate_gradient(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              GateGradient{input(call, memory, 0), input(call, memory, 1), input(call, memory, 2),
                           output(call, memory, 0), output(call, memory, 1), width, call.attributes.activation});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
