#include "studies/profile/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "measure/conditions.h"
#include "measure/sampling.h"
#include "rules/rules.h"
#include "runtime/non_finite.h"
#include "studies/memory/run.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/series_record.h"
#include "training/data.h"

namespace assay {
namespace {

constexpr int most_rounds = 1000;

/// What one precision runs, and what of it was measured so far.
struct Workload {
  std::string precision;
  RunMode mode = RunMode::infer;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Plan> plan;
  std::unique_ptr<Trainer> trainer;
  std::vector<Plan*> plans;  ///< Of a run, in order.

  std::vector<std::vector<StepTime>> traced;  ///< By round: every step of every plan.
  std::vector<PhaseTimes> untraced;           ///< By round.
  Conditions conditions;                      ///< Around the untraced runs.
};

/// Runs whole steps until one is not skipped: then every input of every plan is set.
void warm_up(Trainer& trainer) {
  constexpr std::int64_t most_skipped = 30;  // from 2^16 down to 2^-14
  for (std::int64_t step = 0; step < most_skipped; ++step) {
    trainer.forward();
    trainer.backward();
    if (!trainer.update(step).skipped) return;
  }
  fail_user("{}: gradients are not finite at any loss scale", trainer.options().precision.name());
}

Workload training_workload(const Model& model, const ProfileRequest& request, const std::string& precision,
                           const MachineFacts& facts) {
  Workload w{precision, RunMode::train, nullptr, nullptr, nullptr, {}, {}, {}, {}};
  const PrecisionChoice choice = precision_choice(precision, request.engine, facts);
  TrainingOptions options = whole_step(choice, request.engine, model, request.step);
  options.optimizer.learning_rate = 1e-6;  // Thousands of steps on one batch leave the weights where they were.
  w.trainer =
      std::make_unique<Trainer>(model.config, model.weights, options, find_backend(request.engine.device), facts);
  w.precision = choice.name();
  w.trainer->set_batch(
      split(random_batch(model, request.extent, request.model_options.seed), request.step.accumulate).front());
  w.trainer->set_seed(request.model_options.seed);
  warm_up(*w.trainer);
  for (Plan* plan : {w.trainer->step_plan(), w.trainer->norm_plan(), w.trainer->update_plan()}) {
    if (plan != nullptr) w.plans.push_back(plan);
  }
  return w;
}

Workload inference_workload(const Model& model, const ProfileRequest& request, const std::string& precision,
                            const MachineFacts& facts) {
  Workload w{precision, RunMode::infer, nullptr, nullptr, nullptr, {}, {}, {}, {}};
  w.instance = make_instance(model, precision, request.engine, facts);
  w.precision = w.instance->precision().name();
  w.plan = std::make_unique<Plan>(*w.instance, PlanOptions{.extent = request.extent, .graphs = request.engine.graphs});
  w.plan->set_inputs(random_ids(model, request.extent, {request.model_options.seed, IdsFor::timing}), {});
  w.plan->run();
  w.plans = {w.plan.get()};
  return w;
}

/// The forward that stands beside a training of parts works on one of them.
ProfileRequest of_a_part(ProfileRequest request) {
  request.extent.batch = request.extent.batch / std::min(request.step.accumulate, request.extent.batch);
  return request;
}

void run_untraced(Workload& w) {
  PhaseTimes times{};
  const Counters before = read_counters();
  for (Plan* plan : w.plans) {
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
      const double begin_s = now_s();
      plan->run(phase);
      times[static_cast<std::size_t>(phase)] += (now_s() - begin_s) * 1e3;
    }
  }
  w.conditions.add(before, read_counters());
  w.untraced.push_back(times);
}

void run_traced(Workload& w) {
  std::vector<StepTime> times;
  for (const Plan* plan : w.plans) {
    std::vector<StepTime> part(plan->steps().size());
    run_traced(*plan, part);
    times.insert(times.end(), part.begin(), part.end());
  }
  w.traced.push_back(std::move(times));
}

/// All workloads once traced and once untraced, the order turned from round to round.
void run_round(std::vector<Workload>& workloads, int round) {
  for (Workload& w : workloads) {
    if (round % 2 == 0) run_traced(w);
    run_untraced(w);
    if (round % 2 != 0) run_traced(w);
  }
}

void profile_rounds(std::vector<Workload>& workloads, const ProfileRequest& request, const ProfileProgress& progress) {
  const double end_s = now_s() + request.seconds * static_cast<double>(workloads.size());
  const int least = request.rounds > 0 ? request.rounds : static_cast<int>(fewest_for_interval);
  const int most = request.rounds > 0 ? request.rounds : most_rounds;
  for (int round = 0; round < most && (round < least || now_s() < end_s); ++round) {
    if (progress) progress(fmt::format("{}: round {}", request.model, round + 1));
    run_round(workloads, round);
  }
}

double total_ms(const PhaseTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

/// From the first step's begin to the last one's end, phase by phase; between plans nothing is counted.
PhaseTimes traced_phases(const std::vector<ProfiledStep>& steps, const std::vector<StepTime>& times) {
  PhaseTimes phases{};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool follows = i > 0 && steps[i - 1].phase == steps[i].phase;
    const double begin_s = follows ? times[i - 1].end_s : times[i].begin_s;
    phases[static_cast<std::size_t>(steps[i].phase)] += (times[i].end_s - begin_s) * 1e3;
  }
  return phases;
}

PhaseTimes median_phases(const std::vector<PhaseTimes>& rounds) {
  PhaseTimes result{};
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const PhaseTimes& round : rounds) values.push_back(round[phase]);
    result[phase] = median(values);
  }
  return result;
}

ProfiledStep describe_step(const Plan& plan, const Step& step) {
  const Node& node = plan.program().nodes[step.node];
  const LedgerRow& row = step.ledger;
  return {.path = node.path,
          .operation = node.operation->name,
          .kernel = row.kernel,
          .kind = node.operation->kind,
          .products = node.operation->products,
          .phase = node.phase,
          .operand = row.operand,
          .accumulator = row.accumulator,
          .flops = step.flops,
          .bytes = step.bytes};
}

/// Every node is a step, a window, made from weights alone, or not wanted.
NodeCounts count_nodes(const std::vector<Plan*>& plans) {
  NodeCounts counts;
  for (const Plan* plan : plans) {
    std::set<std::size_t> steps;
    for (const Step& step : plan->steps()) steps.insert(step.node);
    const Program& program = plan->program();
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      const Node& node = program.nodes[i];
      const bool constant = std::all_of(node.outputs.begin(), node.outputs.end(),
                                        [&](ValueId id) { return id == no_value || program.value(id).constant; });
      ++counts.nodes;
      ++(steps.count(i) != 0     ? counts.steps
         : constant              ? counts.constant
         : node.operation->alias ? counts.windows
                                 : counts.unwanted);
    }
  }
  return counts;
}

/// The traced round whose total is the (upper) median.
const std::vector<StepTime>& typical(const std::vector<std::vector<StepTime>>& rounds) {
  std::vector<std::pair<double, std::size_t>> totals;
  for (std::size_t i = 0; i < rounds.size(); ++i)
    totals.emplace_back(rounds[i].back().end_s - rounds[i].front().begin_s, i);
  std::sort(totals.begin(), totals.end());
  return rounds[totals[totals.size() / 2].second];
}

/// Its untraced runs as a row that the rules can judge.
Grade grade_of(const Workload& w, const ProfileStudy& study) {
  Record record;
  record.setting.device = study.device;
  record.setting.threads = study.facts.threads;
  record.setting.baseline.clear();  // It is judged alone.
  record.setting.model = study.model;
  record.setting.precision = w.precision;
  record.setting.batch = study.extent.batch;
  record.setting.seq = study.extent.seq;
  Series series;
  series.name = w.precision;
  for (const PhaseTimes& round : w.untraced) series.raw_ms.push_back(total_ms(round));
  series.conditions = w.conditions;
  series.stopped_by = StoppedBy::budget;
  set_peaks(study.facts, record.evidence);
  record_series(series, {.baseline = {}, .power = {}}, record);
  return judge({&record, 1}).rows.front().grade;
}

Profile summarise_workload(const Workload& w, const ProfileStudy& study) {
  Profile profile;
  profile.grade = grade_of(w, study);
  profile.precision = w.precision;
  profile.mode = w.mode;
  profile.counts = count_nodes(w.plans);
  profile.rounds = static_cast<int>(w.traced.size());
  for (const Plan* plan : w.plans) {
    for (const Step& step : plan->steps()) profile.steps.push_back(describe_step(*plan, step));
  }
  std::vector<PhaseTimes> traced;
  std::vector<double> traced_totals;
  std::vector<double> untraced_totals;
  for (const auto& round : w.traced) {
    ASSAY_ASSERT(round.size() == profile.steps.size());
    traced.push_back(traced_phases(profile.steps, round));
    traced_totals.push_back(total_ms(traced.back()));
  }
  for (const PhaseTimes& round : w.untraced) untraced_totals.push_back(total_ms(round));
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    std::vector<double> ms;
    for (const auto& round : w.traced) ms.push_back(round[i].ms());
    profile.steps[i].ms = median(ms);
  }
  ASSAY_ASSERT(profile.counts.steps == static_cast<std::int64_t>(profile.steps.size()));
  profile.traced_ms = median_phases(traced);
  profile.untraced_ms = median_phases(w.untraced);
  profile.tracing = paired_ratio(traced_totals, untraced_totals, 1);
  profile.typical_run = typical(w.traced);
  profile.gpu = gpu_kernels(w.plans);
  if (const auto run = find_non_finite(*w.plans.front(), w.mode == RunMode::infer ? "logits" : "loss", {}))
    profile.not_finite = words(*run);
  return profile;
}

/// Of both precisions and, in training, of the forward pass alone.
void predict_peaks(const Model& model, const ProfileRequest& request, ProfileStudy& study) {
  const auto predict = [&](Profile& profile) {
    MemoryRequest memory;
    memory.mode = profile.mode;
    memory.engine = request.engine;
    MemoryCell blank;
    blank.extent = profile.mode == RunMode::infer ? of_a_part(request).extent : request.extent;
    blank.step = request.step;
    const PrecisionChoice choice = precision_choice(profile.precision, request.engine, study.facts);
    profile.peak_bytes = predict_memory(model, choice, blank, memory, study.facts).peak_bytes();
  };
  predict(study.profile);
  if (study.against) predict(*study.against);
  if (study.inference) predict(*study.inference);
}

/// One of a grid: what memory does not hold is an answer; what this machine cannot run is one beside others.
ProfileStudy study_or_lack(const ProfileRequest& request, const MachineFacts& facts, const ProfileProgress& progress,
                           bool is_only_one) {
  ProfileStudy study{.model = request.model,
                     .extent = request.extent,
                     .step = request.step,
                     .fusion = request.engine.fusion,
                     .facts = facts};
  const auto hindrance = hindrance_of([&] { study = profile_study(request, facts, progress); });
  if (!hindrance) return study;
  if (is_only_one && hindrance->status != Status::oom) fail_lacking("{}", hindrance->reason);
  study.status = hindrance->status;
  study.lacking = hindrance->reason;
  return study;
}

}  // namespace

double Profile::steps_ms() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const ProfiledStep& step) { return sum + step.ms; });
}

double Profile::total_untraced_ms() const {
  return total_ms(untraced_ms);
}

double Profile::total_traced_ms() const {
  return total_ms(traced_ms);
}

ProfileStudy profile_study(const ProfileRequest& request, const MachineFacts& facts, const ProfileProgress& progress) {
  const Model model = open_model(request.model, request.model_options);
  check_extent(model, request.extent);
  const bool train = request.mode == RunMode::train;
  const auto make = train ? training_workload : inference_workload;
  std::vector<Workload> workloads;
  workloads.push_back(make(model, request, request.precision, facts));
  if (!request.against.empty()) workloads.push_back(make(model, request, request.against, facts));
  if (train) workloads.push_back(inference_workload(model, of_a_part(request), request.precision, facts));
  profile_rounds(workloads, request, progress);
  ProfileStudy study{.model = model.name,
                     .parameters = model.weights.parameters(),
                     .device = request.engine.device,
                     .extent = request.extent,
                     .step = request.step,
                     .fusion = request.engine.fusion,
                     .facts = facts,
                     .clock_cost_s = clock_cost_s()};
  study.profile = summarise_workload(workloads[0], study);
  if (!request.against.empty()) study.against = summarise_workload(workloads[1], study);
  if (train) study.inference = summarise_workload(workloads.back(), study);
  predict_peaks(model, request, study);
  return study;
}

ShardPart profile_part(GridDivision& division, const ProfileGrid& grid) {
  return take_part(division, {.cells = static_cast<std::int64_t>(cells_of(grid))});
}

std::size_t cells_of(const ProfileGrid& grid) {
  return grid.models.size() * grid.seqs.size() * step_variants(grid.step).size();
}

std::vector<ProfileStudy> profile_studies(const ProfileGrid& grid, const MachineFacts& facts,
                                          const ProfileProgress& progress) {
  std::vector<ProfileStudy> studies;
  const std::size_t cells = cells_of(grid);
  studies.reserve(cells);
  const bool is_only_one = cells == 1;
  GridDivision division = grid.division;
  const ShardPart part = profile_part(division, grid);
  std::int64_t number = 0;
  for (const std::string& model : grid.models) {
    for (const std::int64_t seq : grid.seqs) {
      for (const StepVariant& step : step_variants(grid.step)) {
        if (!part.cells.holds(number++)) continue;
        ProfileRequest request = grid.each;
        request.model = model;
        request.extent.seq = seq;
        request.step = step;
        studies.push_back(study_or_lack(request, facts, progress, is_only_one));
      }
    }
  }
  return studies;
}

}  // namespace assay
