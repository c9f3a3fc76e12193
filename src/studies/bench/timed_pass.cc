#include "studies/bench/timed_pass.h"

#include <algorithm>
#include <utility>

#include "studies/shared/plan_record.h"

namespace assay {
namespace {

std::size_t index(double input) {
  return static_cast<std::size_t>(input);
}

double ids_in(const QualityBatch& batch) {
  if (batch.mask.empty()) return static_cast<double>(batch.ids.size());
  return static_cast<double>(std::count(batch.mask.begin(), batch.mask.end(), 1));
}

void add_share(const std::optional<double>& of, double share, std::optional<double>& sum) {
  if (of) sum = sum.value_or(0) + share * *of;
}

}  // namespace

TimedPass::TimedPass(std::unique_ptr<Plan> longest, Instance& instance, const std::vector<QualityBatch>& batches)
    : instance_(instance), batches_(batches), current_(longest.get()) {
  plans_.emplace(batches.front().extent.seq, std::move(longest));
  current_->set_inputs(batches.front().ids, batches.front().mask);
}

Plan& TimedPass::plan_of(const QualityBatch& batch) {
  std::unique_ptr<Plan>& plan = plans_[batch.extent.seq];
  if (plan) return *plan;
  PlanOptions options = longest().options();
  options.extent = batch.extent;
  options.arena_of = &longest();
  options.free_bytes.reset();
  plan = std::make_unique<Plan>(instance_, options);
  plan->set_inputs(batch.ids, batch.mask);
  plan->run();
  if (!plan->device().is_host()) plan->run();  // The second run is recorded.
  return *plan;
}

void TimedPass::take(std::size_t batch) {
  current_ = &plan_of(batches_[batch]);
  current_->set_inputs(batches_[batch].ids, batches_[batch].mask);
}

Subject TimedPass::subject(const std::string& name) {
  return {.name = name,
          .run = [this] { current_->run(); },
          .read_result = [this] { return static_cast<double>(current_->first_value("logits")); },
          .take = [this](std::size_t batch) { take(batch); },
          .time_on_device = [this] { return current_->device().time([this] { current_->enqueue(); }); }};
}

std::int64_t TimedPass::own_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [length, plan] : plans_) bytes += plan->own_bytes();
  return bytes;
}

void TimedPass::set_mean_work(std::span<const double> raw_inputs, const WorkOf& work, Evidence& evidence) const {
  if (raw_inputs.empty()) return;
  std::map<std::int64_t, double> samples;  // By length.
  for (const double input : raw_inputs) ++samples[batches_[index(input)].extent.seq];
  Evidence mean;
  for (const auto& [length, count] : samples) {
    const Plan& plan = *plans_.at(length);
    const double share = count / static_cast<double>(raw_inputs.size());
    const LeastTimes least = least_times(plan, work.facts);
    add_share(model_flops(work.model, work.program, plan.options().extent), share, mean.flops);
    add_share(plan.bytes(), share, mean.moved_bytes);
    add_share(least.instruction_ms, share, mean.instruction_ms);
    add_share(least.matmul_ms, share, mean.matmul_ms);
  }
  evidence.flops = mean.flops;
  evidence.moved_bytes = mean.moved_bytes;
  evidence.instruction_ms = mean.instruction_ms;
  evidence.matmul_ms = mean.matmul_ms;
}

void record_batches(std::span<const double> raw_inputs, const std::vector<QualityBatch>& batches, Latency& latency) {
  for (const double input : raw_inputs) {
    const QualityBatch& batch = batches[index(input)];
    latency.raw_tokens.push_back(ids_in(batch));
    latency.raw_positions.push_back(static_cast<double>(batch.ids.size()));
  }
}

}  // namespace assay
