#include "studies/tune/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
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
#include "runtime/layout.h"
#include "runtime/plan.h"
#include "studies/bench/request.h"
#include "studies/generation_bench/request.h"
#include "studies/sensitivity/energy.h"
#include "studies/sensitivity/request.h"
#include "studies/shared/cached.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/setting.h"
#include "studies/shared/surroundings.h"
#include "studies/tune/aims.h"
#include "studies/tune/options.h"
#include "studies/tune/parts.h"
#include "tensor/ledger.h"
#include "tensor/precision.h"

namespace assay {
namespace {

constexpr double keep_every_s = 60;
constexpr std::size_t most_finalists = 4;    ///< Mixes that pass, timed in the end.
constexpr std::size_t most_beyond = 2;       ///< And mixes that lose more or less, for the front.
constexpr double costs_share = 0.005;        ///< Of the budget that the costs of a row may take.
constexpr double least_search_share = 0.1;   ///< Of it that is left to mixes, whatever came before took.
constexpr std::size_t scored_together = 4;   ///< Points that share a run of fp32.
constexpr std::int64_t decoded_tokens = 64;  ///< Of each row in the last timing of decoding.
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
  return runs_on(row, device) && is_listed_on(row, device) && row.rule != Activations::autocast_lists &&
         row.chunk == 0 && std::string_view(row.name) != "fp32";
}

std::vector<std::string> asked_rows(const TuneRequest& request) {
  std::vector<std::string> names;
  for (const Precision& row : precision_table()) {
    const bool is_asked = request.precisions.empty() ? is_choice(row, request.engine.device)
                                                     : std::find(request.precisions.begin(), request.precisions.end(),
                                                                 row.name) != request.precisions.end();
    if (is_asked && std::string_view(row.name) != "fp32") names.emplace_back(row.name);
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

/// With no more tokens a row than the model takes, those that decoding adds included.
TuneRequest within_context(TuneRequest request, const Model& model) {
  if (request.aim == Aim::decode) check_generates(model);
  const std::int64_t added = request.aim == Aim::decode ? decoded_tokens : 0;
  if (model.config.context <= added)
    fail_user("{}: its context of {} has no room for a prompt and {} new tokens", model.name, model.config.context,
              added);
  request.seq = std::min(request.seq, model.config.context - added);
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
    subject.whole.erase(subject.whole.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (subject.rows.empty()) fail_lacking("no precision but fp32 runs natively here: there is nothing to choose");
}

/// Quality of every row as a whole, into the study's last unit.
bool measure_whole(const StudiedModel& subject, MeasuredLosses& known, ModelSensitivity& study) {
  std::vector<Instance*> instances;
  std::vector<Recipe> recipes;
  instances.reserve(subject.whole.size());
  recipes.reserve(subject.whole.size());
  for (const auto& instance : subject.whole) instances.push_back(instance.get());
  for (const PrecisionChoice& row : subject.rows)
    recipes.push_back({.name = "whole", .rest = &find_precision(row.row.name)});
  const auto qualities = losses_of(subject, recipes, instances, known);
  if (!qualities) return false;
  for (std::size_t i = 0; i < instances.size(); ++i)
    study.rows_by_unit[(i + 1) * subject.units.size() - 1].only = (*qualities)[i];
  return true;
}

/// Mixes to be timed: the cheapest that pass, then the cheapest of what loses most beyond them.
std::vector<const TriedMix*> finalists(const std::vector<TriedMix>& tried, const LossLimit& limit) {
  std::vector<const TriedMix*> sorted;
  sorted.reserve(tried.size());
  for (const TriedMix& one : tried) sorted.push_back(&one);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TriedMix* a, const TriedMix* b) { return a->foretold.cost < b->foretold.cost; });
  std::vector<const TriedMix*> chosen;
  std::size_t beyond = 0;
  std::size_t within = 0;
  for (const TriedMix* one : sorted) {
    if (one->recipe.layers.empty()) continue;  // a uniform precision
    const bool passes = loss_of(limit.kind, one->quality) <= limit.most;
    std::size_t& count = passes ? within : beyond;
    if (count >= (passes ? most_finalists : most_beyond)) continue;
    ++count;
    chosen.push_back(one);
  }
  return chosen;
}

TunePoint uniform_point(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row) {
  const PrecisionChoice& choice = subject.rows[row];
  TunePoint point{choice.name(), {choice.row.name, &find_precision(choice.row.name)}};
  point.searched = *study.rows_by_unit[(row + 1) * subject.units.size() - 1].only;
  return point;
}

/// Some of the points, together. False after an interrupt.
bool score_points(const StudiedModel& subject, const QualitySet& held_out, std::span<TunePoint> points) {
  std::vector<std::unique_ptr<Instance>> own;
  std::vector<Instance*> instances;
  own.reserve(points.size());
  instances.reserve(points.size());
  for (TunePoint& point : points) {
    own.push_back(subject.instance(choose_precision(point.recipe, native_16bit(subject.facts)), Fusion::on));
    instances.push_back(own.back().get());
  }
  const auto qualities = qualities_of(subject, held_out, instances);
  if (!qualities) return false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_itself = points[i].precision == "fp32";  // what differs in nothing has no interval
    points[i].held_out = is_itself ? points[i].searched : (*qualities)[i];
    points[i].model_bytes = own[i]->model_bytes();
  }
  return true;
}

/// Scores every point on rows that the search did not see. False after an interrupt.
bool score_held_out(const StudiedModel& subject, const QualitySet& held_out, Tuning& tuning) {
  for (std::size_t begin = 0; begin < tuning.points.size(); begin += scored_together) {
    if (subject.callbacks.progress) subject.callbacks.progress("scoring " + tuning.points[begin].precision, 0);
    const std::size_t count = std::min(scored_together, tuning.points.size() - begin);
    if (!score_points(subject, held_out, std::span(tuning.points).subspan(begin, count))) return false;
  }
  return true;
}

/// Times fp32 and all points, interleaved.
Document timed_points(const TuneRequest& request, const Tuning& tuning, const MachineFacts& facts,
                      const StudyCallbacks& callbacks) {
  BenchRequest bench_request;
  bench_request.models = {request.model};
  bench_request.engine = request.engine;
  bench_request.engine.overrides.clear();
  for (const TunePoint& point : tuning.points) {
    bench_request.precisions.push_back(point.precision);
    if (point.is_mix) bench_request.engine.recipes.push_back(point.recipe);
  }
  bench_request.batches = {request.batch};
  bench_request.seqs = {request.seq};
  bench_request.seconds = request.timed_seconds;
  bench_request.quality = QualityMode::none;
  bench_request.model_options = request.model_options;
  bench_request.energy = request.energy;
  bench_request.root = request.root;
  const FactsSource known = [&] { return facts; };
  if (request.aim != Aim::decode) return bench(bench_request, known, callbacks);
  bench_request.seqs.clear();
  return generation_bench({bench_request, {request.seq}, {decoded_tokens}, {0}}, known, callbacks);
}

class Tuner {
 public:
  Tuner(const TuneRequest& request, const Model& model, const Power& power, const MachineFacts& facts,
        const StudyCallbacks& callbacks)
      : request_(request), model_(model), power_(power), facts_(facts), callbacks_(callbacks), begin_s_(now_s()) {}

  Document run(SplitData data) {
    sensitivity_.models = {request_.model};
    sensitivity_.precisions = asked_rows(request_);
    sensitivity_.by = {"layer"};
    sensitivity_.gradient_rows = request_.gradient_rows;
    sensitivity_.layer_seconds = std::min(sensitivity_.layer_seconds, costs_share * request_.seconds);
    sensitivity_.engine = engine_for(data.search, request_.engine);
    tuning_.model = shown_model_name(request_.model);
    tuning_.limit = request_.limit;
    tuning_.aim = request_.aim;
    tuning_.budget_s = request_.seconds;
    const std::optional<std::size_t> searched_before = searched_batches_in(request_.resume);
    StudiedModel subject = studied_model(sensitivity_, model_, std::move(data.search), facts_, callbacks_);
    drop_emulated(subject);
    ModelSensitivity study = empty_study(subject);
    const std::size_t split = subject.set.batches.size();
    search(subject, searched_before, data.held_out, study);
    tuning_.held_out_of = fmt::format("{}, {} rows {} them", data.held_out.data, row_count(data.held_out),
                                      subject.set.batches.size() < split ? "further behind" : "behind");
    finish(subject, study, data.held_out);
    Document document = timed_points(request_, tuning_, facts_, callbacks_);
    choose_best(tuning_, document);
    describe(tuning_, document);
    write_recipe();
    return document;
  }

 private:
  void search(StudiedModel& subject, std::optional<std::size_t> searched_before, QualitySet& held_out,
              ModelSensitivity& study) {
    const QualityBatch timed = timed_batch(model_, request_);
    measure_costs(subject, timed, study);
    if (power_.source.meter) measure_whole_energy(subject, timed, power_, study);
    if (is_set(callbacks_.interrupted)) return end_early(subject);
    leave_out(subject, study);
    const double end_part_s = fit_to_budget(subject, searched_before, held_out, study);
    if (subject.rows.empty()) return;
    state_ = {identity_of(study), subject.set.batches.size()};
    known_ = losses_from(request_.resume, state_.identity);
    std::optional<MixChoices> choices = estimated_choices(subject, study);
    tuning_.estimates_s = now_s() - begin_s_;
    if (!choices) {
      tuning_.is_partial = true;
      return;
    }
    tuning_.parts = choices->parts.size();
    const double search_begin_s = now_s();
    const double end_s =
        std::max(begin_s_ + request_.seconds - end_part_s, search_begin_s + least_search_share * request_.seconds);
    double kept_s = 0;  // What the estimates measured is kept with the first mixes.
    const auto keep = [&] {
      if (request_.resume.empty() || now_s() - kept_s < keep_every_s) return;
      write_losses(request_.resume, state_, known_);
      kept_s = now_s();
    };
    tuning_.tried = search_mixes(subject, *choices, {request_, end_s, known_, keep});
    tuning_.search_s = now_s() - search_begin_s;
    tuning_.is_partial = is_set(callbacks_.interrupted) || now_s() > end_s;
    if (!request_.resume.empty()) write_losses(request_.resume, state_, known_);
  }

  void end_early(const StudiedModel& subject) {
    tuning_.is_partial = true;
    tuning_.searched_on = searched_words(subject);
  }

  static std::string searched_words(const StudiedModel& subject) {
    return fmt::format("{}, the first {} rows", subject.set.data, row_count(subject.set));
  }

  void leave_out(StudiedModel& subject, ModelSensitivity& study) {
    const std::vector<LeftOut> found = drop_useless_rows(subject, request_.aim, study);
    tuning_.left_out.insert(tuning_.left_out.end(), found.begin(), found.end());
  }

  /// Cuts what is scored to what the budget has room for, but for rows that were asked for or that an earlier run
  /// searched on. Returns what the end will take, s.
  double fit_to_budget(StudiedModel& subject, std::optional<std::size_t> searched_before, QualitySet& held_out,
                       const ModelSensitivity& study) {
    double end_part_s = 0;
    auto& batches = subject.set.batches;
    if (!subject.rows.empty()) {
      const ScoredBatches scored = batches_within(request_, subject, held_out, study, most_finalists + most_beyond);
      end_part_s = scored.end_s;
      held_out.batches.resize(scored.held_out);
      const bool is_asked = request_.search_rows > 0;
      if (searched_before || !is_asked)
        batches.resize(std::min(batches.size(), searched_before.value_or(scored.searched)));
    }
    tuning_.searched_on = searched_words(subject);
    return end_part_s;
  }

  /// Absent after an interrupt.
  std::optional<MixChoices> estimated_choices(StudiedModel& subject, ModelSensitivity& study) {
    if (!measure_whole(subject, known_, study)) return std::nullopt;
    leave_out(subject, study);
    study_units(subject, study);
    if (power_.source.meter) measure_energy_of_layers(subject, timed_batch(model_, request_), power_, study);
    if (is_set(callbacks_.interrupted)) return std::nullopt;
    return choices_of(subject, request_.aim, study, known_);
  }

  std::string identity_of(const ModelSensitivity& study) const {
    return fmt::format("{}; {} rows", study.identity, tuning_.searched_on);
  }

  void finish(const StudiedModel& subject, const ModelSensitivity& study, const QualitySet& held_out) {
    tuning_.points.push_back({"fp32", {"fp32", &find_precision("fp32")}});
    for (std::size_t row = 0; row < subject.rows.size(); ++row) {
      if (study.rows_by_unit[(row + 1) * subject.units.size() - 1].only)
        tuning_.points.push_back(uniform_point(subject, study, row));
    }
    for (const TriedMix* mix : finalists(tuning_.tried, request_.limit)) {
      TunePoint point{"", mix->recipe, true, mix->quality};
      point.recipe.name = fmt::format("mix-{}", ++mixes_);
      point.precision = precision_name(point.recipe);
      tuning_.points.push_back(std::move(point));
    }
    if (!score_held_out(subject, held_out, tuning_)) tuning_.is_partial = true;
  }

  void write_recipe() const {
    const TriedMix* const tried = best_tried(tuning_);
    if (request_.recipe.empty() || (!tuning_.best && tried == nullptr)) return;
    if (!tuning_.best && request_.aim == Aim::energy && is_scored(tuning_)) return;  // No joules to go by.
    const Recipe& recipe = tuning_.best ? tuning_.points[*tuning_.best].recipe : tried->recipe;
    write_file_atomically(request_.recipe, recipe_text(recipe));
  }

  const TuneRequest& request_;
  const Model& model_;
  const Power& power_;
  const MachineFacts& facts_;
  const StudyCallbacks& callbacks_;
  const double begin_s_;
  SensitivityRequest sensitivity_;
  Tuning tuning_;
  TuneState state_;
  MeasuredLosses known_;
  int mixes_ = 0;
};

}  // namespace

const char* name(Aim aim) {
  return facts_of(aim).name;
}

const Record* record_for(const Tuning& tuning, const std::string& precision, std::span<const Record> records) {
  const Mode wanted = tuning.aim == Aim::decode ? Mode::decode : Mode::inference;
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.precision == precision && record.setting.mode == wanted;
  });
  return found == records.end() || !found->latency ? nullptr : &*found;
}

std::optional<double> cost_of(const Tuning& tuning, const TunePoint& point, const Document& timed) {
  return figure_number(facts_of(tuning.aim).figure(timed_point(tuning, point, timed)));
}

bool keeps_limit(const Tuning& tuning, const TunePoint& point) {
  return point.held_out && loss_of(tuning.limit.kind, *point.held_out) <= tuning.limit.most;
}

bool is_scored(const Tuning& tuning) {
  return std::any_of(tuning.points.begin(), tuning.points.end(),
                     [](const TunePoint& point) { return point.held_out.has_value(); });
}

const TriedMix* best_tried(const Tuning& tuning) {
  const TriedMix* best = nullptr;
  for (const TriedMix& one : tuning.tried) {
    const bool passes = loss_of(tuning.limit.kind, one.quality) <= tuning.limit.most;
    if (passes && (best == nullptr || one.foretold.cost < best->foretold.cost)) best = &one;
  }
  return best;
}

void choose_best(Tuning& tuning, const Document& timed) {
  std::vector<std::pair<double, std::size_t>> passing;
  for (std::size_t i = 0; i < tuning.points.size(); ++i) {
    const std::optional<double> cost = cost_of(tuning, tuning.points[i], timed);
    if (cost && keeps_limit(tuning, tuning.points[i])) passing.emplace_back(*cost, i);
  }
  std::sort(passing.begin(), passing.end());
  if (!passing.empty()) tuning.best = passing[0].second;
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
