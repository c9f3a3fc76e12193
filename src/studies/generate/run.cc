#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "model/end_ids.h"
#include "program/passes.h"
#include "studies/generate/request.h"
#include "studies/shared/cached.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace assay {
namespace {

/// What the rows begin with, and what turns new ids into text; no tokenizer where ids were given.
struct Prompts {
  std::vector<std::vector<std::int32_t>> rows;
  std::optional<Tokenizer> tokenizer;
};

Tokenizer prompt_tokenizer(const Model& model) {
  if (!model.files)
    fail_user("{}: a preset has no tokenizer: --tokens takes ids, a model's folder or file takes text", model.name);
  return load_tokenizer(*model.files);
}

/// The real ids of each row.
std::vector<std::vector<std::int32_t>> without_padding(const TokenBatch& batch, const std::string& file) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(batch.batch));
  for (std::size_t i = 0; i < batch.input_ids.size(); ++i) {
    if (batch.attention_mask.empty() || batch.attention_mask[i] != 0)
      rows[i / static_cast<std::size_t>(batch.seq)].push_back(batch.input_ids[i]);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].empty()) fail_user("{}: row {} has no real id to go on from", file, row);
  }
  return rows;
}

/// Each text as what a user says, in the words of the model's template, which has the special tokens already.
void make_conversations(const GenerateRequest& request, const Model& model, std::vector<std::string>& texts,
                        Tokenizer& tokenizer) {
  const ChatTemplate chat = load_chat_template(*model.files);
  ChatOptions options;
  if (request.enable_thinking) options.variables.emplace_back("enable_thinking", *request.enable_thinking);
  if (request.enable_thinking && chat.source.find("enable_thinking") == std::string::npos)
    fail_user("--thinking: the chat template in {} asks for no enable_thinking; drop it", chat.name);
  for (std::string& text : texts) {
    ChatMessages messages = ChatMessages::array();
    if (!request.system.empty()) messages.push_back({{"role", "system"}, {"content", request.system}});
    messages.push_back({{"role", "user"}, {"content", text}});
    text = render_chat(chat, messages, options);
  }
  tokenizer.prefix.clear();
  tokenizer.suffix.clear();
}

Prompts read_prompts(const GenerateRequest& request, const Model& model) {
  const PromptSources& from = request.prompts;
  const int given =
      (from.texts.empty() ? 0 : 1) + (from.text_file.empty() ? 0 : 1) + (from.tokens_file.empty() ? 0 : 1);
  if (given != 1) fail_user("one of --prompt, --prompt-file and --tokens is needed, {} were given", given);
  if (!from.tokens_file.empty()) {
    if (request.chat == Chat::on) fail_user("--chat: takes text, not the ids of --tokens");
    const TokenBatch batch = load_token_json(from.tokens_file);
    check_tokens(model, batch, from.tokens_file.string());
    check_padding(batch, from.tokens_file.string());
    return {without_padding(batch, from.tokens_file.string()), std::nullopt};
  }
  Prompts prompts = {{}, prompt_tokenizer(model)};
  std::vector<std::string> texts = from.texts;
  if (texts.empty()) texts.push_back(read_file(from.text_file));
  if (request.chat == Chat::on) make_conversations(request, model, texts, *prompts.tokenizer);
  const std::string name = from.text_file.empty() ? "--prompt" : from.text_file.string();
  for (const std::string& text : texts) {
    prompts.rows.push_back(prompts.tokenizer->encode(text, name));
    if (prompts.rows.back().empty()) fail_user("{}: gives no token to go on from", name);
    check_vocabulary(model, prompts.rows.back(), model.files->string());
  }
  return prompts;
}

std::int64_t longest_row(const std::vector<std::vector<std::int32_t>>& rows) {
  std::size_t most = 0;
  for (const auto& row : rows) most = std::max(most, row.size());
  return static_cast<std::int64_t>(most);
}

void refuse_long(const Model& model, std::int64_t prompt, std::int64_t most_new) {
  if (model.config.task != Task::language_model)
    fail_user("{}: is a {}: only a language model goes on with a text", model.name, name(model.config.task));
  if (prompt + most_new > model.config.context)
    fail_user("{}: {} tokens of the prompt and {} new ones are more than the model's context of {}", model.name, prompt,
              most_new, model.config.context);
}

/// The cache is the one thing that its user chooses the size of.
void refuse_large_cache(const Instance& instance, std::int64_t rows, std::int64_t tokens) {
  const std::int64_t bytes = missing_state_bytes(instance.program(), State(instance.device()), {.batch = rows});
  const std::int64_t available = instance.facts().available_bytes;
  if (available <= 0 || bytes <= available) return;
  throw OutOfMemory(fmt::format("memory: the cache of {} x {} tokens takes {}, {} are available", rows, tokens,
                                format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(available))),
                    static_cast<double>(bytes), static_cast<double>(available));
}

/// The text of each row that is certain, as its ids come.
class Texts {
 public:
  Texts(const Tokenizer& tokenizer, std::size_t rows, const GenerateCallbacks& callbacks) : callbacks_(callbacks) {
    streams_.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) streams_.emplace_back(tokenizer);
  }
  void add(std::int64_t row, std::int32_t id) { tell(row, streams_[static_cast<std::size_t>(row)].add(id)); }
  void finish() {
    for (std::size_t row = 0; row < streams_.size(); ++row)
      tell(static_cast<std::int64_t>(row), streams_[row].finish());
  }

 private:
  void tell(std::int64_t row, const std::string& text) {
    if (!text.empty()) callbacks_.text(row, text);
  }

  const GenerateCallbacks& callbacks_;
  std::vector<TextStream> streams_;
};

}  // namespace

Generated generate_text(const GenerateRequest& request, const MachineFacts& facts, const GenerateCallbacks& callbacks) {
  const Model model = open_model(request.model, request.model_options);
  const Prompts prompts = read_prompts(request, model);
  const std::int64_t rows = std::ssize(prompts.rows);
  const std::int64_t prompt = longest_row(prompts.rows);
  refuse_long(model, prompt, request.most_new);

  GenerationOptions options;
  options.prompts = prompts.rows;
  options.most_new = request.most_new;
  if (model.files) options.end_ids = end_ids(*model.files);
  options.sampling = request.sampling;
  options.logprobs = request.logprobs;
  options.seed = request.model_options.seed;
  options.interrupted = callbacks.interrupted;

  EngineOptions engine = request.engine;
  engine.cache = {.capacity = prompt + request.most_new, .chunk = std::min(options.chunk, prompt)};
  engine.program.logits = LogitRows::last;
  const auto instance = make_instance(model, request.precision, engine, facts);
  refuse_large_cache(*instance, rows, engine.cache->capacity);
  Session session(*instance, {.batch = rows, .capacity = engine.cache->capacity, .graphs = engine.graphs});

  std::optional<Texts> texts;
  if (prompts.tokenizer && callbacks.text) {
    texts.emplace(*prompts.tokenizer, prompts.rows.size(), callbacks);
    options.told = [&](std::int64_t row, std::int32_t id) { texts->add(row, id); };
  }
  Generated result;
  result.generation = generate(session, options);
  result.texts.reserve(prompts.rows.size());
  result.prompt_tokens.reserve(prompts.rows.size());
  if (texts) texts->finish();
  for (const auto& ids : result.generation.sequences) {
    if (prompts.tokenizer) result.texts.push_back(prompts.tokenizer->decode(ids));
  }
  for (const auto& row : prompts.rows) result.prompt_tokens.push_back(std::ssize(row));
  result.cache_bytes = session.cache_bytes();
  result.peak_bytes =
      session.plan_for(options.chunk < prompt ? options.chunk : prompt).peak_bytes() + result.cache_bytes;
  result.precision = precision_title(request.precision, instance->precision());
  return result;
}

}  // namespace assay
