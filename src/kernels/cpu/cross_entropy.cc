#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

struct LogitRow {
  float largest = 0;
  float sum = 0;  ///< of e^(logit - largest)
};

LogitRow read_logits(Source logits, std::int64_t width) {
  V32 most = hn::Set(f32_lanes, element_of(logits, 0));
  for_vectors(width, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { most = hn::Max(most, lanes.beyond(most, lanes.get(logits, i))); });
  LogitRow found = {.largest = max_of(most), .sum = 0};
  const V32 largest = hn::Set(f32_lanes, found.largest);
  V32 sum = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    sum = hn::Add(sum, lanes.zero_beyond(exp(hn::Sub(lanes.get(logits, i), largest))));
  });
  found.sum = sum_of(sum);
  return found;
}

double loss_of(Source logits, std::int64_t width, std::int32_t label) {
  const LogitRow row = read_logits(logits, width);
  return std::log(static_cast<double>(row.sum)) + row.largest - element_of(logits, label);
}

/// dlogits may be the logits' own memory: the label's logit is read before the row is written.
void loss_gradient(Source logits, std::int64_t width, std::int32_t label, float share, Sink dlogits) {
  const LogitRow row = read_logits(logits, width);
  const V32 largest = hn::Set(f32_lanes, row.largest);
  const V32 factor = hn::Set(f32_lanes, share / row.sum);
  const V32 of_label = hn::Mul(exp(hn::Sub(hn::Set(f32_lanes, element_of(logits, label)), largest)), factor);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.put(hn::Mul(exp(hn::Sub(lanes.get(logits, i), largest)), factor), dlogits, i);
  });
  store_first(hn::Sub(of_label, hn::Set(f32_lanes, share)), dlogits, label, 1);
}

void cross_entropy_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const SourceRows logits = source_rows(call, memory, 0);
  const auto* labels = memory.in<std::int32_t>(1);
  auto& total = *reinterpret_cast<double*>(sums);
  for (std::int64_t row = begin; row < end; ++row) {
    if (labels[row] >= 0) total += loss_of(logits[row], call.in(0).width(), labels[row]);
  }
}

std::int64_t count_labels(const Call& call, const Memory& memory) {
  const auto* labels = memory.in<std::int32_t>(1);
  return std::count_if(labels, labels + call.in(0).rows(), [](std::int32_t label) { return label >= 0; });
}

void mean_loss(const Call& call, const Memory& memory, std::int64_t, std::int64_t parts, float* sums) {
  const std::int64_t count = count_labels(call, memory);
  const double mean = count == 0 ? 0 : sum_of_doubles(sums, parts) / static_cast<double>(count);
  store_first(hn::Set(f32_lanes, static_cast<float>(mean)), sink_rows(call, memory, 0)[0], 0, 1);
}

void cross_entropy_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows logits = source_rows(call, memory, 0);
  const auto* labels = memory.in<std::int32_t>(1);
  const SinkRows dlogits = sink_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  const std::int64_t count = std::max<std::int64_t>(count_labels(call, memory), 1);
  const float share = element_of(source_rows(call, memory, 2)[0], 0) / static_cast<float>(count);
  for (std::int64_t row = begin; row < end; ++row) {
    if (labels[row] >= 0) {
      loss_gradient(logits[row], width, labels[row], share, dlogits[row]);
    } else {
      zero_row(dlogits[row], width);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(mean_loss);
HWY_EXPORT(cross_entropy_gradient_rows);

Offer cross_entropy_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (call.in(1).dtype != DType::s32) return Declined{"the labels are not s32"};
  RowWork work = first_input_rows(call);
  work.scratch = floats_of_a_double;
  return summing_prepared(call, facts, work, [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(cross_entropy_rows), HWY_DYNAMIC_DISPATCH(mean_loss)};
  });
}

Offer cross_entropy_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (call.in(1).dtype != DType::s32) return Declined{"the labels are not s32"};
  return row_offer(call, facts, first_input_rows(call),
                   [] { return &HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows); });
}

}  // namespace assay::cpu
#endif
