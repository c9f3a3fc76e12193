#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// What an optimizer does with each weight: how it is rounded, and who counts the updates that are lost in that.
class WeightUpdate {
 public:
  WeightUpdate(const Call& call, const Memory& memory, std::size_t seed_place, std::size_t lost_place)
      : stochastic_(rounds_stochastically(call)),
        counts_(memory.out<std::byte>(lost_place) != nullptr),
        w_(source_rows(call, memory, 0)[0]),
        out_(sink_rows(call, memory, 0)[0]) {
    if (stochastic_) random_ = random_stream(memory.in<std::int32_t>(seed_place), call.attributes.stream);
  }

  /// Comes before the elements [first, first + count), count <= chunk_elements.
  HWY_INLINE void start(std::int64_t first, std::int64_t count) {
    first_ = first;
    if (stochastic_) draw(random_, first, count, drawn_);
  }

  /// w - update. What is lost is compared as it was stored: the update may be far below the weight's last bit.
  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, V32 before, V32 update, std::int64_t i) {
    const V32 value = hn::Sub(before, update);
    lanes.put(stochastic_ ? rounded_to_bf16(value, drawn_.at(i - first_)) : value, out_, i);
    if (!counts_) return;
    const auto moved = hn::Ne(lanes.zero_beyond(update), hn::Zero(f32_lanes));
    const auto stays = hn::Eq(lanes.get({out_.data, out_.dtype}, i), before);
    lost_ += static_cast<double>(hn::CountTrue(f32_lanes, hn::And(moved, stays)));
  }

  HWY_INLINE Source weights() const { return w_; }
  double lost() const { return lost_; }

 private:
  static bool rounds_stochastically(const Call& call) {
    return call.attributes.rounding == Rounding::stochastic && call.in(0).dtype == DType::bf16;
  }
  /// Up or down with a probability that makes the mean exact: random bits are added below the last one.
  HWY_INLINE static V32 rounded_to_bf16(V32 value, W32 random) {
    const W32 low = hn::And(random, hn::Set(u32_lanes, 0xffffU));
    const W32 sum = hn::Add(hn::BitCast(u32_lanes, value), low);
    return hn::BitCast(f32_lanes, hn::And(sum, hn::Set(u32_lanes, 0xffff0000U)));
  }

  bool stochastic_;
  bool counts_;
  Source w_;
  Sink out_;
  RandomStream random_ = {};
  std::int64_t first_ = 0;
  double lost_ = 0;
  RandomBits drawn_;
};

/// body(lanes, i) for each vector of chunks [begin, end) of the weights; what was lost goes to `sums`.
template <typename Body>
HWY_INLINE void for_chunks(const Call& call, std::int64_t begin, std::int64_t end, WeightUpdate& update, Body&& body) {
  const std::int64_t count = element_count(call.in(0).shape);
  for (std::int64_t first = begin * chunk_elements; first < std::min(end * chunk_elements, count);
       first += chunk_elements) {
    const std::int64_t here = std::min(count - first, chunk_elements);
    update.start(first, here);
    for_vectors(here, [&](auto lanes, std::int64_t i) HWY_ATTR { body(lanes, first + i); });
  }
}

/// Both variants of AdamW as w - (w shrink + m step / (sqrt(v) root + epsilon)); rounded from f64 once.
struct AdamSteps {
  V32 coefficient, beta1, beta2, rest1, rest2, shrink, step, root, epsilon;
};

HWY_INLINE AdamSteps adam_steps(const Attributes& a, const float* hyper) {
  const auto set = [](double value) HWY_ATTR { return hn::Set(f32_lanes, static_cast<float>(value)); };
  const double rate = hyper[0];
  const double shrink = rate * a.weight_decay;
  const double root = std::sqrt(static_cast<double>(hyper[2]));
  const bool pytorch = a.adamw == AdamW::pytorch;
  const double step = pytorch ? rate / hyper[1] : rate * root / hyper[1] * (1 - shrink);
  return {set(hyper[3]),    set(a.beta1), set(a.beta2), set(1 - a.beta1),
          set(1 - a.beta2), set(shrink),  set(step),    set(pytorch ? 1 / root : 1),
          set(a.epsilon)};
}

void adamw_chunks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const AdamSteps s = adam_steps(call.attributes, memory.in<float>(4));
  const Source g = source_rows(call, memory, 1)[0];
  const Source m = source_rows(call, memory, 2)[0];
  const Source v = source_rows(call, memory, 3)[0];
  const Sink new_m = sink_rows(call, memory, 1)[0];
  const Sink new_v = sink_rows(call, memory, 2)[0];
  WeightUpdate update(call, memory, 5, 3);
  for_chunks(call, begin, end, update, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 gradient = hn::Mul(s.coefficient, lanes.get(g, i));
    const V32 mean = hn::MulAdd(s.beta1, lanes.get(m, i), hn::Mul(s.rest1, gradient));
    const V32 square = hn::MulAdd(s.beta2, lanes.get(v, i), hn::Mul(hn::Mul(s.rest2, gradient), gradient));
    lanes.put(mean, new_m, i);
    lanes.put(square, new_v, i);
    const V32 before = lanes.get(update.weights(), i);
    const V32 towards = hn::Div(hn::Mul(s.step, mean), hn::MulAdd(hn::Sqrt(square), s.root, s.epsilon));
    update.put(lanes, before, hn::MulAdd(before, s.shrink, towards), i);
  });
  *reinterpret_cast<double*>(sums) = update.lost();
}

void sgd_chunks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const float* hyper = memory.in<float>(3);
  const V32 rate = hn::Set(f32_lanes, hyper[0]);
  const V32 coefficient = hn::Set(f32_lanes, hyper[3]);
  const V32 decay = hn::Set(f32_lanes, static_cast<float>(call.attributes.weight_decay));
  const V32 beta = hn::Set(f32_lanes, static_cast<float>(call.attributes.beta1));
  const Source g = source_rows(call, memory, 1)[0];
  const Source momentum = source_rows(call, memory, 2)[0];
  const Sink new_momentum = sink_rows(call, memory, 1)[0];
  WeightUpdate update(call, memory, 4, 2);
  for_chunks(call, begin, end, update, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 before = lanes.get(update.weights(), i);
    V32 step = hn::MulAdd(coefficient, lanes.get(g, i), hn::Mul(decay, before));
    if (momentum.data != nullptr) step = hn::MulAdd(beta, lanes.get(momentum, i), step);
    if (new_momentum.data != nullptr) lanes.put(step, new_momentum, i);
    update.put(lanes, before, hn::Mul(rate, step), i);
  });
  *reinterpret_cast<double*>(sums) = update.lost();
}

/// `lost` is the last output.
void count_lost(const Call& call, const Memory& memory, std::int64_t, std::int64_t parts, float* sums) {
  const std::size_t place = call.operation == &op::adamw ? 3 : 2;
  if (auto* lost = memory.out<std::int32_t>(place)) *lost = static_cast<std::int32_t>(sum_of_doubles(sums, parts));
}

/// Squares and their sum in f64: neither overflows nor vanishes where the elements do not.
#if HWY_TARGET == HWY_SCALAR
struct SquareSums {
  double sum;

  HWY_INLINE static SquareSums zero() { return {0}; }
  HWY_INLINE void add(V32 value) { sum += static_cast<double>(hn::GetLane(value)) * hn::GetLane(value); }
  HWY_INLINE double total() const { return sum; }
};
#else
using HalfF32 = hn::Half<F32>;
using F64 = hn::Rebind<double, HalfF32>;
struct SquareSums {
  hn::Vec<F64> low;
  hn::Vec<F64> high;

  HWY_INLINE static SquareSums zero() { return {hn::Zero(F64()), hn::Zero(F64())}; }
  HWY_INLINE void add(V32 value) {
    const auto first = hn::PromoteTo(F64(), hn::LowerHalf(HalfF32(), value));
    const auto second = hn::PromoteTo(F64(), hn::UpperHalf(HalfF32(), value));
    low = hn::MulAdd(first, first, low);
    high = hn::MulAdd(second, second, high);
  }
  HWY_INLINE double total() const { return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(low, high))); }
};
#endif

void l2_norm_chunks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const Source x = source_rows(call, memory, 0)[0];
  const std::int64_t first = begin * chunk_elements;
  const std::int64_t count = std::min(end * chunk_elements, element_count(call.in(0).shape)) - first;
  SquareSums squares = SquareSums::zero();
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR { squares.add(lanes.get(x, first + i)); });
  *reinterpret_cast<double*>(sums) = squares.total();
}

void root_of_sums(const Call& call, const Memory& memory, std::int64_t, std::int64_t parts, float* sums) {
  const auto norm = static_cast<float>(std::sqrt(sum_of_doubles(sums, parts)));
  store_first(hn::Set(f32_lanes, norm), sink_rows(call, memory, 0)[0], 0, 1);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(adamw_chunks);
HWY_EXPORT(sgd_chunks);
HWY_EXPORT(count_lost);
HWY_EXPORT(l2_norm_chunks);
HWY_EXPORT(root_of_sums);

namespace {

/// Contiguous parts of the elements, whatever their shape; each sums one f64.
RowWork in_chunks(const Call& call) {
  const std::int64_t count = element_count(call.in(0).shape);
  return {(count + chunk_elements - 1) / chunk_elements, chunk_elements, floats_of_a_double};
}

/// In words why vectors cannot take the call, whose output `lost` is s32.
const char* unfit_for_updates(const Call& call, std::size_t hyper, std::size_t lost) {
  Call floats = call;
  floats.outputs.resize(std::min(lost, floats.outputs.size()));
  if (const char* why = unfit_for_vectors(floats)) return why;
  if (call.in(hyper).dtype != DType::f32) return "the step's numbers are not f32";
  if (call.in(hyper + 1).present && call.in(hyper + 1).dtype != DType::s32) return "the seed is not s32";
  if (call.out(lost).present && call.out(lost).dtype != DType::s32) return "the count of lost updates is not s32";
  return nullptr;
}

}  // namespace

Offer adamw_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_updates(call, 4, 3)) return Declined{why};
  return summing_prepared(call, facts, in_chunks(call), [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(adamw_chunks), HWY_DYNAMIC_DISPATCH(count_lost)};
  });
}

Offer sgd_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_updates(call, 3, 2)) return Declined{why};
  return summing_prepared(call, facts, in_chunks(call), [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(sgd_chunks), HWY_DYNAMIC_DISPATCH(count_lost)};
  });
}

Offer l2_norm_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  return summing_prepared(call, facts, in_chunks(call), [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(l2_norm_chunks), HWY_DYNAMIC_DISPATCH(root_of_sums)};
  });
}

}  // namespace assay::cpu
#endif
