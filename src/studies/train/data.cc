#include "studies/train/data.h"

#include "base/error.h"
#include "base/hash.h"
#include "quality/loss.h"
#include "quality/protocols.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/training_step.h"
#include "text/data_file.h"
#include "text/data_set_name.h"
#include "text/tokenizer.h"

namespace assay {
namespace {

TrainingData from_tokens(const TrainRequest& request, const Model& model) {
  const TokenBatch batch = load_token_json(request.tokens);
  check_tokens(model, batch, request.tokens.string());
  TrainingBatch made = training_batch(model, batch, request.tokens.string());
  if (counted_labels(made) == 0) fail_user("{}: no label counts, nothing can be learnt", request.tokens.string());
  return one_batch(std::move(made));
}

Tokenizer tokenizer_of(const Model& model, const std::string& file) {
  if (!model.files) fail_user("{}: {} is a preset without a tokenizer; --bytes reads bytes as ids", file, model.name);
  return load_tokenizer(*model.files);
}

/// Every byte is an id: what a model without a tokenizer can be trained on.
std::vector<std::int32_t> byte_ids(const std::string& text, const Model& model) {
  constexpr std::int64_t byte_values = 256;
  if (model.config.vocab_size < byte_values)
    fail_user("--bytes: {} has {} ids, bytes need {}", model.name, model.config.vocab_size, byte_values);
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// The ids of a text, all inside the vocabulary.
std::vector<std::int32_t> text_ids(const std::filesystem::path& path, Reading reading, const Model& model) {
  const std::string file = path.string();
  const std::string text = load_text(path);
  if (text.empty()) fail_user("{}: is empty", file);
  const bool are_bytes = reading == Reading::bytes || !model.files.has_value();
  std::vector<std::int32_t> ids = are_bytes ? byte_ids(text, model) : tokenizer_of(model, file).encode(text, file);
  check_vocabulary(model, ids, file);
  return ids;
}

TrainingData training_text(const TrainRequest& request, const Model& model, const TrainCallbacks& callbacks) {
  if (holds_labelled(request.data)) check_classifies(model, request.data.string());
  const Extent extent = {request.batch, request.seq};
  check_extent(model, extent);
  if (!model.files.has_value() && callbacks.say)
    callbacks.say(
        fmt::format("{} is a preset without a tokenizer: it is trained on the bytes of the text", model.name));
  return random_windows(text_ids(request.data, request.reading, model), extent, request.model_options.seed,
                        request.data.string());
}

TokenisedSet labelled(const std::filesystem::path& file, const Model& model) {
  TokenisedSet set =
      tokenise(load_labelled(file, LabelKind::classes, model.config.label_names), tokenizer_of(model, file.string()),
               {model.config.context, model.config.labels}, file.string());
  for (const std::vector<std::int32_t>& ids : set.ids) check_vocabulary(model, ids, file.string());
  if (model.config.token_types == 0) set.types.clear();
  for (const std::vector<std::int32_t>& types : set.types) check_token_types(model, types, file.string());
  return set;
}

TrainingData from_sentences(const TrainRequest& request, const Model& model) {
  TrainingData data =
      labelled_batches(labelled(request.data, model), request.batch, model.config.context, request.model_options.seed);
  data.words = request.data.string() + ", " + data.words;
  return data;
}

/// Windows as long as those that are trained on, one behind the other: every id but the first of each is scored.
QualitySet text_to_score(const TrainRequest& request, const Model& model) {
  if (holds_labelled(request.eval)) check_classifies(model, request.eval.string());
  const std::vector<std::int32_t> ids = text_ids(request.eval, request.reading, model);
  QualitySet set = windows(ids, {.window = request.seq, .batch = request.batch});
  if (set.batches.empty()) fail_user("{}: holds nothing to score", request.eval.string());
  return set;
}

QualitySet sentences_to_score(const TrainRequest& request, const Model& model) {
  constexpr std::int64_t rows_at_a_time = 32;
  labelled(request.eval, model);  // for its errors
  QualitySet set = sentences(load_labelled(request.eval, LabelKind::classes, model.config.label_names),
                             tokenizer_of(model, request.eval.string()), model.config.context, rows_at_a_time);
  settle_token_types(model, set, request.eval.string());
  return set;
}

void check_request(const TrainRequest& request, const Model& model) {
  if (request.tokens.empty() == request.data.empty())
    fail_user("train: --data TEXT or --tokens F.json is needed, one of the two");
  const bool classifies = model.config.task == Task::classification;
  if (!request.eval.empty() && !request.tokens.empty())
    fail_user("--eval: goes with --data; nothing is held out from one batch of --tokens");
  if (model.config.task == Task::embedding)
    fail_user("{}: an embedding model has no loss; --labels N gives it a classification head", model.name);
  const bool has_own_labels = !classifies && model.config.task != Task::language_model;
  if (has_own_labels && request.tokens.empty())
    fail_user("{}: a {} is trained on --tokens with one label a token; --labels N gives it a classification head",
              model.name, name(model.config.task));
}

}  // namespace

TrainInput train_input(const TrainRequest& request, const Model& model, const TrainCallbacks& callbacks) {
  check_request(request, model);
  TrainInput input;
  const bool classifies = model.config.task == Task::classification;
  if (!request.tokens.empty()) {
    input.data = from_tokens(request, model);
  } else if (classifies) {
    input.data = from_sentences(request, model);
  } else {
    input.data = training_text(request, model, callbacks);
  }
  if (!request.eval.empty())
    input.eval = classifies ? sentences_to_score(request, model) : text_to_score(request, model);
  input.identity = sha256_file(request.tokens.empty() ? find_data(request.data) : request.tokens);
  if (input.eval) input.eval_identity = sha256_file(find_data(request.eval));
  if (input.eval_identity == input.identity && callbacks.say)
    callbacks.say(fmt::format("--eval {}: is what is trained on, nothing is held out", request.eval.string()));
  return input;
}

}  // namespace assay
