#include <atomic>
#include <bit>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// The step's numbers: see op::adamw.
struct Hyper {
  explicit Hyper(const float* values)
      : rate(values[0]), correction1(values[1]), correction2(values[2]), coefficient(values[3]) {}
  double rate;
  double correction1;
  double correction2;
  double coefficient;
};

/// Rounds to bf16 up or down with a probability that makes the mean exact: random bits are added below the last one.
double to_bf16_stochastically(double value, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + (random & 0xffffU)) & 0xffff0000U);
}

/// Writes the new weight; 1 if the update was not zero and is lost.
int update_weight(const Call& call, const Memory& memory, std::size_t seed_place, std::int64_t i, double value) {
  const Reader w = reader(call, memory, 0);
  const Writer out = writer(call, memory, 0);
  const double before = w(i);
  if (call.attributes.rounding == Rounding::stochastic && call.in(0).dtype == DType::bf16) {
    const std::uint32_t random = random_bits(memory.in<std::int32_t>(seed_place), call.attributes.stream, i);
    out.set(0, i, to_bf16_stochastically(value, random));
  } else {
    out.set(0, i, value);
  }
  return value != before && Reader(call.out(0), memory.out<std::byte>(0))(i) == before ? 1 : 0;
}

/// update(i) for every element; the sum of what it returns goes to output `lost`.
template <typename Update>
void update_elements(const Call& call, const Memory& memory, std::size_t lost, Update update) {
  const std::int64_t count = element_count(call.in(0).shape);
  std::atomic<std::int64_t> total = 0;
  parallel_for(count, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += update(i);
    total += sum;
  });
  writer(call, memory, lost).set(0, 0, static_cast<double>(total.load()));
}

}  // namespace

void l2_norm(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  double sum = 0;
  for (std::int64_t i = 0; i < element_count(call.in(0).shape); ++i) sum += x(i) * x(i);
  writer(call, memory, 0).set(0, 0, std::sqrt(sum));
}

void adamw(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const Hyper hyper(memory.in<float>(4));
  const Reader w = reader(call, memory, 0);
  const Reader g = reader(call, memory, 1);
  const Reader m = reader(call, memory, 2);
  const Reader v = reader(call, memory, 3);
  update_elements(call, memory, 3, [&](std::int64_t i) {
    const double gradient = hyper.coefficient * g(i);
    const double mean = a.beta1 * m(i) + (1 - a.beta1) * gradient;
    const double square = a.beta2 * v(i) + (1 - a.beta2) * gradient * gradient;
    writer(call, memory, 1).set(0, i, mean);
    writer(call, memory, 2).set(0, i, square);
    double value = w(i);
    if (a.adamw == AdamW::pytorch) {
      value *= 1 - hyper.rate * a.weight_decay;
      value -= hyper.rate / hyper.correction1 * mean / (std::sqrt(square / hyper.correction2) + a.epsilon);
    } else {
      value -= hyper.rate * std::sqrt(hyper.correction2) / hyper.correction1 * mean / (std::sqrt(square) + a.epsilon);
      value *= 1 - hyper.rate * a.weight_decay;
    }
    return update_weight(call, memory, 5, i, value);
  });
}

void sgd(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const Hyper hyper(memory.in<float>(3));
  const Reader w = reader(call, memory, 0);
  const Reader g = reader(call, memory, 1);
  const Reader momentum = reader(call, memory, 2);
  update_elements(call, memory, 2, [&](std::int64_t i) {
    double step = hyper.coefficient * g(i) + a.weight_decay * w(i);
    if (momentum.present()) step += a.beta1 * momentum(i);
    writer(call, memory, 1).set(0, i, step);
    return update_weight(call, memory, 4, i, w(i) - hyper.rate * step);
  });
}

}  // namespace assay::reference
