#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
#include "kernels/experts.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/merge_rows.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// `places`: of each token's `active` experts, the grouped row. Without weights each counts once. Sums stay in
/// registers.
void merge_tokens(const Call& call, const Memory& memory, const TokenPlaces& tokens, std::int64_t begin,
                  std::int64_t end) {
  const SourceRows y = source_rows(call, memory, 0);
  const SinkRows merged = sink_rows(call, memory, 0);
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int64_t first = token * tokens.active;
    const Sink out = merged[token];
    for_vectors(call.out(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      V32 sum = hn::Zero(f32_lanes);
      for (std::int64_t k = first; k < first + tokens.active; ++k) {
        const float weight = tokens.weights == nullptr ? 1 : tokens.weights[k];
        sum = hn::MulAdd(hn::Set(f32_lanes, weight), lanes.get(y[tokens.places[k]], i), sum);
      }
      lanes.put(sum, out, i);
    });
  }
}

/// The gradients of the tokens' grouped rows and of their weights.
void merge_gradients(const Call& call, const Memory& memory, const TokenPlaces& tokens, std::int64_t begin,
                     std::int64_t end) {
  const SourceRows slopes = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows dy = sink_rows(call, memory, 0);
  auto* const dweights = memory.out<float>(1);
  for (std::int64_t token = begin; token < end; ++token) {
    for (std::int64_t k = token * tokens.active; k < (token + 1) * tokens.active; ++k) {
      const V32 weight = hn::Set(f32_lanes, tokens.weights[k]);
      const Source given = slopes[token];
      const Source row = y[tokens.places[k]];
      const Sink out = dy[tokens.places[k]];
      V32 sum = hn::Zero(f32_lanes);
      for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
        const V32 slope = lanes.get(given, i);
        sum = hn::MulAdd(slope, lanes.get(row, i), sum);
        lanes.put(hn::Mul(weight, slope), out, i);
      });
      dweights[k] = sum_of(sum);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(merge_tokens);
HWY_EXPORT(merge_gradients);

namespace {

using TokenWork = void (*)(const Call&, const Memory&, const TokenPlaces&, std::int64_t, std::int64_t);

/// Which inputs say where the rows of tokens are.
struct TokenInputs {
  std::size_t order = 1;
  std::size_t weights = 2;  ///< Its last axis is a token's experts.
  bool weighted = true;     ///< They are numbers to multiply by.
};

/// `work` for some tokens at a time.
Prepared token_kernel(const Call& call, const char* target, const TokenInputs& inputs, TokenWork work) {
  const auto run = [call, inputs, work](const Memory& memory) {
    auto* const places = reinterpret_cast<std::int32_t*>(memory.workspace);
    find_grouped_rows(call, memory, inputs.order, places);
    const Argument& weights = call.in(inputs.weights);
    const TokenPlaces tokens = {places, inputs.weighted ? memory.in<float>(inputs.weights) : nullptr, weights.width()};
    const std::int64_t steps = weights.width() * call.in(0).width() / 16;
    for_parts(weights.rows(), steps, call.threads,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) { work(call, memory, tokens, begin, end); });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes =
      static_cast<std::size_t>(element_count(call.in(inputs.order).shape)) * sizeof(std::int32_t);
  return prepared;
}

}  // namespace

Offer merge_rows_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (call.in(2).dtype != DType::f32) return Declined{"the weights are not f32"};
  const char* target = choose_vector_target(facts);
  return token_kernel(call, target, {}, &HWY_DYNAMIC_DISPATCH(merge_tokens));
}

Offer group_rows_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  const char* target = choose_vector_target(facts);
  return token_kernel(call, target, {.weighted = false}, &HWY_DYNAMIC_DISPATCH(merge_tokens));
}

Offer merge_rows_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (call.in(3).dtype != DType::f32 || call.out(1).dtype != DType::f32) return Declined{"the weights are not f32"};
  if (!call.out(0).present || !call.out(1).present) return Declined{"it writes both gradients"};
  const char* target = choose_vector_target(facts);
  return token_kernel(call, target, {.order = 2, .weights = 3}, &HWY_DYNAMIC_DISPATCH(merge_gradients));
}

}  // namespace assay::cpu
#endif
