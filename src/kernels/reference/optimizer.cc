#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"
#include "program/update_list.h"
#include "tensor/dynamic_map.h"

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

/// Of one element.
struct Moments {
  double mean;
  double square;
};

/// The formulas of op::adamw.
class Adam {
 public:
  Adam(const Call& call, const float* hyper) : a_(call.attributes), hyper_(hyper) {}

  Moments moments(double stored_gradient, double mean, double square) const {
    const double gradient = hyper_.coefficient * stored_gradient;
    return {a_.beta1 * mean + (1 - a_.beta1) * gradient, a_.beta2 * square + (1 - a_.beta2) * gradient * gradient};
  }

  double weight(double before, const Moments& to) const {
    const double kept = 1 - hyper_.rate * a_.weight_decay;
    const double root = std::sqrt(hyper_.correction2);
    if (a_.adamw == AdamW::pytorch)
      return before * kept - hyper_.rate / hyper_.correction1 * to.mean / (std::sqrt(to.square) / root + a_.epsilon);
    const double step = hyper_.rate * root / hyper_.correction1 * to.mean / (std::sqrt(to.square) + a_.epsilon);
    return (before - step) * kept;
  }

 private:
  const Attributes& a_;
  Hyper hyper_;
};

void put_moments(const Call& call, const Memory& memory, std::int64_t i, const Moments& moments) {
  const auto put = [&](std::size_t output, double value, auto bits) {
    const bool draws = call.attributes.state_rounding == Rounding::stochastic && call.out(output).dtype == DType::bf16;
    writer(call, memory, output).set(0, i, draws ? to_bf16_stochastically(value, bits()) : value);
  };
  const auto word = [&] { return random_bits(memory.in<std::int32_t>(5), call.attributes.stream + state_stream, i); };
  put(1, moments.mean, word);
  put(2, moments.square, [&] { return word() >> 16; });
}

/// The magnitude as its block's scale has it: 0 where all of the block is.
float share_of(double magnitude, float scale) {
  return scale > 0 ? std::min(static_cast<float>(magnitude / scale), 1.0F) : 0.0F;
}

float block_scale(double largest, bool finite) {
  return finite ? static_cast<float>(largest) : std::numeric_limits<float>::quiet_NaN();
}

/// Elements [first, end) are the block; returns how many updates were lost.
std::int64_t update_block(const Call& call, const Memory& memory, std::int64_t block, std::int64_t first,
                          std::int64_t end) {
  const Adam adam(call, memory.in<float>(6));
  const double m_scale = reader(call, memory, 4)(block);
  const double v_scale = reader(call, memory, 5)(block);
  std::vector<Moments> all;
  all.reserve(static_cast<std::size_t>(end - first));
  Moments largest = {0, 0};
  bool finite = true;
  std::int64_t lost = 0;
  for (std::int64_t i = first; i < end; ++i) {
    const double mean = signed_value(memory.in<std::uint8_t>(2)[i]) * m_scale;
    const double square = unsigned_magnitudes.value[memory.in<std::uint8_t>(3)[i]] * v_scale;
    const Moments moments = adam.moments(reader(call, memory, 1)(i), mean, square);
    finite =
        finite && std::isfinite(static_cast<float>(moments.mean)) && std::isfinite(static_cast<float>(moments.square));
    largest = {std::max(largest.mean, std::abs(moments.mean)), std::max(largest.square, moments.square)};
    lost += update_weight(call, memory, 7, i, adam.weight(reader(call, memory, 0)(i), moments));
    all.push_back(moments);
  }
  const float new_m = block_scale(largest.mean, finite);
  const float new_v = block_scale(largest.square, finite);
  memory.out<float>(3)[block] = new_m;
  memory.out<float>(4)[block] = new_v;
  for (std::int64_t i = first; i < end; ++i) {
    const Moments& moments = all[static_cast<std::size_t>(i - first)];
    const std::uint32_t mean = signed_magnitudes.nearest(share_of(std::abs(moments.mean), new_m));
    const std::uint32_t square = unsigned_magnitudes.nearest(share_of(moments.square, new_v));
    memory.out<std::uint8_t>(1)[i] = static_cast<std::uint8_t>(signed_code(mean, moments.mean < 0));
    memory.out<std::uint8_t>(2)[i] = static_cast<std::uint8_t>(square);
  }
  return lost;
}

}  // namespace

void l2_norm(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  double sum = 0;
  for (std::int64_t i = 0; i < element_count(call.in(0).shape); ++i) sum += x(i) * x(i);
  writer(call, memory, 0).set(0, 0, std::sqrt(sum));
}

void adamw(const Call& call, const Memory& memory) {
  const Adam adam(call, memory.in<float>(4));
  const Reader w = reader(call, memory, 0);
  const Reader g = reader(call, memory, 1);
  const Reader m = reader(call, memory, 2);
  const Reader v = reader(call, memory, 3);
  update_elements(call, memory, 3, [&](std::int64_t i) {
    const Moments moments = adam.moments(g(i), m(i), v(i));
    put_moments(call, memory, i, moments);
    return update_weight(call, memory, 5, i, adam.weight(w(i), moments));
  });
}

void block_adamw(const Call& call, const Memory& memory) {
  const std::int64_t count = element_count(call.in(0).shape);
  const std::int64_t width = call.attributes.width;
  std::int64_t lost = 0;
  for (std::int64_t first = 0; first < count; first += width)
    lost += update_block(call, memory, first / width, first, std::min(first + width, count));
  writer(call, memory, 5).set(0, 0, static_cast<double>(lost));
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
