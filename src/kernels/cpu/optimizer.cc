#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
#include "program/update_list.h"
#include "tensor/dynamic_map.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Up or down with a probability that makes the mean exact: random bits are added below the last one. The lower half of
/// `random` counts.
HWY_INLINE V32 rounded_at_random(V32 value, W32 random) {
  const W32 low = hn::And(random, hn::Set(u32_lanes, 0xffffU));
  const W32 sum = hn::Add(hn::BitCast(u32_lanes, value), low);
  return hn::BitCast(f32_lanes, hn::And(sum, hn::Set(u32_lanes, 0xffff0000U)));
}

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
    lanes.put(stochastic_ ? rounded_at_random(value, drawn_.at(i - first_)) : value, out_, i);
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

  bool stochastic_;
  bool counts_;
  Source w_;
  Sink out_;
  RandomStream random_ = {};
  std::int64_t first_ = 0;
  double lost_ = 0;
  RandomBits drawn_;
};

/// The dtype of every weight, gradient and state; none where they differ.
std::optional<DType> dtype_of_tensors(const Call& call) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  const DType dtype = call.in(0).dtype;
  const auto fits = [dtype](const Argument& one) { return !one.present || one.dtype == dtype; };
  for (std::size_t i = 0; i < list.hyper(); ++i) {
    if (!fits(call.in(i))) return std::nullopt;
  }
  for (std::size_t i = 0; i < list.lost(); ++i) {
    if (!fits(call.out(i))) return std::nullopt;
  }
  return dtype;
}

/// start(first, count) before each chunk of [begin, end), and body(lanes, i) for each of its vectors.
template <typename Start, typename Body>
HWY_INLINE void for_chunks(const Call& call, std::int64_t begin, std::int64_t end, Start&& start, Body&& body) {
  const std::int64_t count = element_count(call.in(0).shape);
  with_dtype(dtype_of_tensors(call), [&](auto typed) HWY_ATTR {
    for (std::int64_t first = begin * chunk_elements; first < std::min(end * chunk_elements, count);
         first += chunk_elements) {
      const std::int64_t here = std::min(count - first, chunk_elements);
      start(first, here);
      for_vectors(here, [&](auto lanes, std::int64_t i) HWY_ATTR { body(typed(lanes), first + i); });
    }
  });
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

struct VectorMoments {
  V32 mean, square;
};

HWY_INLINE VectorMoments moments(const AdamSteps& s, V32 stored_gradient, V32 mean, V32 square) {
  const V32 gradient = hn::Mul(s.coefficient, stored_gradient);
  return {hn::MulAdd(s.beta1, mean, hn::Mul(s.rest1, gradient)),
          hn::MulAdd(s.beta2, square, hn::Mul(hn::Mul(s.rest2, gradient), gradient))};
}

/// What is taken off the weight.
HWY_INLINE V32 adam_update(const AdamSteps& s, V32 weight, const VectorMoments& to) {
  const V32 towards = hn::Div(hn::Mul(s.step, to.mean), hn::MulAdd(hn::Sqrt(to.square), s.root, s.epsilon));
  return hn::MulAdd(weight, s.shrink, towards);
}

/// Where new moments go, and how they are rounded.
class MomentSinks {
 public:
  MomentSinks(const Call& call, const Memory& memory)
      : m_(sink_rows(call, memory, 1)[0]), v_(sink_rows(call, memory, 2)[0]) {
    const bool stochastic = call.attributes.state_rounding == Rounding::stochastic;
    draws_m_ = stochastic && m_.dtype == DType::bf16;
    draws_v_ = stochastic && v_.dtype == DType::bf16;
    if (draws()) random_ = random_stream(memory.in<std::int32_t>(5), call.attributes.stream + state_stream);
  }

  HWY_INLINE void start(std::int64_t first, std::int64_t count) {
    first_ = first;
    if (draws()) draw(random_, first, count, drawn_);
  }

  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, const VectorMoments& to, std::int64_t i) const {
    if (!draws()) {
      lanes.put(to.mean, m_, i);
      lanes.put(to.square, v_, i);
      return;
    }
    const W32 random = drawn_.at(i - first_);
    lanes.put(draws_m_ ? rounded_at_random(to.mean, random) : to.mean, m_, i);
    lanes.put(draws_v_ ? rounded_at_random(to.square, hn::ShiftRight<16>(random)) : to.square, v_, i);
  }

 private:
  HWY_INLINE bool draws() const { return draws_m_ || draws_v_; }

  Sink m_;
  Sink v_;
  bool draws_m_ = false;
  bool draws_v_ = false;
  RandomStream random_ = {};
  std::int64_t first_ = 0;
  RandomBits drawn_;
};

void adamw_chunks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const AdamSteps s = adam_steps(call.attributes, memory.in<float>(4));
  const Source g = source_rows(call, memory, 1)[0];
  const Source m = source_rows(call, memory, 2)[0];
  const Source v = source_rows(call, memory, 3)[0];
  WeightUpdate update(call, memory, 5, 3);
  MomentSinks sinks(call, memory);
  const auto start = [&](std::int64_t first, std::int64_t count) HWY_ATTR {
    update.start(first, count);
    sinks.start(first, count);
  };
  for_chunks(call, begin, end, start, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VectorMoments to = moments(s, lanes.get(g, i), lanes.get(m, i), lanes.get(v, i));
    sinks.put(lanes, to, i);
    const V32 before = lanes.get(update.weights(), i);
    update.put(lanes, before, adam_update(s, before, to), i);
  });
  *reinterpret_cast<double*>(sums) = update.lost();
}

// ---- Moments in blocks of codes (op::block_adamw, tensor/dynamic_map.h).

using Codes = hn::Rebind<std::uint8_t, F32>;
constexpr Codes code_lanes;

/// The largest block that is held on the stack.
constexpr std::int64_t most_block_width = chunk_elements;

/// A moment of the elements of one block: its codes, and its new values in f32.
class BlockOfMoment {
 public:
  void read(const std::uint8_t* codes, std::int64_t count, float scale) {
    const std::int64_t lanes = lane_count();
    std::memset(codes_ + count / lanes * lanes, 0, static_cast<std::size_t>(lanes));
    std::memcpy(codes_, codes, static_cast<std::size_t>(count));
    scale_ = scale;
    most_ = unbounded_ = hn::Zero(f32_lanes);
  }

  HWY_INLINE V32 get(const float* map, std::int64_t i) const {
    const auto codes = hn::PromoteTo(s32_lanes, hn::LoadU(code_lanes, codes_ + i));
    return hn::Mul(hn::GatherIndex(f32_lanes, map, codes), hn::Set(f32_lanes, scale_));
  }

  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, V32 value, std::int64_t i) {
    const V32 inside = lanes.zero_beyond(value);
    hn::StoreU(inside, f32_lanes, values_ + i);
    most_ = hn::Max(most_, hn::Abs(inside));
    unbounded_ = hn::MulAdd(inside, hn::Zero(f32_lanes), unbounded_);  // NaN where an element is not finite
  }

  bool finite() const { return sum_of(unbounded_) == 0; }
  float most() const { return max_of(most_); }

  /// encode(share of `scale`) gives the codes.
  template <typename Encode>
  HWY_INLINE void write(std::uint8_t* codes, std::int64_t count, float scale, Encode&& encode) {
    const V32 divisor = hn::Set(f32_lanes, scale > 0 ? scale : 1.0F);
    for (std::int64_t i = 0; i < count; i += lane_count()) {
      const auto numbers = encode(hn::Div(hn::LoadU(f32_lanes, values_ + i), divisor));
      hn::StoreU(hn::TruncateTo(code_lanes, hn::BitCast(u32_lanes, numbers)), code_lanes, codes_ + i);
    }
    std::memcpy(codes, codes_, static_cast<std::size_t>(count));
  }

 private:
  static constexpr std::int64_t room = most_block_width + HWY_MAX_BYTES / sizeof(float);
  alignas(64) std::uint8_t codes_[room];
  alignas(64) float values_[room];
  float scale_ = 0;
  V32 most_;
  V32 unbounded_;
};

/// nearest_by_bin.
template <std::size_t count>
HWY_INLINE hn::Vec<S32> nearest_magnitudes(const DynamicMagnitudes<count>& magnitudes, const MagnitudeBins& bins,
                                           V32 x) {
  const auto high = hn::BitCast(s32_lanes, hn::ShiftRight<MagnitudeBins::shift>(hn::BitCast(u32_lanes, x)));
  const auto bin = hn::Sub(high, hn::Set(s32_lanes, MagnitudeBins::base));
  const auto known = hn::Min(hn::Max(bin, hn::Zero(s32_lanes)), hn::Set(s32_lanes, MagnitudeBins::last));
  const auto first = hn::GatherIndex(s32_lanes, bins.first.data(), known);
  const auto half = hn::GatherIndex(f32_lanes, magnitudes.half.data(), first);
  const auto next = hn::RebindMask(s32_lanes, hn::Gt(x, half));
  return hn::Add(first, hn::IfThenElseZero(next, hn::Set(s32_lanes, 1)));
}

HWY_INLINE hn::Vec<S32> signed_codes(V32 share) {
  const auto number = nearest_magnitudes(signed_magnitudes, signed_bins, hn::Abs(share));
  const auto zero = hn::Set(s32_lanes, static_cast<std::int32_t>(signed_zero));
  const auto below = hn::Sub(zero, hn::Min(hn::Max(number, hn::Set(s32_lanes, 1)), zero));
  const auto is_below = hn::RebindMask(s32_lanes, hn::Lt(share, hn::Zero(f32_lanes)));
  return hn::IfThenElse(is_below, below, hn::Add(zero, number));
}

/// A block after the other of a parameter.
class BlockAdam {
 public:
  BlockAdam(const Call& call, const Memory& memory)
      : steps_(adam_steps(call.attributes, memory.in<float>(6))),
        gradient_(source_rows(call, memory, 1)[0]),
        memory_(memory),
        update_(call, memory, 7, 5) {}

  HWY_INLINE void run(std::int64_t block, std::int64_t first, std::int64_t count) {
    m_.read(memory_.in<std::uint8_t>(2) + first, count, memory_.in<float>(4)[block]);
    v_.read(memory_.in<std::uint8_t>(3) + first, count, memory_.in<float>(5)[block]);
    update_.start(first, count);
    for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 mean = m_.get(signed_dynamic_values.data(), i);
      const V32 square = v_.get(unsigned_magnitudes.value.data(), i);
      const VectorMoments to = moments(steps_, lanes.get(gradient_, first + i), mean, square);
      m_.put(lanes, to.mean, i);
      v_.put(lanes, to.square, i);
      const V32 before = lanes.get(update_.weights(), first + i);
      update_.put(lanes, before, adam_update(steps_, before, to), first + i);
    });
    write(block, first, count);
  }

  double lost() const { return update_.lost(); }

 private:
  HWY_INLINE void write(std::int64_t block, std::int64_t first, std::int64_t count) {
    const bool finite = m_.finite() && v_.finite();
    const float m_scale = finite ? m_.most() : std::numeric_limits<float>::quiet_NaN();
    const float v_scale = finite ? v_.most() : std::numeric_limits<float>::quiet_NaN();
    memory_.out<float>(3)[block] = m_scale;
    memory_.out<float>(4)[block] = v_scale;
    m_.write(memory_.out<std::uint8_t>(1) + first, count, m_scale,
             [](V32 share) HWY_ATTR { return signed_codes(share); });
    v_.write(memory_.out<std::uint8_t>(2) + first, count, v_scale,
             [](V32 share) HWY_ATTR { return nearest_magnitudes(unsigned_magnitudes, unsigned_bins, share); });
  }

  AdamSteps steps_;
  Source gradient_;
  const Memory& memory_;
  WeightUpdate update_;
  BlockOfMoment m_;
  BlockOfMoment v_;
};

void block_adamw_blocks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const std::int64_t count = element_count(call.in(0).shape);
  const std::int64_t width = call.attributes.width;
  BlockAdam adam(call, memory);
  for (std::int64_t block = begin; block < end; ++block)
    adam.run(block, block * width, std::min(width, count - block * width));
  *reinterpret_cast<double*>(sums) = adam.lost();
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
  const auto start = [&](std::int64_t first, std::int64_t count) HWY_ATTR { update.start(first, count); };
  for_chunks(call, begin, end, start, [&](auto lanes, std::int64_t i) HWY_ATTR {
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
  const std::size_t place = update_list(*call.operation, call.inputs.size()).lost();
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
HWY_EXPORT(block_adamw_blocks);
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

/// Each sums one f64.
RowWork in_blocks(const Call& call) {
  const std::int64_t width = call.attributes.width;
  return {(element_count(call.in(0).shape) + width - 1) / width, width, floats_of_a_double};
}

/// In words why vectors cannot take codes in blocks.
const char* unfit_for_blocks(const Call& call) {
  for (const std::size_t i : {0, 1}) {
    if (!is_vector_float(call.in(i).dtype)) return "an input is neither f32 nor f16 nor bf16";
  }
  for (const std::size_t i : {2, 3}) {
    if (call.in(i).dtype != DType::u8) return "moments are not codes of 8 bits";
  }
  if (call.attributes.width % 4 != 0) return "blocks are no whole fours of elements, as random numbers are made";
  return call.attributes.width > chunk_elements ? "blocks are longer than what is held on the stack" : nullptr;
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

Offer block_adamw_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_blocks(call)) return Declined{why};
  return summing_prepared(call, facts, in_blocks(call), [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(block_adamw_blocks), HWY_DYNAMIC_DISPATCH(count_lost)};
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
