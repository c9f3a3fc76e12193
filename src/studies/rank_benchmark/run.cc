#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "processes/gather.h"
#include "results/derive.h"
#include "rules/rules.h"
#include "studies/probe/run.h"
#include "studies/rank_benchmark/record.h"
#include "studies/rank_benchmark/rounds.h"

namespace assay {
namespace {

void check_rank_benchmark(const RankBenchmarkRequest& request, const Group& group) {
  for (const std::int64_t batch : request.steps.batches) {
    if (batch % group.size() != 0)
      fail_user("--batch {}: its rows are to be shared equally by {} ranks", batch, group.size());
  }
  for (const std::string& precision : request.steps.precisions) find_precision(precision);
  check_reduce(request.reduce);
  for (const ReduceFormat& format : request.formats) {
    ReduceOptions reduce = request.reduce;
    reduce.format = format;
    check_reduce(reduce);
  }
}

/// The rows of one run by several ranks.
class RankBenchmark {
 public:
  RankBenchmark(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group,
                const StudyCallbacks& callbacks)
      : request_(request),
        facts_(facts),
        group_(group),
        callbacks_(callbacks),
        neighbours_(find_neighbours(group, facts.threads)) {}

  Document run();

 private:
  std::vector<Model> open_models() const;
  void find_meters();
  void read_idle();
  void measure_model(const Model& model);
  void measure(const Model& model, const std::string& precision, Extent extent, const ReduceFormat& format);
  void keep(const Model& model, Record record);

  const RankBenchmarkRequest& request_;
  const MachineFacts& facts_;
  Group& group_;
  const StudyCallbacks& callbacks_;
  Neighbours neighbours_;
  Power power_;
  std::string weights_;  ///< Of the model at hand, on rank 0.
  std::int64_t number_ = 0;
  Document document_;
};

std::vector<Model> RankBenchmark::open_models() const {
  std::vector<Model> models;
  agreed(group_, [&] {
    check_rank_benchmark(request_, group_);
    const TrainBenchmarkRequest& steps = request_.steps;
    for (const std::string& name : steps.models) models.push_back(open_model(name, steps.model_options));
    for (const Model& model : models) {
      for (const std::int64_t seq : steps.seqs) check_extent(model, {steps.batches.front(), seq});
    }
  });
  return models;
}

/// The idle power of a machine is read while all of its ranks sleep.
void RankBenchmark::find_meters() {
  const TrainBenchmarkRequest& steps = request_.steps;
  agreed_in_patience(group_, [&] {
    if (neighbours_.reads) power_ = find_power(energy_on(steps.device, steps.root, steps.energy));
  });
}

void RankBenchmark::read_idle() {
  if (neighbours_.reads) read_idle_again(power_, callbacks_.interrupted);
  gather_in_patience(group_, "");
}

void RankBenchmark::keep(const Model& model, Record record) {
  // Hashing reads the whole checkpoint: before the first step it would have paged it in.
  if (weights_.empty()) weights_ = model.random_weights() ? "random" : "sha256:" + weights_identity(model);
  record.setting.weights = weights_;
  document_.records.push_back(record);
  keep_judged(callbacks_, {std::move(record)});
}

void RankBenchmark::measure(const Model& model, const std::string& precision, Extent extent,
                            const ReduceFormat& format) {
  if (any_interrupted(group_, callbacks_.interrupted)) return;
  const RankCase one = {model, request_, facts_, callbacks_, group_, neighbours_, power_, precision, extent, format};
  const RankRounds made = measure_rounds(one);
  read_idle();
  ++number_;
  Record record = record_of_ranks(one, made, number_);
  const std::vector<MachineEnergy> machines = gather_energy(one, *record.energy);
  if (group_.rank() != 0) return;
  if (record.latency) {
    record.energy = energy_of_machines(machines);
    set_prices(request_.steps.energy, record.energy.made());
    record.rates = rates_of(record);
  }
  if (!made.words.empty() && callbacks_.say) callbacks_.say(made.words);
  keep(model, std::move(record));
}

void RankBenchmark::measure_model(const Model& model) {
  const TrainBenchmarkRequest& steps = request_.steps;
  const std::vector<ReduceFormat> formats =
      request_.formats.empty() ? std::vector<ReduceFormat>{request_.reduce.format} : request_.formats;
  weights_.clear();
  for (const std::string& precision : steps.precisions) {
    for (const std::int64_t batch : steps.batches) {
      for (const std::int64_t seq : steps.seqs) {
        for (const ReduceFormat& format : formats) measure(model, precision, {batch, seq}, format);
      }
    }
  }
}

Document RankBenchmark::run() {
  const std::vector<Model> models = open_models();
  find_meters();
  if (group_.rank() == 0) document_.machine = machine_json(facts_);
  for (const Model& model : models) measure_model(model);
  return group_.rank() == 0 ? steps_document(std::move(document_)) : Document{};
}

}  // namespace

Document rank_benchmark(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group,
                        const StudyCallbacks& callbacks) {
  return RankBenchmark(request, facts, group, callbacks).run();
}

}  // namespace assay
