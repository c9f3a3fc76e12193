#include "studies/tune/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/write_file.h"
#include "hardware/facts.h"
#include "model/config.h"
#include "model/model.h"
#include "program/passes.h"
#include "quality/evaluate.h"
#include "quality/protocols.h"
#include "results/model_name.h"
#include "results/states.h"
#include "runtime/instance.h"
#include "runtime/plan.h"
#include "studies/sensitivity/energy.h"
#include "studies/sensitivity/request.h"
#include "studies/shared/cached.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/surroundings.h"
#include "studies/tune/aims.h"
#include "studies/tune/options.h"
#include "studies/tune/parts.h"
#include "studies/tune/points.h"
#include "studies/tune/scoring.h"
#include "studies/tune/state.h"
#include "tensor/baseline_precision.h"
#include "tensor/ledger.h"
#include "tensor/precision.h"

namespace assay {
namespace {

constexpr double keep_every_s = 60;
constexpr double costs_share = 0.005;       ///< Of the budget that the costs of a row may take.
constexpr double least_search_share = 0.1;  ///< Of it that is left to mixes, whatever came before took.
constexpr std::int64_t held_out_tokens = 4096;
constexpr std::int64_t held_out_sentences = 1024;

void check_tune(const TuneRequest& request) {
  if (!(request.limit.most > 0)) fail_user("--max-...: the limit must be above 0");
  for (const std::string& precision : request.precisions) find_precision(precision);
  if (!request.engine.overrides.empty())
    fail_user("--with '{}': a mix says all by layer; leave it out", request.engine.overrides);
  if (request.engine.device != "cpu" && request.engine.device != "reference")
    fail_lacking("--device {}: mixes are searched on cpu and reference", request.engine.device);
  if (request.aim == Aim::energy && request.energy.meters.name == "none")
    fail_user("--minimise energy: --meter none reads no joules; drop it");
}

/// What reads the joules where these are the aim; nothing otherwise.
Power needed_power(const TuneRequest& request) {
  if (request.aim != Aim::energy) return {};
  Power power = find_power(energy_on(request.engine.device, request.root, request.energy));
  if (!power.source.meter)
    fail_lacking("--minimise energy: {}; 'assay probe' lists all sources of energy and what they lack",
                 to_text(status_of(power.source)));
  return power;
}

/// Rows whose arithmetic is a linear layer's own: those that keep f32 weights and cast multiply as bf16 and fp16 do,
/// and what a file holds is no choice.
bool is_choice(const Precision& row, const std::string& device) {
  return runs_on(row, device) && is_listed_on(row, device) && row.rule != Activations::autocast_lists && row.chunk == 0;
}

std::vector<std::string> asked_rows(const TuneRequest& request) {
  std::vector<std::string> names;
  for (const Precision& row : precision_table()) {
    const bool is_asked = request.precisions.empty() ? is_choice(row, request.engine.device)
                                                     : std::find(request.precisions.begin(), request.precisions.end(),
                                                                 row.name) != request.precisions.end();
    if (is_asked && &row != &baseline_precision()) names.emplace_back(row.name);
  }
  return names;
}

/// The rows of the search, and those that it never sees.
struct SplitData {
  QualitySet search;
  QualitySet held_out;
};

/// Batches from the start until they hold so many rows.
QualitySet taken_from(QualitySet& set, std::int64_t rows) {
  QualitySet taken = set;
  std::size_t count = 0;
  for (std::int64_t have = 0; count < set.batches.size() && have < rows; ++count)
    have += set.batches[count].extent.batch;
  const auto end = static_cast<std::ptrdiff_t>(count);
  taken.batches.resize(count);
  set.batches.erase(set.batches.begin(), set.batches.begin() + end);
  return taken;
}

SplitData split_data(const Model& model, const TuneRequest& request) {
  const bool by_window = labels_tokens(model.config.task);
  QualityRequest quality;
  quality.data = request.data;
  quality.protocol.window = request.window;
  const std::int64_t search_rows = request.search_rows > 0 ? request.search_rows : by_window ? 16 : 256;
  quality.protocol.batch = std::min<std::int64_t>(by_window ? 4 : 32, search_rows);
  const std::int64_t held_rows =
      by_window ? std::max<std::int64_t>(4, held_out_tokens / request.window) : held_out_sentences;
  if (by_window) quality.protocol.most_tokens = (search_rows + held_rows) * request.window;
  quality.seed = request.model_options.seed;
  QualityData data = quality_data(model, quality);
  if (request.aim == Aim::decode) refuse_padding(*data.set, data.set->data);
  const std::string name = data.set->data;
  SplitData split;
  split.search = taken_from(*data.set, search_rows);
  split.held_out = taken_from(*data.set, held_rows);
  if (split.held_out.batches.empty())
    fail_user(
        "{}: {} rows are searched on and none is left to score what was found; give more data or fewer "
        "--search-rows",
        name, row_count(split.search));
  return split;
}

void check_limit(const TuneRequest& request, const Model& model, const QualitySet& set) {
  const bool gives_classes = model.config.task != Task::embedding &&
                             (model.config.task != Task::classification || model.config.outputs != Outputs::scores);
  if (!gives_classes) fail_user("{}: gives no classes, so that no loss can be limited", model.name);
  if (request.limit.kind != LossKind::kl && set.batches.front().targets.empty())
    fail_user("--max-{}: {} has no labels; --max-kl needs none",
              request.limit.kind == LossKind::drop ? "drop" : "perplexity", set.data);
}

/// With no more tokens a row than the model takes; of decoding at most half of them are new.
TuneRequest within_context(TuneRequest request, const Model& model) {
  if (request.aim == Aim::decode) check_generates(model);
  const std::int64_t context = model.config.context;
  if (request.aim == Aim::decode && context < 2)
    fail_user("{}: its context of {} has no room for a prompt and a token behind it", model.name, context);
  request.new_tokens = request.aim == Aim::decode ? std::min(request.new_tokens, context / 2) : 0;
  request.seq = std::min(request.seq, context - request.new_tokens);
  return request;
}

/// Random ids of the shape that is timed.
QualityBatch timed_batch(const Model& model, const TuneRequest& request) {
  QualityBatch batch;
  batch.extent = {request.batch, request.aim == Aim::decode ? 1 : request.seq};
  batch.ids = random_ids(model, batch.extent, {request.model_options.seed, IdsFor::timing});
  return batch;
}

bool is_emulated(Instance& instance, const QualityBatch& batch) {
  const Plan plan(instance,
                  {.extent = batch.extent, .mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given});
  const Ledger ledger = plan.ledger();
  return std::any_of(ledger.rows.begin(), ledger.rows.end(),
                     [](const LedgerRow& row) { return row.verdict == Verdict::emulated && multiplies(row); });
}

/// Only what runs natively here: the cost of an emulation says nothing.
void drop_emulated(StudiedModel& subject) {
  for (std::size_t i = subject.rows.size(); i-- > 0;) {
    if (!is_emulated(*subject.whole[i], subject.set.batches.front())) continue;
    if (subject.callbacks.say)
      subject.callbacks.say(fmt::format("{}: emulated on this machine, left out", subject.rows[i].name()));
    subject.rows.erase(subject.rows.begin() + static_cast<std::ptrdiff_t>(i));
    subject.left_out.push_back(std::move(subject.whole[i]));
    subject.whole.erase(subject.whole.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (subject.rows.empty())
    fail_lacking("no precision but {} runs natively here: there is nothing to choose", baseline_precision().name);
}

/// Quality of every row as a whole, into the study's last unit. False after an interrupt.
bool measure_whole(const Scoring& scoring, const LossStore& store, ModelSensitivity& study) {
  const StudiedModel& subject = scoring.subject();
  std::vector<Instance*> instances;
  std::vector<Recipe> recipes;
  instances.reserve(subject.whole.size());
  recipes.reserve(subject.whole.size());
  if (scoring.takes_plain_instances()) {
    for (const auto& instance : subject.whole) instances.push_back(instance.get());
  }
  for (const PrecisionChoice& row : subject.rows)
    recipes.push_back({.name = "whole", .rest = &find_precision(row.row.name)});
  if (subject.callbacks.progress)
    subject.callbacks.progress(fmt::format("scoring {} precisions as a whole", recipes.size()), 0);
  const auto qualities = losses_of(scoring, recipes, instances, store);
  if (!qualities) return false;
  for (std::size_t i = 0; i < recipes.size(); ++i)
    study.rows_by_unit[(i + 1) * subject.units.size() - 1].only = (*qualities)[i];
  return true;
}

bool has_joules_of_layers(const ModelSensitivity& study) {
  return std::all_of(study.rows_by_unit.begin(), study.rows_by_unit.end(), [](const UnitRow& row) {
    return !row.unit.is_linear() || (row.cost->low_j > 0 && row.cost->fp32_j > 0);
  });
}

bool has_all_errors(const ModelSensitivity& study) {
  return std::all_of(study.rows_by_unit.begin(), study.rows_by_unit.end(),
                     [](const UnitRow& row) { return !row.unit.is_linear() || row.error.has_value(); });
}

class Tuner {
 public:
  Tuner(const TuneRequest& request, const Model& model, const Power& power, const MachineFacts& facts,
        const StudyCallbacks& callbacks)
      : request_(request),
        model_(model),
        power_(power),
        facts_(facts),
        callbacks_(keeping(callbacks)),
        begin_s_(now_s()) {}

  Document run(SplitData data) {
    set_up(data.search);
    const std::optional<TuneState> before = state_from(request_.resume);
    StudiedModel subject = studied_model(sensitivity_, model_, std::move(data.search), facts_, callbacks_);
    drop_emulated(subject);
    study_ = empty_study(subject);
    const std::string identity = study_.identity + (request_.aim == Aim::decode ? ", through a cache" : "");
    if (before) {
      check_identity(*before, request_.resume, identity);
      state_ = *before;
    }
    state_.identity = identity;
    const std::size_t split = subject.set.batches.size();
    const Scoring scoring(subject, request_.aim, std::max(longest_row(subject.set), longest_row(data.held_out)));
    search(subject, scoring, data.held_out);
    tuning_.held_out_of = fmt::format("{}, {} rows {} them", data.held_out.data, row_count(data.held_out),
                                      subject.set.batches.size() < split ? "further behind" : "behind");
    keep_state();
    tuning_.points = points_of(scoring, study_, tuning_);
    if (!score_held_out(scoring, data.held_out, tuning_)) tuning_.is_partial = true;
    Document document = timed_points(request_, tuning_, facts_, callbacks_);
    tuning_.is_interrupted = is_set(callbacks_.interrupted);
    tuning_.answer = answer_of(tuning_, document);
    describe(tuning_, document);
    write_recipe();
    return document;
  }

 private:
  void set_up(const QualitySet& set) {
    sensitivity_.models = {request_.model};
    sensitivity_.precisions = asked_rows(request_);
    sensitivity_.by = {"layer"};
    sensitivity_.gradient_rows = request_.gradient_rows;
    sensitivity_.layer_seconds = std::min(sensitivity_.layer_seconds, costs_share * request_.seconds);
    sensitivity_.engine = engine_for(set, request_.engine);
    tuning_.model = shown_model_name(request_.model);
    tuning_.limit = request_.limit;
    tuning_.aim = request_.aim;
    tuning_.budget_s = request_.seconds;
  }

  /// `scoring` is of the subject.
  void search(StudiedModel& subject, const Scoring& scoring, QualitySet& held_out) {
    measure_all_costs(subject);
    if (is_interrupted()) return end_early(subject);
    leave_out(subject);
    const double end_part_s = fit_to_budget(subject, scoring, held_out);
    if (subject.rows.empty()) return;
    const LossStore store{state_.losses, [this] { keep_each_minute(); }};
    std::optional<MixChoices> choices = estimated_choices(subject, scoring, store);
    tuning_.estimates_s = now_s() - begin_s_;
    if (!choices) {
      tuning_.is_partial = true;
      return;
    }
    tuning_.parts = choices->parts.size();
    const double search_begin_s = now_s();
    const double end_s =
        std::max(begin_s_ + request_.seconds - end_part_s, search_begin_s + least_search_share * request_.seconds);
    tuning_.tried = search_mixes(*choices, {request_, scoring, end_s, store});
    tuning_.search_s = now_s() - search_begin_s;
    tuning_.is_partial = is_interrupted() || now_s() > end_s;
  }

  bool is_interrupted() const { return is_set(callbacks_.interrupted); }

  void end_early(const StudiedModel& subject) {
    tuning_.is_partial = true;
    tuning_.searched_on = searched_words(subject);
  }

  static std::string searched_words(const StudiedModel& subject) {
    return fmt::format("{}, the first {} rows", subject.set.data, row_count(subject.set));
  }

  // ---- what the search goes by ----

  /// What costs are of.
  std::string costs_identity() const {
    const std::int64_t seq = request_.aim == Aim::decode ? 1 : request_.seq;
    const std::string meter = power_.source.meter ? "; joules by " + power_.source.words : "";
    return fmt::format("{} x {}{}", request_.batch, seq, meter);
  }

  /// Time, bytes and, where they are the aim, joules of whole runs.
  void measure_all_costs(const StudiedModel& subject) {
    if (give_costs(state_, costs_identity(), study_)) return;
    state_.costs_of.clear();
    state_.costs.clear();
    const QualityBatch timed = timed_batch(model_, request_);
    measure_costs(subject, timed, study_);
    if (power_.source.meter && !is_interrupted()) measure_whole_energy(subject, timed, power_, study_);
    if (is_interrupted()) return;
    state_.costs_of = costs_identity();
    keep_state();
  }

  void leave_out(StudiedModel& subject) {
    take_units(study_, state_);
    const std::vector<LeftOut> found = drop_useless_rows(subject, request_.aim, study_);
    tuning_.left_out.insert(tuning_.left_out.end(), found.begin(), found.end());
  }

  /// Cuts what is scored to what the budget has room for, but for rows that were asked for or that an earlier run
  /// searched on. Returns what the end will take, s.
  double fit_to_budget(StudiedModel& subject, const Scoring& scoring, QualitySet& held_out) {
    auto& batches = subject.set.batches;
    const std::size_t mixes = subject.rows.empty() ? 0 : most_finalists + most_beyond;
    const ScoredBatches scored = batches_within(request_, scoring, held_out, study_, mixes, tuning_.left_out);
    held_out.batches.resize(scored.held_out);
    const bool is_asked = request_.search_rows > 0;
    if (state_.batches || !is_asked) batches.resize(std::min(batches.size(), state_.batches.value_or(scored.searched)));
    tuning_.searched_on = searched_words(subject);
    check_searched_on(state_, request_.resume, tuning_.searched_on);
    state_.searched_on = tuning_.searched_on;
    state_.batches = batches.size();
    return scored.end_s;
  }

  /// Absent after an interrupt.
  std::optional<MixChoices> estimated_choices(StudiedModel& subject, const Scoring& scoring, const LossStore& store) {
    if (!measure_whole(scoring, store, study_)) return std::nullopt;
    leave_out(subject);
    give_errors(state_, study_);
    const Power no_meter;
    if (!has_all_errors(study_)) measure_layers(subject, no_meter, study_);
    if (is_interrupted()) return std::nullopt;
    keep_each_minute();
    estimate(subject);
    const bool lacks_joules = power_.source.meter && !has_joules_of_layers(study_);
    if (lacks_joules) measure_energy_of_layers(subject, timed_batch(model_, request_), power_, study_);
    if (is_interrupted()) return std::nullopt;
    keep_each_minute();
    return choices_of(request_, study_, scoring, store);
  }

  /// By gradients.
  void estimate(const StudiedModel& subject) {
    const std::string of = fmt::format("{} of {}", request_.gradient_rows, tuning_.searched_on);
    if (give_estimates(state_, of, study_)) return;
    state_.estimates_of.clear();
    state_.estimates.clear();
    state_.estimated.clear();
    estimate_by_gradients(subject, study_);
    if (is_interrupted()) return;  // They are of fewer rows than was asked.
    state_.estimates_of = of;
    for (const PrecisionChoice& row : subject.rows) state_.estimated.insert(row.name());
  }

  // ---- what is kept ----

  /// Every step of the work says what it is about to do: what was done before is kept then, once a minute.
  StudyCallbacks keeping(const StudyCallbacks& callbacks) {
    StudyCallbacks with_state = callbacks;
    with_state.progress = [this, show = callbacks.progress](const std::string& what, double seconds_left) {
      keep_each_minute();
      if (show) show(what, seconds_left);
    };
    return with_state;
  }

  void keep_each_minute() {
    if (now_s() - kept_s_ >= keep_every_s) keep_state();
  }

  void keep_state() {
    if (request_.resume.empty() || state_.costs_of.empty()) return;
    take_units(study_, state_);
    write_state(request_.resume, state_);
    kept_s_ = now_s();
  }

  void write_recipe() const {
    const Recipe* const recipe = recipe_to_take(tuning_);
    if (recipe != nullptr && !request_.recipe.empty()) write_file_atomically(request_.recipe, recipe_text(*recipe));
  }

  const TuneRequest& request_;
  const Model& model_;
  const Power& power_;
  const MachineFacts& facts_;
  const StudyCallbacks callbacks_;
  const double begin_s_;
  SensitivityRequest sensitivity_;
  Tuning tuning_;
  ModelSensitivity study_;
  TuneState state_;
  double kept_s_ = 0;
};

}  // namespace

bool keeps_limit(const Tuning& tuning, const TunePoint& point) {
  return point.held_out && loss_of(tuning.limit.kind, *point.held_out) <= tuning.limit.most;
}

bool is_scored(const Tuning& tuning) {
  return std::any_of(tuning.points.begin(), tuning.points.end(),
                     [](const TunePoint& point) { return point.held_out.has_value(); });
}

const TriedMix* best_tried(const Tuning& tuning) {
  return cheapest_within_limit(tuning.tried, tuning.limit, 1);
}

const Recipe* recipe_to_take(const Tuning& tuning) {
  if (tuning.answer.taken) return &tuning.points[*tuning.answer.taken].recipe;
  const TriedMix* const tried = tuning.is_interrupted ? best_tried(tuning) : nullptr;
  return tried == nullptr ? nullptr : &tried->recipe;
}

Document tune(const TuneRequest& asked, const FactsSource& source, const StudyCallbacks& callbacks) {
  check_tune(asked);
  const Power power = needed_power(asked);
  const Model model = open_model(asked.model, asked.model_options);
  const TuneRequest request = within_context(asked, model);
  SplitData data = split_data(model, request);
  check_limit(request, model, data.search);
  const MachineFacts facts = source();  // Measures, where nothing is known: last of what may fail.
  return Tuner(request, model, power, facts, callbacks).run(std::move(data));
}

}  // namespace assay
