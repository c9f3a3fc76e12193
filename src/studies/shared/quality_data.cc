#include "studies/shared/quality_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "quality/entities.h"
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

/// What the tokenizer has for a token that is not shown.
std::int32_t mask_id(const Tokenizer& tokenizer, const std::string& model) {
  for (const std::int32_t id : tokenizer.special) {
    const auto token = tokenizer.tokens.find(id);
    if (token != tokenizer.tokens.end() && (token->second == "[MASK]" || token->second == "<mask>")) return id;
  }
  fail_user("{}: its tokenizer has neither [MASK] nor <mask>, which a masked language model is scored with", model);
}

QualitySet masked_text(const Model& model, const std::string& text, const std::string& name,
                       const QualityRequest& request) {
  const Tokenizer tokenizer = load_tokenizer(*model.files);
  const MaskedAs masked = {mask_id(tokenizer, model.name), tokenizer.prefix, tokenizer.suffix};
  ProtocolOptions options = request.protocol;
  options.most_tokens = request.protocol.most_tokens.value_or(usual_masked_tokens);
  options.window = std::min(options.window, model.config.context);
  if (options.protocol == Protocol::padded_lines) return masked_lines(text, tokenizer, masked, options);
  if (options.protocol == Protocol::stride)
    fail_user("--protocol stride: {} is a masked language model; window and padded-lines are its protocols",
              model.name);
  const std::vector<std::int32_t> ids = tokenizer.encode(text, name);
  return masked_windows(
      std::span(ids).subspan(masked.before.size(), ids.size() - masked.before.size() - masked.after.size()), masked,
      options);
}

QualitySet text_rows(const Model& model, const std::string& text, const std::string& name,
                     const QualityRequest& request) {
  const Tokenizer tokenizer = load_tokenizer(*model.files);
  ProtocolOptions options = request.protocol;
  options.most_tokens = request.protocol.most_tokens.value_or(usual_tokens);
  options.window = std::min(options.window, model.config.context);
  if (model.config.task != Task::language_model || options.protocol == Protocol::padded_lines)
    return padded_lines(text, tokenizer, padding_id(tokenizer), options);
  return windows(tokenizer.encode(text, name), options);
}

QualityData quality_text(const Model& model, const std::string& text, const std::string& name,
                         const QualityRequest& request) {
  unicode::check_utf8(text, request.data.empty() ? name : request.data.string());
  const bool is_masked = model.config.task == Task::masked_language_model && request.rows_for == RowsFor::scores;
  QualityData data;
  data.set = is_masked ? masked_text(model, text, name, request) : text_rows(model, text, name, request);
  const bool has_targets = is_masked || model.config.task == Task::language_model;
  if (!has_targets) drop_targets(*data.set);
  data.status.state = has_targets ? QualityState::scored : QualityState::no_labels;
  data.set->data = data.set->taken == Taken::all
                       ? fmt::format("{}, {} tokens", name, format_count(data.set->tokens))
                       : fmt::format("{}, first {} tokens", name, format_count(data.set->tokens));
  return data;
}

/// Rows are scored whole, all of them where nothing else was asked; of random weights, as much as of a text.
void keep_asked_rows(const Model& model, const QualityRequest& request, QualityData& data) {
  const std::int64_t all = row_count(*data.set);
  const std::int64_t most = request.protocol.most_tokens.value_or(model.random_weights() ? usual_tokens : 0);
  if (most > 0) keep_first_rows(*data.set, most);
  if (data.set->taken == Taken::all) return;
  data.set->data += fmt::format(", first {} of {} rows, {} tokens", format_count(row_count(*data.set)),
                                format_count(all), format_count(data.set->tokens));
}

/// Words with tags are a token classifier's.
QualityData from_tagged(const Model& model, const QualityRequest& request) {
  const std::string file = request.data.string();
  if (model.config.task != Task::token_classification)
    fail_user("{}: tagged words need a token classifier, {} is a {}", file, model.name, name(model.config.task));
  const TaggedSet set = load_tagged(request.data, model.config.label_names);
  for (const TaggedSet::Row& row : set.rows) {
    for (const std::int32_t tag : row.tags) {
      if (tag >= model.config.labels)
        fail_user("{}: tag {} is not among the {} classes 0 to {}", row.place, tag, model.config.labels,
                  model.config.labels - 1);
    }
  }
  QualityData data;
  data.set = tagged_words(set, load_tokenizer(*model.files), model.config.context, request.protocol.batch);
  if (are_entity_tags(model.config.label_names)) data.set->entity_tags = model.config.label_names;
  data.set->data = shown_name(request.data);
  keep_asked_rows(model, request, data);
  data.status.state = QualityState::scored;
  return data;
}

QualityData from_labelled(const Model& model, const QualityRequest& request) {
  const bool compares = model.config.task == Task::embedding;
  if (!compares) check_classifies(model, request.data.string());
  const LabelKind kind = compares || gives_scores(model) ? LabelKind::numbers : LabelKind::classes;
  const LabelledSet set = load_labelled(request.data, kind, model.config.label_names);
  if (compares && !set.has_pairs()) check_classifies(model, request.data.string());
  check_classes(set, model.config.labels);
  const auto cut_by = compares ? sentences_apart : sentences;
  QualityData data;
  data.set = cut_by(set, load_tokenizer(*model.files), model.config.context, request.protocol.batch);
  data.set->data = shown_name(request.data);
  keep_asked_rows(model, request, data);
  data.status.state = QualityState::scored;
  return data;
}

Scored scored_of(Task task) {
  if (task == Task::language_model) return Scored::next_tokens;
  return labels_tokens(task) ? Scored::token_labels : Scored::labels;
}

QualityData from_folder(const Model& model, const QualityRequest& request) {
  const TokenBatch tokens = load_npy_folder(request.data);
  const std::string folder = request.data.string();
  const Task task = model.config.task;
  check_tokens(model, tokens, folder);
  const bool has_row_labels = tokens.labels.size() == static_cast<std::size_t>(tokens.batch);
  if (task == Task::language_model && has_row_labels && tokens.seq > 1) check_classifies(model, tokens.labels_name);
  if (task != Task::language_model) check_label_count(model, tokens, folder);
  if (!model.random_weights()) check_labels(model, tokens, folder);
  QualityData data;
  data.set = given_tokens(tokens, scored_of(task), request.protocol.batch);
  if (task == Task::masked_language_model && !tokens.labels.empty()) data.set->judged = Judged::masked_classes;
  data.set->data = shown_name(request.data);
  keep_asked_rows(model, request, data);
  const bool has_targets = task == Task::language_model || !tokens.labels.empty();
  data.status.state = has_targets ? QualityState::scored : QualityState::no_labels;
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
  if (holds_tagged(request.data)) return from_tagged(model, request);
  if (holds_labelled(request.data)) return from_labelled(model, request);
  if (request.data.empty()) return quality_text(model, std::string(bundled_text()), "bundled handbook", request);
  return quality_text(model, load_text(request.data), shown_name(request.data), request);
}

}  // namespace

QualityData quality_data(const Model& model, const QualityRequest& request) {
  QualityData data = load(model, request);
  if (gives_scores(model)) {
    data.set->judged = Judged::scores;
    const bool has_classes = data.status.state == QualityState::scored && data.set->numbers.empty();
    data.status = {QualityState::scores, has_classes ? "labels not scored: they name no classes" : ""};
    drop_targets(*data.set);
  }
  if (data.set->judged == Judged::similarities) data.status = {QualityState::scores, ""};
  if (model.random_weights()) {
    data.status.state = QualityState::random_weights;
    drop_targets(*data.set);
    if (!request.data.empty())
      data.note = fmt::format(
          "its weights are random, so that no quality follows: precisions are only compared with fp32, on {} "
          "(--tokens 0: on all of it; --quality none: not at all)",
          data.set->data);
  }
  const std::string file = request.data.empty() ? data.set->data : request.data.string();
  check_ids(model, *data.set, file);
  settle_token_types(model, *data.set, file);
  if (data.set->batches.empty()) fail_user("{}: holds nothing to score", data.set->data);
  return data;
}

void settle_token_types(const Model& model, QualitySet& set, const std::string& file) {
  for (QualityBatch& batch : set.batches) {
    if (model.config.token_types == 0) batch.token_types.clear();
    check_token_types(model, batch.token_types, file);
  }
}

EngineOptions engine_for(const QualitySet& set, EngineOptions engine) {
  const bool has_types = !set.batches.empty() && !set.batches.front().token_types.empty();
  engine.program.token_types = has_types ? TokenTypes::given : TokenTypes::zero;
  return engine;
}

}  // namespace assay
