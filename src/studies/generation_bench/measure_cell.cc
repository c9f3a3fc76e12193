#include "studies/generation_bench/measure_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "generation/session.h"
#include "kernels/gpu_bus_id.h"
#include "measure/sampling.h"
#include "measure/series.h"
#include "results/derive.h"
#include "results/states.h"
#include "runtime/instance.h"
#include "runtime/state.h"
#include "statistics/statistics.h"
#include "studies/bench/request.h"
#include "studies/generation_bench/generating_peer.h"
#include "studies/generation_bench/record.h"
#include "studies/generation_bench/timed_generation.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/random_ids.h"

namespace assay {
namespace {

/// One precision of the cell: its rows, and where its two records stand.
struct Generating {
  BenchGroup::Member& member;
  std::size_t place = 0;  ///< Of the prefill's record; the decode's is the next one.
  std::unique_ptr<TimedGeneration> rows = {};
  std::vector<std::vector<double>> token_ms = {};  ///< Of every decode that was looked at.
};

std::string cell_words(const BenchGroup& group, const GenerationCell& cell) {
  return fmt::format("{} batch {}, depth {}", group.shown_name(), cell.batch, cell.depth);
}

std::int64_t cache_bytes(const Instance& instance, const GenerationCell& cell) {
  return missing_state_bytes(instance.program(), State(instance.device()), {.batch = cell.batch});
}

/// The cache is what its user chooses the size of: it is named apart from weights and buffers.
void refuse_cell_cache(const Instance& instance, const GenerationCell& cell, std::optional<std::int64_t> free_bytes) {
  const std::int64_t bytes = cache_bytes(instance, cell);
  if (!free_bytes || bytes <= *free_bytes) return;
  throw OutOfMemory(
      fmt::format("memory: the cache of {} x {} tokens takes {}, {} are available", cell.batch, cell.tokens(),
                  format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(*free_bytes))),
      static_cast<double>(bytes), static_cast<double>(*free_bytes));
}

void set_both(const Hindrance& hindrance, std::size_t place, std::vector<Record>& records) {
  for (const std::size_t at : {place, place + 1}) set_outcome(hindrance, records[at].outcome);
}

/// A member that was to be measured, and was not begun with.
void set_interrupted(std::size_t place, std::vector<Record>& records) {
  for (const std::size_t at : {place, place + 1}) {
    CellOutcome& outcome = records[at].outcome;
    if (outcome.status != Status::ok) continue;
    outcome.status = Status::interrupted;
    outcome.reason = "interrupted before it had samples";
  }
}

/// What the cell holds of each precision that can run in it.
class GenerationCellRun {
 public:
  GenerationCellRun(BenchGroup& group, const GenerationCell& cell, std::vector<Record>& records)
      : group_(group), cell_(cell), records_(records) {}

  void prepare() {
    std::int64_t taken = 0;
    generating_.reserve(group_.members().size());
    for (BenchGroup::Member& member : group_.members()) {
      const std::size_t place = records_.size();
      for (const Mode mode : {Mode::prefill, Mode::decode}) records_.push_back(blank_of(member.blank, cell_, mode));
      if (is_set(group_.callbacks().interrupted)) {
        set_interrupted(place, records_);
        continue;
      }
      if (member.instance) prepare_member(member, place, taken);
      if (!member.contender.engine.empty()) prepare_peer(member, place);
    }
  }

  void sample(const SamplingOptions& options) {
    std::vector<Subject> subjects;
    for (Generating& one : generating_) {
      subjects.push_back(prefill_subject(one));
      subjects.push_back(decode_subject(one));
    }
    for (const auto& one : peers_) {
      subjects.push_back(one->prefill_subject());
      subjects.push_back(one->decode_subject());
    }
    const auto hindrance = hindrance_of([&] { series_ = assay::sample(subjects, options); });
    if (!hindrance) return;
    for (const Generating& one : generating_) set_both(*hindrance, one.place, records_);
    for (const auto& one : peers_) set_both(*hindrance, one->place(), records_);
  }

  /// Processor time of peers is no other's.
  double peers_processor_s() const {
    double sum_s = 0;
    for (const auto& one : peers_) sum_s += one->processor_s();
    return sum_s;
  }
  bool has_peers() const { return !peers_.empty(); }

  /// Behind the rounds, since a clock around every kernel has no place in them.
  void trace() {
    for (const Generating& one : generating_) {
      const bool was_sampled = !series_.empty() && records_[one.place + 1].outcome.status == Status::ok;
      if (!was_sampled || !one.member.instance->device().is_host() || is_set(group_.callbacks().interrupted)) continue;
      record_parts(one.rows->trace_tokens(), records_[one.place + 1]);
    }
  }

  void record() {
    for (std::size_t i = 0; i < std::min(generating_.size(), series_.size() / 2); ++i) {
      for (const std::size_t phase : {0U, 1U}) {
        const Series& series = series_[2 * i + phase];
        record_generated(group_,
                         {cell_, generating_[i].rows.get(), series, series_[phase], rounds_of(generating_[i], series)},
                         records_[generating_[i].place + phase]);
      }
    }
  }

  /// Behind those of this program, whose work is theirs too.
  void record_peers() {
    for (std::size_t i = 0; i < peers_.size() && !series_.empty(); ++i) {
      for (const std::size_t phase : {0U, 1U}) {
        Record& record = records_[peers_[i]->place() + phase];
        peers_[i]->record(group_, {series_[2 * (generating_.size() + i) + phase], series_[phase]}, record);
        peers_[i]->record_work(group_.facts(), own_flops(record.setting.mode), record);
      }
    }
  }

  const std::vector<Series>& series() const { return series_; }

 private:
  /// Of a sample of that phase, by a row of this program.
  std::optional<double> own_flops(Mode mode) const {
    for (const Record& record : records_) {
      if (record.setting.mode == mode && !record.setting.engine && record.evidence.flops) return record.evidence.flops;
    }
    return std::nullopt;
  }

  /// Behind the plans, which say whether memory has room for so many rows.
  void make_ids() {
    if (ids_.empty())
      ids_ = random_ids(group_.model(), {cell_.batch, cell_.behind_prompt()},
                        {group_.request().model_options.seed, IdsFor::timing});
  }

  void prepare_peer(const BenchGroup::Member& member, std::size_t place) {
    if (member.blank.outcome.status != Status::ok) return;
    make_ids();
    if (batches_.empty()) batches_.push_back({{cell_.batch, cell_.behind_prompt()}, ids_, {}, {}});
    auto one = std::make_unique<GeneratingPeer>(group_, member, cell_, place, batches_);
    if (one->prepare(records_)) peers_.push_back(std::move(one));
  }

  void prepare_member(BenchGroup::Member& member, std::size_t place, std::int64_t& taken) {
    Generating one{member, place};
    bool is_ready = false;
    const auto hindrance = hindrance_of([&] {
      const double begin_s = now_s();
      const std::optional<std::int64_t> free_bytes = group_.free_bytes(taken);
      refuse_cell_cache(*member.instance, cell_, free_bytes);
      const SessionOptions options = {.batch = cell_.batch,
                                      .capacity = group_.request().engine.cache->capacity,
                                      .graphs = group_.request().engine.graphs,
                                      .free_bytes = free_bytes};
      one.rows = std::make_unique<TimedGeneration>(*member.instance, cell_, ids_, options);
      for (const std::size_t at : {place, place + 1})
        record_plans(group_, *member.instance, cell_, *one.rows, records_[at]);
      if (is_left_out(place)) return;
      make_ids();
      is_ready = one.rows->read_depth(group_.callbacks().interrupted);
      records_[place].latency.made().prepare_ms = (now_s() - begin_s) * 1e3;
    });
    if (hindrance) return set_both(*hindrance, place, records_);
    if (records_[place].outcome.status != Status::ok) return;
    if (!is_ready) return set_interrupted(place, records_);
    taken += one.rows->session().cache_bytes() + one.rows->prefill_pieces().front().plan->own_bytes();
    generating_.push_back(std::move(one));
  }

  bool is_left_out(std::size_t place) {
    if (group_.request().emulated == Emulated::included) return false;
    const bool left_out = assay::is_left_out(records_[place]);
    if (left_out) records_[place + 1].outcome = records_[place].outcome;
    return left_out;
  }

  static Subject prefill_subject(Generating& one) {
    TimedGeneration& rows = *one.rows;
    return {.name = one.member.blank.setting.precision,
            .run = [&rows] { rows.prefill(); },
            .read_result = [&rows] { return static_cast<double>(rows.read_id()); }};
  }

  static Subject decode_subject(Generating& one) {
    TimedGeneration& rows = *one.rows;
    return {.name = one.member.blank.setting.precision,
            .run = [&rows] { rows.decode(); },
            .read_result =
                [&one] {
                  one.token_ms.push_back(one.rows->token_ms());
                  return static_cast<double>(one.rows->read_id());
                },
            .last_run_s = [&rows] { return rows.steady_s(); }};
  }

  /// Results are read after the first run, each of the warm-up, and each round.
  static std::vector<std::vector<double>> rounds_of(const Generating& one, const Series& series) {
    const std::size_t before = std::min(one.token_ms.size(), 1 + series.warm_up_ms.size());
    const std::size_t count = std::min(series.raw_ms.size(), one.token_ms.size() - before);
    const auto first = one.token_ms.begin() + static_cast<std::ptrdiff_t>(before);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }

  BenchGroup& group_;
  const GenerationCell& cell_;
  std::vector<Record>& records_;
  std::vector<std::int32_t> ids_;      ///< (batch, depth + prompt)
  std::vector<QualityBatch> batches_;  ///< The same, of peers.
  std::vector<std::unique_ptr<GeneratingPeer>> peers_;
  std::vector<Generating> generating_;  ///< Its subjects look at it: never moved once they are made.
  std::vector<Series> series_;
};

/// The budget is that of both phases together; rounds are made until an interval follows, as long as they may take.
SamplingOptions generation_options(const BenchGroup& group, const GenerationCell& cell, double later_s) {
  const BenchRequest& request = group.request();
  SamplingOptions options;
  options.seconds = request.seconds / 2;
  options.least_rounds = std::max(request.least_rounds, static_cast<int>(fewest_for_interval));
  options.width = request.width;
  options.rounds = request.rounds;
  options.seed = request.model_options.seed;
  options.root = request.root;
  meter_windows(request.energy, group.power(), options);
  if (group.facts().gpu) options.gpu = gpu_conditions_reader(gpu_bus_id());
  options.interrupted = group.callbacks().interrupted;
  options.most_first_run_s = std::max(60.0, 10 * request.seconds);
  options.progress = [&group, &cell, later_s](const SamplingProgress& p) {
    if (!group.callbacks().progress) return;
    group.callbacks().progress(fmt::format("{}: {} {}", cell_words(group, cell), p.phase, p.subject),
                               p.seconds_left + later_s);
  };
  return options;
}

}  // namespace

void measure_generation(BenchGroup& group, const GenerationCell& cell, double later_s, std::vector<Record>& records) {
  std::vector<Record> mine;
  GenerationCellRun run(group, cell, mine);
  if (group.callbacks().progress) group.callbacks().progress(cell_words(group, cell) + ": reading the depth", later_s);
  run.prepare();
  SamplingOptions options = generation_options(group, cell, later_s);
  if (run.has_peers())
    options.counters = [&run, root = options.root] {
      Counters counters = read_counters(root);
      counters.own_s += run.peers_processor_s();
      return counters;
    };
  run.sample(options);
  if (!run.series().empty() && !run.series()[0].energy_fault.empty())
    group.power() = {.source = {nullptr, run.series()[0].energy_fault}};
  read_idle_again(group.power(), group.callbacks().interrupted);
  run.trace();
  run.record();
  run.record_peers();
  const std::vector<Record> derived = with_derived(std::move(mine));
  records.insert(records.end(), derived.begin(), derived.end());
}

}  // namespace assay
