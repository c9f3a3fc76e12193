#include "experiments/quality_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/units.h"
#include "experiments/random_ids.h"
#include "quality/loss.h"
#include "text/bundled.h"
#include "text/tokenizer.h"

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
  return {std::move(set), "random weights"};
}

void check_ids(const Model& model, const QualitySet& set, const std::string& file) {
  for (const QualityBatch& batch : set.batches) {
    check_tokens(model, {batch.extent.batch, batch.extent.seq, batch.ids, batch.mask, {}}, file);
    for (const std::int32_t target : batch.targets) {
      const std::int64_t classes =
          model.config.task == Task::classification ? model.config.labels : model.config.vocab_size;
      if (target != ignored_label && (target < 0 || target >= classes))
        fail_user("{}: label {} is not among the model's {}", file, target, classes);
    }
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

QualityData from_text(const Model& model, const std::string& text, const std::string& name,
                      const BenchRequest& request) {
  const Tokenizer tokenizer = load_tokenizer(*model.files);
  ProtocolOptions options = request.protocol;
  options.window = std::min(options.window, model.config.context);
  const bool language_model = model.config.task == Task::language_model;
  QualityData data;
  if (!language_model || options.protocol == Protocol::padded_lines) {
    data.set = padded_lines(text, tokenizer, padding_id(tokenizer), options);
  } else {
    data.set = windows(tokenizer.encode(text, name), options);
  }
  if (!language_model) drop_targets(*data.set);
  data.status = language_model ? "scored" : "no labels";
  data.set->data = data.set->taken == Taken::all
                       ? fmt::format("{}, {} tokens", name, format_count(data.set->tokens))
                       : fmt::format("{}, first {} tokens", name, format_count(data.set->tokens));
  return data;
}

QualityData from_labelled(const Model& model, const BenchRequest& request) {
  const std::string name = request.data.string();
  if (model.config.task != Task::classification)
    fail_user("{}: labelled sentences need a classifier, {} is a {}", name, model.name, assay::name(model.config.task));
  QualityData data;
  data.set = sentences(load_labelled_tsv(request.data), load_tokenizer(*model.files), model.config.context,
                       request.protocol.batch);
  data.set->data = request.data.filename().string();
  data.status = "scored";
  return data;
}

QualityData from_folder(const Model& model, const BenchRequest& request) {
  const TokenBatch tokens = load_npy_folder(request.data);
  const bool language_model = model.config.task == Task::language_model;
  QualityData data;
  data.set = given_tokens(tokens, language_model ? Scored::next_tokens : Scored::labels, request.protocol.batch);
  data.set->data = request.data.filename().string();
  data.status = language_model || !tokens.labels.empty() ? "scored" : "no labels";
  return data;
}

QualityData load(const Model& model, const BenchRequest& request) {
  if (!request.data.empty() && !is_there(request.data)) fail_user("{}: no such file or folder", request.data.string());
  if (!request.data.empty() && is_folder(request.data)) return from_folder(model, request);
  if (model.random_weights() && !request.data.empty()) {
    fail_user(
        "{}: {} is a preset without a tokenizer; leave --data out for random ids, or give a folder of .npy arrays",
        request.data.string(), model.name);
  }
  if (model.random_weights()) return made_up_ids(model, request.model_options.seed);
  if (request.data.extension() == ".tsv") return from_labelled(model, request);
  if (request.data.empty()) return from_text(model, std::string(bundled_text()), "bundled handbook", request);
  return from_text(model, read_file(request.data), request.data.filename().string(), request);
}

}  // namespace

QualityData quality_data(const Model& model, const BenchRequest& request) {
  if (request.quality == QualityMode::none) return {std::nullopt, "not asked"};
  QualityData data = load(model, request);
  if (model.random_weights()) {
    data.status = "random weights";
    drop_targets(*data.set);
  }
  check_ids(model, *data.set, request.data.empty() ? data.set->data : request.data.string());
  if (data.set->batches.empty()) fail_user("{}: holds nothing to score", data.set->data);
  return data;
}

}  // namespace assay
