#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// l2_norm: sqrt of the sum of squares, in f32 partial sums that are always added in the same order
// adamw, sgd: see program/operations/optimizer.cc. The step is f32; the new weight is f64 until it is rounded, so that
// an update that the weight's dtype loses is seen and counted.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr std::int64_t parts_of_norm = 1024;

struct SumOfSquares {
  In x;
  float* partial;
  std::int64_t count;

  ON_DEVICE void operator()(std::int64_t part, const Team& team) const {
    const std::int64_t end = count * (part + 1) / parts_of_norm;
    float mine = 0;
    for (std::int64_t i = count * part / parts_of_norm + team.rank; i < end; i += team.size) mine += x(i) * x(i);
    mine = team.sum(mine);
    if (team.rank == 0) partial[part] = mine;
  }
};

struct RootOfSum {
  const float* partial;
  Out norm;

  ON_DEVICE void operator()(std::int64_t, const Team& team) const {
    float mine = 0;
    for (std::int64_t part = team.rank; part < parts_of_norm; part += team.size) mine += partial[part];
    mine = team.sum(mine);
    if (team.rank == 0) norm.set(0, 0, sqrtf(mine));
  }
};

/// The weight and what becomes of it.
struct Weight {
  In before;
  Out after;
  const std::int32_t* seed;
  std::int32_t* lost;  ///< Counts updates that were not zero and that rounding took back; null: not wanted.
  std::int64_t stream;
  bool stochastic;

  ON_DEVICE void update(std::int64_t i, double value) const {
    const float old = before(i);
    if (stochastic) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      const std::uint32_t raised = bits + (random_word(seed, stream, i) & 0xffffU);
      store(DType::bf16, after.data, i, std::bit_cast<float>(raised & 0xffff0000U));
    } else {
      store(after.dtype, after.data, i, static_cast<float>(value));
    }
    const bool is_lost = value != static_cast<double>(old) && load(after.dtype, after.data, i) == old;
    if (is_lost && lost != nullptr) add_one();
  }

  ON_DEVICE void add_one() const {
#ifdef __CUDA_ARCH__
    atomicAdd(lost, 1);
#else
    ++*lost;
#endif
  }
};

struct Zero {
  std::int32_t* value;
  ON_DEVICE void operator()(std::int64_t) const { *value = 0; }
};

struct AdamStep {
  Weight weight;
  In g, m, v;
  Out new_m, new_v;
  const float* hyper;  ///< rate, corrections of the moments, coefficient of the gradient
  float beta1, beta2, epsilon;
  double decay;
  AdamW kind;

  ON_DEVICE void operator()(std::int64_t i) const {
    const float rate = hyper[0];
    const float gradient = hyper[3] * g(i);
    const float mean = beta1 * m(i) + (1 - beta1) * gradient;
    const float square = beta2 * v(i) + (1 - beta2) * gradient * gradient;
    new_m.set(0, i, mean);
    new_v.set(0, i, square);
    const double kept = 1 - static_cast<double>(rate) * decay;
    double value = weight.before(i);
    if (kind == AdamW::pytorch) {
      value = value * kept - static_cast<double>(rate / hyper[1] * mean / (sqrtf(square / hyper[2]) + epsilon));
    } else {
      const float step = rate * sqrtf(hyper[2]) / hyper[1] * mean / (sqrtf(square) + epsilon);
      value = (value - static_cast<double>(step)) * kept;
    }
    weight.update(i, value);
  }
};

struct SgdStep {
  Weight weight;
  In g, momentum;
  Out new_momentum;
  const float* hyper;
  float beta1, decay;

  ON_DEVICE void operator()(std::int64_t i) const {
    float step = hyper[3] * g(i) + decay * weight.before(i);
    if (momentum.present()) step += beta1 * momentum(i);
    new_momentum.set(0, i, step);
    weight.update(i, static_cast<double>(weight.before(i)) - static_cast<double>(hyper[0]) * static_cast<double>(step));
  }
};

/// `seed` and `lost`: which input and output they are.
Weight weight_of(const Call& call, const Memory& memory, std::size_t seed, std::size_t lost) {
  const bool stochastic = call.attributes.rounding == Rounding::stochastic && call.in(0).dtype == DType::bf16;
  Weight weight{input(call, memory, 0),        output(call, memory, 0),
                memory.in<std::int32_t>(seed), nullptr,
                call.attributes.stream,        stochastic};
  if (call.out(lost).present) {
    weight.lost = memory.out<std::int32_t>(lost);
    for_elements(1, Zero{weight.lost});
  }
  return weight;
}

}  // namespace

Offer prepare_l2_norm(const Call& call, const MachineFacts&) {
  const auto run = [call](const Memory& memory) {
    auto* partial = reinterpret_cast<float*>(memory.workspace);
    for_rows(parts_of_norm, 256, SumOfSquares{input(call, memory, 0), partial, element_count(call.in(0).shape)});
    for_rows(1, 256, RootOfSum{partial, output(call, memory, 0)});
  };
  return offer("two passes, always in the same order", run, parts_of_norm * sizeof(float));
}

Offer prepare_adamw(const Call& call, const MachineFacts&) {
  return offer("an element a thread", [call](const Memory& memory) {
    const Attributes& a = call.attributes;
    const AdamStep step{.weight = weight_of(call, memory, 5, 3),
                        .g = input(call, memory, 1),
                        .m = input(call, memory, 2),
                        .v = input(call, memory, 3),
                        .new_m = output(call, memory, 1),
                        .new_v = output(call, memory, 2),
                        .hyper = memory.in<float>(4),
                        .beta1 = static_cast<float>(a.beta1),
                        .beta2 = static_cast<float>(a.beta2),
                        .epsilon = static_cast<float>(a.epsilon),
                        .decay = a.weight_decay,
                        .kind = a.adamw};
    for_elements(element_count(call.in(0).shape), step);
  });
}

Offer prepare_sgd(const Call& call, const MachineFacts&) {
  return offer("an element a thread", [call](const Memory& memory) {
    const Attributes& a = call.attributes;
    for_elements(
        element_count(call.in(0).shape),
        SgdStep{weight_of(call, memory, 4, 2), input(call, memory, 1), input(call, memory, 2), output(call, memory, 1),
                memory.in<float>(3), static_cast<float>(a.beta1), static_cast<float>(a.weight_decay)});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
