#include "studies/rank_benchmark/run.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/error.h"
#include "measure/energy.h"
#include "model/model.h"
#include "statistics/statistics.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/meet_on_devices.h"
#include "studies/shared/training_step.h"
#include "training/data.h"
#include "training/trainer.h"

namespace assay {
namespace {

/// What one row is about.
struct RankCase {
  const Model& model;
  const RankBenchmarkRequest& request;
  const MachineFacts& facts;
  Group& group;
  InterruptFlag interrupted;
  std::string precision;
  Extent extent;
  ReduceFormat format;
};

TrainingOptions rank_step_options(const RankCase& one, const Sharding& sharding) {
  TrainingOptions options;
  options.precision = choose_precision(one.precision, one.request.overrides, native_16bit(one.facts));
  apply(one.request.step, one.model.weights.formats(), options);
  options.sharding = sharding;
  return options;
}

/// A step of the batch that is set, by clock readings between its phases.
RankStepTime timed_step(Trainer& trainer, double share, std::int64_t step) {
  RankStepTime time;
  const double begin = now_s();
  trainer.forward();
  const double forward = now_s();
  trainer.backward(share);
  const double backward = now_s();
  trainer.update(step);
  const double end = now_s();
  if (trainer.reducer() != nullptr) {
    time.exposed_s = trainer.reducer()->statistics().exposed_s;
    time.hidden_s = trainer.reducer()->statistics().hidden_s();
  }
  time.forward_s = forward - begin;
  time.backward_s = backward - forward - time.exposed_s;
  time.optimizer_s = end - backward;
  time.step_s = end - begin;
  return time;
}

constexpr double RankStepTime::*figures_of_step[] = {&RankStepTime::forward_s,   &RankStepTime::backward_s,
                                                     &RankStepTime::exposed_s,   &RankStepTime::hidden_s,
                                                     &RankStepTime::optimizer_s, &RankStepTime::step_s};

RankStepTime medians(const std::vector<RankStepTime>& steps) {
  RankStepTime all;
  for (double RankStepTime::*figure : figures_of_step) {
    std::vector<double> values;
    for (const RankStepTime& step : steps) values.push_back(step.*figure);
    all.*figure = median(values);
  }
  return all;
}

RankStepTime slowest(const std::vector<RankStepTime>& ranks) {
  RankStepTime all;
  for (double RankStepTime::*figure : figures_of_step) {
    for (const RankStepTime& rank : ranks) all.*figure = std::max(all.*figure, rank.*figure);
  }
  return all;
}

/// A machine's meter, read by the lowest of its ranks alone.
class RankMeter {
 public:
  explicit RankMeter(Group& group) : group_(group) {
    std::array<char, 64> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto hosts = all_gather_values(group, host);
    reads_ = std::ranges::find(hosts, host) - hosts.begin() == group.rank();
    if (!reads_) return;
    source_ = find_energy_meter();
    if (!source_.meter) status_ = to_text(status_of(source_));
  }
  double read_j() {
    if (!reads_ || !source_.meter) return 0;
    try {
      return source_.meter->read_j();
    } catch (const Error& error) {
      source_.meter = nullptr;
      status_ = error.what();
      return 0;
    }
  }
  /// Joules of all machines, or why there are none.
  void settle(double joules, RankBenchmarkRow& row) {
    double sum = 0;
    for (const double one : all_gather_values(group_, joules)) sum += one;
    for (const std::string& status : all_gather(group_, status_)) {
      if (row.energy_status.empty()) row.energy_status = status;
    }
    if (row.energy_status.empty()) row.step_j = sum / static_cast<double>(row.steps);
  }

 private:
  Group& group_;
  EnergySource source_;
  bool reads_ = false;
  std::string status_;
};

bool any_interrupted(const RankCase& one) {
  const std::vector<std::uint8_t> all =
      all_gather_values(one.group, static_cast<std::uint8_t>(is_set(one.interrupted)));
  return std::ranges::find(all, 1) != all.end();
}

/// The same training, of a part of the rows and of all, on rank 0 alone.
struct AloneSteps {
  std::vector<double> part_s;
  std::vector<double> whole_s;

  void add(Trainer& trainer, const TrainingBatch& part, const TrainingBatch& whole, std::int64_t step) {
    trainer.set_batch(part);
    part_s.push_back(timed_step(trainer, 1, step).step_s);
    trainer.set_batch(whole);
    whole_s.push_back(timed_step(trainer, 1, step).step_s);
  }
};

/// Behind the warm-up.
template <typename T>
std::vector<T> counted(const std::vector<T>& steps, std::int64_t warmup) {
  const auto first = std::min(static_cast<std::size_t>(warmup), steps.size());
  return {steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end()};
}

RankBenchmarkRow measured(const RankCase& one) {
  Group& group = one.group;
  RankBenchmarkRow row;
  row.model = one.model.name;
  row.precision = one.precision;
  row.extent = one.extent;
  row.format = one.format;
  row.ranks = group.size();
  const TrainingBatch whole = random_batch(one.model, one.extent, one.request.model_options.seed);
  const TrainingBatch part = split(whole, group.size())[static_cast<std::size_t>(group.rank())];
  std::optional<Trainer> together;
  std::optional<Trainer> alone;
  agreed(group, [&] {
    const Backend& backend = find_backend(one.request.device);
    const Sharding sharding{one.request.stage, group.rank(), group.size(), one.request.reduce.bucket_bytes};
    together.emplace(one.model.config, one.model.weights, rank_step_options(one, sharding), backend, one.facts);
    together->set_batch(part);
    if (group.rank() == 0)
      alone.emplace(one.model.config, one.model.weights, rank_step_options(one, {}), backend, one.facts);
  });
  ReduceOptions reduce = one.request.reduce;
  reduce.format = one.format;
  DeviceMeeting meeting =
      meet_on_devices(group, find_backend(one.request.device), reduce, gradient_sizes(together->programs().step));
  together->join(group, reduce, std::move(meeting.sums));
  RankMeter meter(group);
  std::vector<RankStepTime> steps;
  AloneSteps apart;
  double joules = 0;
  for (std::int64_t step = 0; step < one.request.warmup + one.request.steps && !any_interrupted(one); ++step) {
    barrier(group);
    const double before_j = meter.read_j();
    steps.push_back(timed_step(*together, 1.0 / group.size(), step));
    barrier(group);
    if (step >= one.request.warmup) joules += meter.read_j() - before_j;
    if (alone) apart.add(*alone, part, whole, step);
  }
  steps = counted(steps, one.request.warmup);
  row.steps = std::ssize(steps);
  if (row.steps == 0) return row;
  row.median = slowest(all_gather_values(group, medians(steps)));
  row.sent_bytes = std::ranges::max(all_gather_values(group, together->sent_bytes()));
  const double part_s = alone ? median(counted(apart.part_s, one.request.warmup)) : 0;
  const double whole_s = alone ? median(counted(apart.whole_s, one.request.warmup)) : 0;
  row.alone_part_s = all_gather_values(group, part_s)[0];
  row.alone_whole_s = all_gather_values(group, whole_s)[0];
  row.reduction = ledger_row(*together->reducer(), one.format, together->options().precision.name());
  if (!meeting.words.empty()) row.reduction.evidence += "; " + meeting.words;
  meter.settle(joules, row);
  return row;
}

void check_rank_benchmark(const RankBenchmarkRequest& request, const Group& group) {
  for (const std::int64_t batch : request.batches) {
    if (batch % group.size() != 0)
      fail_user("--batch {}: its rows are to be shared equally by {} ranks", batch, group.size());
  }
  for (const std::string& precision : request.precisions) find_precision(precision);
  check_reduce(request.reduce);
  for (const ReduceFormat& format : request.formats) {
    ReduceOptions reduce = request.reduce;
    reduce.format = format;
    check_reduce(reduce);
  }
}

}  // namespace

LedgerRow ledger_row(const GradientReducer& reducer, const ReduceFormat& format, const std::string& precision) {
  LedgerRow row;
  row.path = "gradients";
  row.operation = "sum_over_ranks";
  row.role = "optimizer";
  row.requested = precision;
  row.kernel = reducer.description();
  row.operand = format.wire;
  row.accumulator = format.sum;
  row.stored = reducer.tensors().empty() ? DType::f32 : reducer.tensors().front().dtype;
  row.evidence = "the format that was asked for; sums are this program's own or the library's, as the kernel says";
  return row;
}

std::vector<RankBenchmarkRow> rank_benchmark_rows(const RankBenchmarkRequest& request, const MachineFacts& facts,
                                                  Group& group, InterruptFlag interrupted) {
  std::vector<Model> models;
  agreed(group, [&] {
    check_rank_benchmark(request, group);
    for (const std::string& name : request.models) models.push_back(open_model(name, request.model_options));
    for (const Model& model : models) {
      for (const std::int64_t seq : request.seqs) check_extent(model, {request.batches.front(), seq});
    }
  });
  const std::vector<ReduceFormat> formats =
      request.formats.empty() ? std::vector<ReduceFormat>{request.reduce.format} : request.formats;
  std::vector<RankBenchmarkRow> rows;
  for (const Model& model : models) {
    for (const std::string& precision : request.precisions) {
      for (const std::int64_t batch : request.batches) {
        for (const std::int64_t seq : request.seqs) {
          for (const ReduceFormat& format : formats)
            rows.push_back(measured({model, request, facts, group, interrupted, precision, {batch, seq}, format}));
        }
      }
    }
  }
  std::erase_if(rows, [](const RankBenchmarkRow& row) { return row.steps == 0; });
  return rows;
}

}  // namespace assay
