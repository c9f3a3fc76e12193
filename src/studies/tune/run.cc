#include "studies/tune/run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/write_file.h"
#include "results/model_name.h"
#include "studies/bench/request.h"
#include "studies/generation_bench/request.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/setting.h"

namespace assay {
namespace {

constexpr double keep_every_s = 60;
constexpr std::size_t most_finalists = 4;  ///< Mixes that pass, timed in the end.
constexpr std::size_t most_beyond = 2;     ///< And mixes that lose more or less, for the front.
constexpr std::int64_t held_out_tokens = 8192;
constexpr std::int64_t held_out_sentences = 1024;

void check_tune(const TuneRequest& request) {
  if (!(request.limit.most > 0)) fail_user("--max-...: the limit must be above 0");
  for (const std::string& precision : request.precisions) find_precision(precision);
  if (request.engine.device != "cpu" && request.engine.device != "reference")
    fail_lacking("--device {}: mixes are searched on cpu and reference", request.engine.device);
}

/// Rows whose arithmetic is a linear layer's own: those that keep f32 weights and cast multiply as bf16 and fp16 do,
/// and what a file holds is no choice.
bool is_choice(const Precision& row, const std::string& device) {
  return runs_on(row, device) && is_listed_on(row, device) && row.rule != Activations::autocast_lists && row.chunk == 0 &&
         std::string_view(row.name) != "fp32";
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

std::int64_t rows_held(const QualitySet& set) {
  std::int64_t rows = 0;
  for (const QualityBatch& batch : set.batches) rows += batch.extent.batch;
  return rows;
}

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
  quality.protocol.batch = by_window ? 4 : 32;
  const std::int64_t search_rows = request.search_rows > 0 ? request.search_rows : by_window ? 16 : 256;
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
        name, rows_held(split.search));
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

/// Random ids of the shape that is timed.
QualityBatch timed_batch(const Model& model, const TuneRequest& request) {
  QualityBatch batch;
  const std::int64_t seq = request.aim == Aim::decode ? 1 : std::min(request.seq, model.config.context);
  batch.extent = {request.batch, seq};
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
bool measure_whole(const StudiedModel& subject, const QualitySet& set, ModelSensitivity& study) {
  std::vector<Instance*> instances;
  for (const auto& instance : subject.whole) instances.push_back(instance.get());
  const auto qualities = qualities_of(subject, set, instances);
  if (!qualities) return false;
  for (std::size_t i = 0; i < instances.size(); ++i)
    study.rows_by_unit[(i + 1) * subject.units.size() - 1].only = (*qualities)[i];
  return true;
}

/// Mixes to be timed: the cheapest that pass, then the cheapest of what loses most beyond them.
std::vector<const TriedMix*> finalists(const std::vector<TriedMix>& tried, const LossLimit& limit) {
  std::vector<const TriedMix*> sorted;
  for (const TriedMix& one : tried) sorted.push_back(&one);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TriedMix* a, const TriedMix* b) { return a->foretold.cost < b->foretold.cost; });
  std::vector<const TriedMix*> chosen;
  std::size_t beyond = 0;
  std::size_t within = 0;
  for (const TriedMix* one : sorted) {
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

/// Scores every point on rows that the search did not see. False after an interrupt.
bool score_held_out(const StudiedModel& subject, const QualitySet& held_out, Tuning& tuning) {
  for (TunePoint& point : tuning.points) {
    const auto instance = subject.instance(choose_precision(point.recipe, native_16bit(subject.facts)), Fusion::on);
    if (subject.callbacks.progress) subject.callbacks.progress("scoring " + point.precision, 0);
    const auto qualities = qualities_of(subject, held_out, {instance.get()});
    if (!qualities) return false;
    point.held_out = qualities->front();
    point.model_bytes = instance->model_bytes();
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
  const FactsSource known = [&] { return facts; };
  if (request.aim != Aim::decode) return bench(bench_request, known, callbacks);
  bench_request.seqs.clear();
  return generation_bench({bench_request, {request.seq}, {64}, {0}}, known, callbacks);
}

class Tuner {
 public:
  Tuner(const TuneRequest& request, const Model& model, const MachineFacts& facts, const StudyCallbacks& callbacks)
      : request_(request), model_(model), facts_(facts), callbacks_(callbacks), begin_s_(now_s()) {}

  Document run() {
    SplitData data = split_data(model_, request_);
    check_limit(request_, model_, data.search);
    sensitivity_.models = {request_.model};
    sensitivity_.precisions = asked_rows(request_);
    sensitivity_.by = {"layer"};
    sensitivity_.gradient_rows = request_.gradient_rows;
    sensitivity_.engine = engine_for(data.search, request_.engine);
    tuning_.model = shown_model_name(request_.model);
    tuning_.limit = request_.limit;
    tuning_.aim = request_.aim;
    tuning_.searched_on = fmt::format("{}, the first {} rows", data.search.data, rows_held(data.search));
    tuning_.held_out_of = fmt::format("{}, the {} rows behind them", data.held_out.data, rows_held(data.held_out));
    StudiedModel subject = studied_model(sensitivity_, model_, std::move(data.search), facts_, callbacks_);
    drop_emulated(subject);
    ModelSensitivity study = empty_study(subject);
    search(subject, study);
    finish(subject, study, data.held_out);
    Document document = timed_points(request_, tuning_, facts_, callbacks_);
    choose_best(tuning_, document.records);
    describe(tuning_, document);
    write_recipe();
    return document;
  }

 private:
  void search(const StudiedModel& subject, ModelSensitivity& study) {
    const bool is_measured = measure_whole(subject, subject.set, study);
    if (is_measured) study_units(subject, timed_batch(model_, request_), study);
    tuning_.estimates_s = now_s() - begin_s_;
    std::optional<MixChoices> choices;
    if (is_measured && !is_set(callbacks_.interrupted)) choices = choices_of(subject, request_.aim, study);
    if (!choices) {
      tuning_.is_partial = true;
      return;
    }
    tuning_.parts = choices->parts.size();
    const std::string identity = identity_of(study);
    MeasuredLosses known = losses_from(request_.resume, identity);
    double kept_s = now_s();
    const auto keep = [&] {
      if (request_.resume.empty() || now_s() - kept_s < keep_every_s) return;
      write_losses(request_.resume, identity, known);
      kept_s = now_s();
    };
    const double end_s = begin_s_ + request_.seconds;
    const double search_begin_s = now_s();
    tuning_.tried = search_mixes(subject, *choices, {request_, end_s, known, keep});
    tuning_.search_s = now_s() - search_begin_s;
    tuning_.is_partial = is_set(callbacks_.interrupted) || now_s() > end_s;
    if (!request_.resume.empty()) write_losses(request_.resume, identity, known);
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
      if (mix->recipe.layers.empty()) continue;  // a uniform precision
      TunePoint point{"", mix->recipe, true, mix->quality};
      point.recipe.name = fmt::format("mix-{}", ++mixes_);
      point.precision = precision_name(point.recipe);
      tuning_.points.push_back(std::move(point));
    }
    if (!score_held_out(subject, held_out, tuning_)) tuning_.is_partial = true;
  }

  void write_recipe() const {
    if (request_.recipe.empty() || !tuning_.best) return;
    write_file_atomically(request_.recipe, recipe_text(tuning_.points[*tuning_.best].recipe));
  }

  const TuneRequest& request_;
  const Model& model_;
  const MachineFacts& facts_;
  const StudyCallbacks& callbacks_;
  const double begin_s_;
  SensitivityRequest sensitivity_;
  Tuning tuning_;
  int mixes_ = 0;
};

}  // namespace

const char* name(Aim aim) {
  constexpr const char* names[] = {"latency", "decode", "bytes"};
  return names[static_cast<std::size_t>(aim)];
}

std::optional<double> cost_of(const Tuning& tuning, const TunePoint& point, std::span<const Record> records) {
  if (tuning.aim == Aim::bytes) return static_cast<double>(point.model_bytes);
  const Mode wanted = tuning.aim == Aim::decode ? Mode::decode : Mode::inference;
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.precision == point.precision && record.setting.mode == wanted;
  });
  return found == records.end() || !found->latency ? std::nullopt : found->latency->median_ms;
}

bool keeps_limit(const Tuning& tuning, const TunePoint& point) {
  return point.held_out && loss_of(tuning.limit.kind, *point.held_out) <= tuning.limit.most;
}

void choose_best(Tuning& tuning, std::span<const Record> records) {
  std::vector<std::pair<double, std::size_t>> passing;
  for (std::size_t i = 0; i < tuning.points.size(); ++i) {
    const std::optional<double> cost = cost_of(tuning, tuning.points[i], records);
    if (cost && keeps_limit(tuning, tuning.points[i])) passing.emplace_back(*cost, i);
  }
  std::sort(passing.begin(), passing.end());
  if (!passing.empty()) tuning.best = passing[0].second;
  if (passing.size() > 1) tuning.runner_up = passing[1].second;
}

Document tune(const TuneRequest& request, const FactsSource& source, const StudyCallbacks& callbacks) {
  check_tune(request);
  const Model model = open_model(request.model, request.model_options);
  const MachineFacts facts = source();
  return Tuner(request, model, facts, callbacks).run();
}

}  // namespace assay
