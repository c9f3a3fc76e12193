#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// z = x + y, z = x * y, y = scale x + shift, y = cap tanh(x / cap), dx = dy (1 - (y / cap)^2)    all: (rows, width)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

enum class Combination : std::uint8_t { sum, product };

struct Combine {
  In x, y;
  Out z;
  std::int64_t width;
  Combination how;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack a = x.pack(row, first, width);
    const Pack b = y.pack(row, first, width);
    for (int i = 0; i < pack_width; ++i)
      a.value[i] = how == Combination::sum ? a.value[i] + b.value[i] : a.value[i] * b.value[i];
    z.set_pack(row, first, width, a);
  }
};

struct Affine {
  In x;
  Out y;
  std::int64_t width;
  float scale, shift;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack a = x.pack(row, first, width);
    for (float& value : a.value) value = scale * value + shift;
    y.set_pack(row, first, width, a);
  }
};

struct SoftCap {
  In x;
  Out y;
  std::int64_t width;
  float cap;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack a = x.pack(row, first, width);
    for (float& value : a.value) value = soft_capped(value, cap);
    y.set_pack(row, first, width, a);
  }
};

struct SoftCapGradient {
  In dy, y;
  Out dx;
  std::int64_t width;
  float cap;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack a = dy.pack(row, first, width);
    const Pack at = y.pack(row, first, width);
    for (int i = 0; i < pack_width; ++i) a.value[i] *= soft_cap_slope(at.value[i], cap);
    dx.set_pack(row, first, width, a);
  }
};

Offer prepare_combination(const Call& call, Combination how) {
  return offer("element by element", [call, how](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              Combine{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), width, how});
  });
}

}  // namespace

Offer prepare_add(const Call& call, const MachineFacts&) {
  return prepare_combination(call, Combination::sum);
}

Offer prepare_multiply(const Call& call, const MachineFacts&) {
  return prepare_combination(call, Combination::product);
}

Offer prepare_affine(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              Affine{input(call, memory, 0), output(call, memory, 0), width, static_cast<float>(call.attributes.scale),
                     static_cast<float>(call.attributes.shift)});
  });
}

Offer prepare_soft_cap(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              SoftCap{input(call, memory, 0), output(call, memory, 0), width, static_cast<float>(call.attributes.cap)});
  });
}

Offer prepare_soft_cap_gradient(const Call& call, const MachineFacts&) {
  return offer("element by element", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_packs(call.in(0).rows(), width,
              SoftCapGradient{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), width,
                              static_cast<float>(call.attributes.cap)});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
