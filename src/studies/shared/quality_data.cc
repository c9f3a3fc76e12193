#include "studies/shared/quality_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "studies/shared/engine.h"
#include "studies/shared/random_ids.h"
#include "text/bundled.h"
#include "text/data_file.h"
#include "text/data_set_name.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// Divergence from fp32 counts whatever the weights; four rows of 128 ids are 512 distributions.
QualityData made_up_ids(const Model& model, std::uint64_t seed) {
  constexpr std::int64_t rows = 4;
  QualityBatch batch;
  batch.extent = {rows, std::min<std::int64_t>(128, model.config.context)};
  batch.ids = random_ids(model, batch.extent, {seed, IdsFor::quality});
  QualitySet set;
  set.data = "random ids";
  set.protocol = fmt::format("window {}", batch.extent.seq);
  set.batches.push_back(std::move(batch));
  return {std::move(set), {QualityState::random_weights}};
}

bool gives_scores(const Model& model) {
  return model.config.task == Task::classification && model.config.outputs == Outputs::scores;
}

void check_ids(const Model& model, const QualitySet& set, const std::string& file) {
  for (const QualityBatch& batch : set.batches) {
    check_extent(model, batch.extent);
    check_vocabulary(model, batch.ids, file);
  }
}

void check_classes(const LabelledSet& set, std::int64_t classes) {
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    if (set.labels[i] < classes) continue;
    fail_user("{}: label {} is not among the {} classes 0 to {}", set.place_of(i), set.labels[i], classes, classes - 1);
  }
}

void drop_targets(QualitySet& set) {
  for (QualityBatch& batch : set.batches) batch.targets.clear();
}

/// Rows are commonly filled up with the id that ends a text. Which id it is changes no figure where padding is masked.
std::int32_t padding_id(const Tokenizer& tokenizer) {
  const std::vector<std::int32_t> end = tokenizer.encode("<|endoftext|>");
  return end.size() == 1 ? end[0] : 0;
}

QualityData quality_text(const Model& model, const std::string& text, const std::string& name,
                         const QualityRequest& request) {
  unicode::check_utf8(text, request.data.empty() ? name : request.data.string());
  const Tokenizer tokenizer = load_tokenizer(*model.files);
  ProtocolOptions options = request.protocol;
  options.most_tokens = request.protocol.most_tokens.value_or(usual_tokens);
  options.window = std::min(options.window, model.config.context);
  const bool language_model = model.config.task == Task::language_model;
  QualityData data;
  if (!language_model || options.protocol == Protocol::padded_lines) {
    data.set = padded_lines(text, tokenizer, padding_id(tokenizer), options);
  } else {
    data.set = windows(tokenizer.encode(text, name), options);
  }
  if (!language_model) drop_targets(*data.set);
  data.status.state = language_model ? QualityState::scored : QualityState::no_labels;
  data.set->data = data.set->taken == Taken::all
                       ? fmt::format("{}, {} tokens", name, format_count(data.set->tokens))
                       : fmt::format("{}, first {} tokens", name, format_count(data.set->tokens));
  return data;
}

/// Rows are scored whole, all of them where nothing else was asked; of random weights, as much as of a text.
void keep_asked_rows(const Model& model, const QualityRequest& request, QualityData& data) {
  const auto rows_of = [&] {
    std::int64_t rows = 0;
    for (const QualityBatch& batch : data.set->batches) rows += batch.extent.batch;
    return rows;
  };
  const std::int64_t all = rows_of();
  const std::int64_t most = request.protocol.most_tokens.value_or(model.random_weights() ? usual_tokens : 0);
  if (most > 0) keep_first_rows(*data.set, most);
  if (data.set->taken == Taken::all) return;
  data.set->data += fmt::format(", first {} of {} rows, {} tokens", format_count(rows_of()), format_count(all),
                                format_count(data.set->tokens));
}

QualityData from_labelled(const Model& model, const QualityRequest& request) {
  check_classifies(model, request.data.string());
  const LabelledSet set = load_labelled(request.data);
  check_classes(set, model.config.labels);
  QualityData data;
  data.set = sentences(set, load_tokenizer(*model.files), model.config.context, request.protocol.batch);
  data.set->data = shown_name(request.data);
  keep_asked_rows(model, request, data);
  data.status.state = QualityState::scored;
  return data;
}

QualityData from_folder(const Model& model, const QualityRequest& request) {
  const TokenBatch tokens = load_npy_folder(request.data);
  const std::string folder = request.data.string();
  const bool language_model = model.config.task == Task::language_model;
  check_tokens(model, tokens, folder);
  const bool has_row_labels = tokens.labels.size() == static_cast<std::size_t>(tokens.batch);
  if (language_model && has_row_labels && tokens.seq > 1) check_classifies(model, tokens.labels_name);
  if (!language_model && !tokens.labels.empty() && tokens.labels.size() != static_cast<std::size_t>(tokens.batch))
    fail_user("{}: needs one label a row", tokens.labels_name);
  if (!model.random_weights()) check_labels(model, tokens, folder);
  QualityData data;
  data.set = given_tokens(tokens, language_model ? Scored::next_tokens : Scored::labels, request.protocol.batch);
  data.set->data = shown_name(request.data);
  keep_asked_rows(model, request, data);
  data.status.state = language_model || !tokens.labels.empty() ? QualityState::scored : QualityState::no_labels;
  return data;
}

QualityData load(const Model& model, const QualityRequest& request) {
  if (!request.data.empty() && !is_there(find_data(request.data)))
    fail_user("{}: no such file or folder", request.data.string());
  if (!request.data.empty() && is_folder(request.data)) return from_folder(model, request);
  if (model.random_weights() && !request.data.empty()) {
    fail_user(
        "{}: {} is a preset without a tokenizer; leave --data out for random ids, or give a folder of .npy arrays",
        request.data.string(), model.name);
  }
  if (model.random_weights()) return made_up_ids(model, request.seed);
  if (holds_labelled(request.data)) return from_labelled(model, request);
  if (request.data.empty()) return quality_text(model, std::string(bundled_text()), "bundled handbook", request);
  return quality_text(model, load_text(request.data), shown_name(request.data), request);
}

}  // namespace

QualityData quality_data(const Model& model, const QualityRequest& request) {
  QualityData data = load(model, request);
  if (gives_scores(model)) {
    data.set->outputs = Outputs::scores;
    const bool has_labels = data.status.state == QualityState::scored;
    data.status = {QualityState::scores, has_labels ? "labels not scored: they name no classes" : ""};
    drop_targets(*data.set);
  }
  if (model.random_weights()) {
    data.status.state = QualityState::random_weights;
    drop_targets(*data.set);
    if (!request.data.empty())
      data.note = fmt::format(
          "its weights are random, so that no quality follows: precisions are only compared with fp32, on {} "
          "(--tokens 0: on all of it; --quality none: not at all)",
          data.set->data);
  }
  check_ids(model, *data.set, request.data.empty() ? data.set->data : request.data.string());
  if (data.set->batches.empty()) fail_user("{}: holds nothing to score", data.set->data);
  return data;
}

}  // namespace assay
