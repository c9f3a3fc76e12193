#include "studies/explain_perplexity/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/paths.h"
#include "quality/compare.h"
#include "quality/loss.h"
#include "results/model_name.h"
#include "studies/probe/run.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/setting.h"

namespace assay {
namespace {

constexpr std::int64_t shortest_length = 32;
constexpr std::int64_t positions_at_a_time = 1024;  // their logits are 200 MB at a vocabulary of 50,000

/// 32, 64, ... below `longest`, then `longest`.
std::vector<std::int64_t> doubling_lengths(std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = shortest_length; length < longest; length *= 2) lengths.push_back(length);
  lengths.push_back(longest);
  return lengths;
}

/// Every position but the last of a row is scored on the next id, whatever it is.
void score_all_positions(QualitySet& set) {
  for (QualityBatch& batch : set.batches) {
    batch.targets.assign(batch.ids.size(), ignored_label);
    for (std::size_t i = 0; i + 1 < batch.ids.size(); ++i) {
      if ((i + 1) % static_cast<std::size_t>(batch.extent.seq) != 0) batch.targets[i] = batch.ids[i + 1];
    }
  }
}

/// Rows of one length with their masks.
QualitySet padded_rows(const Model& model, QualityRequest request) {
  const bool folder = is_folder(request.data);
  if (!folder && model.random_weights())
    fail_user("{}: a preset has no tokenizer; give --data a folder with input_ids.npy", model.name);
  request.protocol.protocol = Protocol::padded_lines;
  request.protocol.most_tokens = request.protocol.most_tokens.value_or(usual_tokens);
  request.protocol.batch =
      std::clamp<std::int64_t>(positions_at_a_time / std::max<std::int64_t>(request.protocol.window, 1), 1, 8);
  QualitySet set = *quality_data(model, request).set;
  if (set.batches.front().extent.seq < 2) fail_user("{}: rows of one id have nothing to score", set.data);
  return set;
}

/// What one pass over the rows needs besides them.
struct Runner {
  std::string model;
  Instance* instance;
  EvaluateOptions options;

  std::vector<double> losses(const QualitySet& set) const {
    Instance* const instances[] = {instance};
    QualityRows quality = std::move(evaluate(instances, set, options).qualities[0]);
    if (quality.non_finite) fail_user("{}: no perplexity: {}", model, words(*quality.non_finite));
    return std::move(quality.nll);
  }
};

PositionLosses measure_rows(const Runner& runner, const QualitySet& set, MaskUse mask) {
  QualitySet shown = set;
  PositionLosses result;
  result.seq = set.batches.front().extent.seq;
  for (QualityBatch& batch : shown.batches) {
    if (batch.mask.empty()) batch.mask.assign(batch.ids.size(), 1);
    result.mask.insert(result.mask.end(), batch.mask.begin(), batch.mask.end());
    if (mask == MaskUse::withheld) batch.mask.clear();
  }
  result.nll = runner.losses(shown);
  result.rows = static_cast<std::int64_t>(result.nll.size()) / (result.seq - 1);
  return result;
}

/// Every combination for one use of the mask, the honest one first.
void add_figures(const PositionLosses& losses, MaskUse mask, PerplexityStudy& study) {
  std::vector<AverageOptions> ways = {{}};
  for (const Averaging averaging : {Averaging::batch_losses, Averaging::batch_perplexities}) {
    for (const std::int64_t batch : study.batches) ways.push_back({PaddingScored::no, averaging, batch, 0});
  }
  for (auto length = study.lengths.rbegin(); length != study.lengths.rend(); ++length) {
    for (const PaddingScored padding : {PaddingScored::no, PaddingScored::yes}) {
      for (AverageOptions options : ways) {
        options.padding = padding;
        options.length = *length;
        study.figures.push_back({mask, options, average(losses, options)});
      }
    }
  }
}

bool is_padded_right(const PositionLosses& losses) {
  for (std::int64_t i = 1; i < losses.rows * losses.seq; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i % losses.seq != 0 && losses.mask[at] > losses.mask[at - 1]) return false;
  }
  return true;
}

/// Rows that an interrupt has left unscored are missing in every figure.
void say_part(const PositionLosses& losses, PerplexityStudy& study) {
  const auto end = losses.mask.begin() + losses.rows * losses.seq;
  if (end == losses.mask.end()) return;
  study.part = {std::count(losses.mask.begin(), end, 1), std::count(losses.mask.begin(), losses.mask.end(), 1)};
  const QualityStatus status = interrupted_after(*study.part);
  if (study.quality_status.state == QualityState::scored)
    study.quality_status = status;
  else
    study.quality_status.detail = to_text(status);
}

void study_rows(const Runner& runner, QualitySet set, PerplexityStudy& study) {
  score_all_positions(set);
  const PositionLosses masked = measure_rows(runner, set, MaskUse::passed);
  if (masked.rows == 0) return;
  say_part(masked, study);
  study.rows = masked.rows;
  study.seq = masked.seq;
  study.padded_right = is_padded_right(masked);
  study.padding = std::count(masked.mask.begin(), masked.mask.begin() + masked.rows * masked.seq, 0);
  for (const std::int64_t batch : {1, 8, 32}) {
    if (batch == 1 || batch < masked.rows) study.batches.push_back(batch);
  }
  study.lengths = doubling_lengths(masked.seq);
  add_figures(masked, MaskUse::passed, study);
  const PositionLosses bare = measure_rows(runner, set, MaskUse::withheld);
  if (bare.rows == masked.rows) add_figures(bare, MaskUse::withheld, study);
}

/// The ids of the text, in order.
std::vector<std::int32_t> stream(const Model& model, QualityRequest request) {
  request.protocol.protocol = Protocol::window;
  request.protocol.window = model.config.context;
  const QualityData data = quality_data(model, request);
  std::vector<std::int32_t> ids;
  for (const QualityBatch& batch : data.set->batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  return ids;
}

/// Windows from short to long, as long as memory suffices.
void study_windows(const Runner& runner, const Model& model, const QualityRequest& request, PerplexityStudy& study) {
  const std::vector<std::int32_t> ids = stream(model, request);
  const auto count = static_cast<std::int64_t>(ids.size());
  for (const std::int64_t window : doubling_lengths(std::min(model.config.context, count))) {
    ProtocolOptions options;
    options.window = window;
    options.batch = std::max<std::int64_t>(positions_at_a_time / window, 1);
    const QualitySet set = windows(ids, options);
    QualityRows quality;
    quality.nll = runner.losses(set);
    if (is_set(runner.options.interrupted)) return;
    const QualityFigures f = figures(quality);
    study.windows.push_back({window, f.scored, f.mean_nll});
  }
}

}  // namespace

const char* name(MaskUse mask) {
  return mask == MaskUse::passed ? "passed" : "withheld";
}

const RowsFigure& PerplexityStudy::at(MaskUse mask, const AverageOptions& options) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const RowsFigure& figure) {
    return figure.mask == mask && figure.options.padding == options.padding && figure.options.batch == options.batch &&
           figure.options.averaging == options.averaging && figure.options.length == options.length;
  });
  ASSAY_ASSERT(found != figures.end());
  return *found;
}

PerplexityStudy study_perplexity(const PerplexityRequest& request, const MachineFacts& facts,
                                 const StudyCallbacks& callbacks) {
  const Model model = open_model(request.model, request.model_options);
  if (model.config.task != Task::language_model)
    fail_user("{}: perplexity needs a language model, this is a {}", model.name, name(model.config.task));
  const QualitySet rows = padded_rows(model, request.quality);
  if (model.random_weights() && callbacks.say)
    callbacks.say(fmt::format("{}: its weights are random: figures show the mechanism and no model's quality",
                              shown_model_name(model.name)));
  const auto instance = make_instance(model, "fp32", request.engine, facts);
  PerplexityStudy study;
  study.setting = setting_of(model, request.engine, request.model_options.seed, facts);
  study.setting.precision = "fp32";
  study.quality_status.state = model.random_weights() ? QualityState::random_weights : QualityState::scored;
  study.machine = machine_json(facts);
  study.data = rows.data;
  study.cut = rows.protocol;
  std::string step = "rows";
  Runner runner{model.name, instance.get(), {}};
  runner.options.interrupted = callbacks.interrupted;
  runner.options.progress = [&](double share) {
    if (callbacks.progress)
      callbacks.progress(fmt::format("{}: {}, {:.0f} %", shown_model_name(model.name), step, 100 * share), 0);
  };
  study_rows(runner, rows, study);
  if (study.figures.empty()) throw Error(ExitCode::interrupted, "interrupted before a row was scored");
  step = "windows";
  try {
    if (!is_folder(request.quality.data))
      with_memory_errors([&] { study_windows(runner, model, request.quality, study); });
  } catch (const OutOfMemory& e) {
    if (callbacks.say) callbacks.say(fmt::format("longer windows are left out: {}", e.what()));
  }
  return study;
}

}  // namespace assay
