#include "studies/attention/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "measure/phases.h"
#include "studies/attention/record.h"
#include "studies/shared/engine.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

void check_attention(const AttentionRequest& request) {
  const auto at_least_one = [](const char* option, std::int64_t value) {
    if (value < 1) fail_user("{} {}: at least 1 is needed", option, value);
  };
  at_least_one("--batch", request.batch);
  at_least_one("--heads", request.heads);
  at_least_one("--repetitions", request.repetitions);
  for (const std::int64_t head_dim : request.head_dims) at_least_one("--head-dim", head_dim);
  for (const std::int64_t seq : request.seqs) at_least_one("--seq", seq);
  if (request.head_dims.empty() || request.seqs.empty() || request.precisions.empty())
    fail_user("attention: --head-dim, --seq and --precision need a value each");
}

std::string title(const AttentionCell& cell) {
  return fmt::format("{} {}, head_dim {}, {} tokens", name(cell.shape.method), cell.precision, cell.shape.head_dim,
                     cell.extent.seq);
}

/// A cell with its program.
struct Candidate {
  AttentionCell cell;
  PrecisionChoice precision;
  Program program;

  double flops() const { return cell.forward_flops + cell.backward_flops; }
  bool is_open() const { return cell.status == Status::ok; }
};

void close(AttentionCell& cell, Status status, std::string reason) {
  cell.status = status;
  cell.reason = std::move(reason);
}

class AttentionRun {
 public:
  AttentionRun(const AttentionRequest& request, const MachineFacts& facts, const StudyCallbacks& callbacks)
      : request_(request), facts_(facts), callbacks_(callbacks), backend_(find_backend(request.device)) {}

  /// Both methods at one shape.
  void measure(const PrecisionChoice& precision, std::int64_t head_dim, std::int64_t seq, double later_s) {
    std::vector<Candidate> candidates;
    for (const AttentionMethod method : {AttentionMethod::naive, AttentionMethod::fused}) {
      const AttentionShape shape = {method, request_.heads, head_dim, request_.causal};
      candidates.push_back(candidate(shape, precision, {request_.batch, seq}));
    }
    later_s_ = later_s;
    run_what_fits(candidates);
    for (Candidate& one : candidates) cells_.push_back(std::move(one.cell));
  }

  std::vector<AttentionCell> take() { return std::move(cells_); }

 private:
  /// How fast a cell ran.
  struct Reached {
    AttentionMethod method;
    std::string precision;
    std::int64_t head_dim;
    std::int64_t seq;
    double flops;
    double step_s;
  };

  Candidate candidate(const AttentionShape& shape, const PrecisionChoice& precision, Extent extent) {
    Candidate one{{}, precision, attention_program(shape, precision)};
    one.cell.shape = shape;
    one.cell.extent = extent;
    one.cell.precision = precision.name();
    one.cell.memory = attention_memory(one.program, extent);
    count_flops(one);
    refuse_what_does_not_fit(one.cell);
    if (one.is_open()) refuse_what_is_too_slow(one);
    return one;
  }

  static void count_flops(Candidate& one) {
    one.cell.forward_flops = one.cell.backward_flops = 0;
    for (const Node& node : one.program.nodes) {
      double& total = node.phase == Phase::forward ? one.cell.forward_flops : one.cell.backward_flops;
      total += flops(one.program, node, one.cell.extent);
    }
  }

  void refuse_what_does_not_fit(AttentionCell& cell) const {
    if (facts_.available_bytes <= 0 || cell.memory.peak_bytes <= facts_.available_bytes) return;
    cell.available_bytes = facts_.available_bytes;
    close(cell, Status::oom,
          fmt::format("{} are needed, {} are available", format_bytes(static_cast<double>(cell.memory.peak_bytes)),
                      format_bytes(static_cast<double>(facts_.available_bytes))));
  }

  /// The largest smaller cell of the same method and precision that ran; null where none did.
  const Reached* nearest_reached(const Candidate& one) const {
    const Reached* nearest = nullptr;
    for (const Reached& reached : reached_) {
      const bool alike = reached.method == one.cell.shape.method && reached.precision == one.cell.precision;
      if (!alike || reached.flops > one.flops()) continue;
      if (nearest == nullptr || reached.flops > nearest->flops) nearest = &reached;
    }
    return nearest;
  }

  /// Short steps where no smaller cell has told a rate; the last one counts.
  void run_pilot(const Candidate& one) {
    constexpr std::int64_t pilot_seq = 128;
    if (one.cell.extent.seq <= pilot_seq) return;
    Candidate pilot = one;
    pilot.cell.extent.seq = pilot_seq;
    count_flops(pilot);
    auto step = make_step(pilot, std::nullopt);
    if (!step) return;
    for (int i = 0; i < 2; ++i) step->plan().run();  // Of a device, the second one is recorded.
    const double begin_s = now_s();
    step->plan().run();
    reach(pilot, now_s() - begin_s);
  }

  void refuse_what_is_too_slow(Candidate& one) {
    if (nearest_reached(one) == nullptr) run_pilot(one);
    const Reached* nearest = nearest_reached(one);
    if (nearest == nullptr) return;
    const double step_s = one.flops() / nearest->flops * nearest->step_s;
    if (step_s <= request_.seconds) return;
    close(one.cell, Status::too_slow,
          fmt::format("a step would take some {} s at the {} GFLOP/s of head_dim {}, {} tokens; the budget is {} s",
                      format_significant(step_s, 2), format_significant(nearest->flops / nearest->step_s * 1e-9),
                      nearest->head_dim, nearest->seq, format_significant(request_.seconds, 2)));
  }

  bool is_interrupted() const { return is_set(callbacks_.interrupted); }

  /// Together where memory allows, so that they are interleaved.
  void run_what_fits(std::vector<Candidate>& candidates) {
    std::vector<Candidate*> open;
    std::int64_t needed = 0;
    for (Candidate& one : candidates) {
      if (one.is_open() && is_interrupted()) close(one.cell, Status::interrupted, "interrupted before it had samples");
      if (!one.is_open()) continue;
      open.push_back(&one);
      needed += one.cell.memory.peak_bytes;
    }
    if (facts_.available_bytes <= 0 || needed <= facts_.available_bytes) return run(open);
    for (Candidate* one : open) run({one});
  }

  void run(const std::vector<Candidate*>& candidates) {
    std::vector<std::unique_ptr<AttentionStep>> steps;
    std::vector<PhasedSubject> subjects;
    std::vector<Candidate*> ready;
    for (Candidate* one : candidates) {
      auto step = make_step(*one, free_bytes(steps));
      if (!step) continue;
      subjects.push_back(subject(*one, step->plan()));
      steps.push_back(std::move(step));
      ready.push_back(one);
    }
    const std::vector<PhaseSeries> series = sample_phases(subjects, sampling_options());
    for (std::size_t i = 0; i < series.size(); ++i) record(series[i], *steps[i], *ready[i]);
    if (!callbacks_.keep) return;
    std::vector<Record> fresh;
    for (const Candidate* one : ready) {
      fresh.push_back(one->cell.forward_record);
      fresh.push_back(one->cell.backward_record);
    }
    callbacks_.keep(fresh);
  }

  /// Memory that one more step may take.
  std::optional<std::int64_t> free_bytes(const std::vector<std::unique_ptr<AttentionStep>>& steps) const {
    if (facts_.available_bytes <= 0) return std::nullopt;
    std::int64_t left = facts_.available_bytes;
    for (const auto& step : steps) left -= step->peak_bytes();
    return left;
  }

  std::unique_ptr<AttentionStep> make_step(Candidate& one, std::optional<std::int64_t> free_bytes) const {
    std::unique_ptr<AttentionStep> step;
    const auto hindrance = hindrance_of([&] {
      step = std::make_unique<AttentionStep>(one.program, one.precision, backend_, facts_, one.cell.extent, free_bytes);
      step->fill(request_.seed);
    });
    if (!hindrance) {
      one.cell.memory.peak_bytes = step->peak_bytes();
      return step;
    }
    if (hindrance->available_bytes) one.cell.available_bytes = *hindrance->available_bytes;
    close(one.cell, hindrance->status, hindrance->reason);
    return nullptr;
  }

  static PhasedSubject subject(const Candidate& one, Plan& plan) {
    const auto read_result = [&plan] {
      const OutputView dq = plan.output("grad.q");
      float first = 0;
      convert(dq.tensor.dtype, dq.tensor.data, DType::f32, &first, 1);
      return static_cast<double>(first);
    };
    return {
        title(one.cell), {[&plan] { plan.run(Phase::forward); }, [&plan] { plan.run(Phase::backward); }}, read_result};
  }

  SamplingOptions sampling_options() const {
    SamplingOptions options;
    options.seconds = options.most_first_run_s = request_.seconds;
    options.rounds = request_.repetitions;
    options.seed = request_.seed;
    options.interrupted = callbacks_.interrupted;
    options.progress = [this](const SamplingProgress& p) {
      if (callbacks_.progress)
        callbacks_.progress(fmt::format("{}: {}", p.subject, p.phase), p.seconds_left + later_s_);
    };
    return options;
  }

  void record(const PhaseSeries& series, const AttentionStep& step, Candidate& one) {
    AttentionCell& cell = one.cell;
    cell.forward_record = attention_record({series[0], step, cell, Phase::forward}, request_, facts_);
    cell.backward_record = attention_record({series[1], step, cell, Phase::backward}, request_, facts_);
    cell.forward = summarise(series[0].raw_ms);
    cell.backward = summarise(series[1].raw_ms);
    if (series[0].first_ms && series[1].first_ms) {
      double step_s = (*series[0].first_ms + *series[1].first_ms) * 1e-3;
      if (cell.forward) step_s = (cell.forward->median + cell.backward->median) * 1e-3;
      reach(one, step_s);
    }
    if (!cell.forward) close(cell, cell.forward_record.outcome.status, cell.forward_record.outcome.reason.value_or(""));
  }

  void reach(const Candidate& one, double step_s) {
    const AttentionCell& cell = one.cell;
    reached_.push_back({cell.shape.method, cell.precision, cell.shape.head_dim, cell.extent.seq, one.flops(), step_s});
  }

  const AttentionRequest& request_;
  const MachineFacts& facts_;
  const StudyCallbacks& callbacks_;
  const Backend& backend_;
  std::vector<AttentionCell> cells_;
  std::vector<Reached> reached_;
  double later_s_ = 0;
};

}  // namespace

ShardPart attention_part(GridDivision& division, const AttentionRequest& request) {
  const std::size_t cells = request.precisions.size() * request.head_dims.size() * request.seqs.size();
  return take_part(division, {.cells = static_cast<std::int64_t>(cells)});
}

AttentionResult attention_cells(const AttentionRequest& asked, const FactsSource& facts,
                                const StudyCallbacks& callbacks) {
  check_attention(asked);
  AttentionRequest request = asked;
  const ShardPart part = attention_part(request.division, asked);
  std::vector<PrecisionChoice> precisions;
  for (const std::string& precision : request.precisions) {
    precisions.push_back(choose_precision(precision, "", std::nullopt));
    attention_program({}, precisions.back());
  }
  std::vector<std::int64_t> seqs = request.seqs;
  std::sort(seqs.begin(), seqs.end());  // Smaller cells tell how long larger ones take.
  AttentionResult result{{}, facts()};
  AttentionRun run(request, result.facts, callbacks);
  double later_s =
      2 * request.seconds * static_cast<double>(precisions.size() * request.head_dims.size() * seqs.size());
  std::int64_t number = 0;
  for (const PrecisionChoice& precision : precisions) {
    for (const std::int64_t head_dim : request.head_dims) {
      for (const std::int64_t seq : seqs) {
        later_s -= 2 * request.seconds;
        if (part.cells.holds(number++)) run.measure(precision, head_dim, seq, later_s);
      }
    }
  }
  result.cells = run.take();
  return result;
}

}  // namespace assay
