// The normaliser, pre-tokenizer and post-processor of a tokenizer.json.
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/tokenizer_parts.h"

namespace assay {
namespace {

constexpr const char* contractions_llama3 = R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)re";
constexpr const char* spaces_llama3 = R"re(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* expression_gpt2 =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";

std::string type_of(const Json& object, const char* what, const std::string& name) {
  const std::string type = text(object, "type", "", name);
  if (type.empty()) fail_user("{}: the {} has no 'type'", name, what);
  return type;
}

/// Members of a Sequence, under the key that holds them.
const Json& parts_of(const Json& object, const char* key, const std::string& name) {
  const Json& parts = member(object, key, name);
  if (!parts.is_array()) fail_user("{}: a Sequence has no list '{}'", name, key);
  return parts;
}

NormalizerStep read_bert_normalizer(const Json& object, const std::string& name) {
  NormalizerStep step;
  step.clean_text = flag(object, "clean_text", true, name);
  step.pad_cjk = flag(object, "handle_chinese_chars", true, name);
  step.lowercase = flag(object, "lowercase", true, name);
  step.strip_marks = flag(object, "strip_accents", step.lowercase, name);
  step.decompose = step.strip_marks;
  return step;
}

Splitter read_expression(const Json& object, const std::string& name) {
  const std::string expression = text(member(object, "pattern", name), "Regex", "", name);
  if (text(object, "behavior", "", name) != "Isolated" || flag(object, "invert", false, name)) {
    fail_user("{}: the pre_tokenizer Split is supported with behavior Isolated and without invert only", name);
  }
  if (expression == expression_gpt2) return Splitter::gpt2;
  if (expression == std::string(contractions_llama3) + R"(\p{N}{1,3})" + spaces_llama3) return Splitter::llama3;
  if (expression == std::string(contractions_llama3) + R"(\p{N})" + spaces_llama3) return Splitter::qwen2;
  fail_user("{}: the pre_tokenizer Split has an expression that is not supported: '{}'", name, printable(expression));
}

SplitStep read_split_step(const Json& object, const std::string& type, const std::string& name) {
  if (type == "BertPreTokenizer") return {Splitter::bert};
  if (type == "Split") return {read_expression(object, name)};
  if (type == "Digits")
    return {flag(object, "individual_digits", false, name) ? Splitter::digits : Splitter::digit_runs};
  if (type != "ByteLevel") fail_user("{}: the pre_tokenizer '{}' is not supported", name, printable(type));
  const bool split = flag(object, "use_regex", true, name);
  return {split ? Splitter::gpt2 : Splitter::whole, flag(object, "add_prefix_space", true, name)};
}

void append_pre_tokenizer(PreTokenizer& made, const Json& object, const std::string& name) {
  const std::string type = type_of(object, "pre_tokenizer", name);
  if (type == "Sequence") {
    for (const Json& part : parts_of(object, "pretokenizers", name)) append_pre_tokenizer(made, part, name);
    return;
  }
  if (made.byte_level) fail_user("{}: the pre_tokenizer '{}' after ByteLevel is not supported", name, printable(type));
  made.splits.push_back(read_split_step(object, type, name));
  made.byte_level = type == "ByteLevel";
}

/// Ids that the post-processor names, checked against the vocabulary.
std::vector<std::int32_t> read_ids(const Json& list, const Tokenizer& tokenizer, const std::string& name) {
  if (!list.is_array()) fail_user("{}: a special token of the post_processor has no list 'ids'", name);
  std::vector<std::int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(tokenizer.largest_id)) {
      fail_user("{}: the post_processor has the id {}, the largest is {}", name, printable(id.dump(), 40),
                tokenizer.largest_id);
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

/// One piece of a template: a special token, or the text, after which special tokens are the suffix.
void read_template_piece(const Json& piece, const Json& specials, Tokenizer& tokenizer, int& texts,
                         const std::string& name) {
  const Json& special = member(piece, "SpecialToken", name);
  if (!special.is_null()) {
    const std::string token = text(special, "id", "", name);
    const Json& entry = member(specials, token.c_str(), name);
    if (entry.is_null()) fail_user("{}: the post_processor's special_tokens lack '{}'", name, printable(token));
    const std::vector<std::int32_t> ids = read_ids(member(entry, "ids", name), tokenizer, name);
    std::vector<std::int32_t>& place = texts == 0 ? tokenizer.prefix : tokenizer.suffix;
    place.insert(place.end(), ids.begin(), ids.end());
    return;
  }
  const Json& sequence = member(piece, "Sequence", name);
  if (text(sequence, "id", "", name) != "A") fail_user("{}: the post_processor's template is not about one text", name);
  ++texts;
}

void read_template(Tokenizer& tokenizer, const Json& object, const std::string& name) {
  const Json& single = member(object, "single", name);
  if (!single.is_array()) fail_user("{}: the post_processor has no list 'single'", name);
  int texts = 0;
  for (const Json& piece : single) {
    read_template_piece(piece, member(object, "special_tokens", name), tokenizer, texts, name);
  }
  if (texts != 1) fail_user("{}: the post_processor's template has the text {} times, once is needed", name, texts);
}

/// ["[SEP]", 102]
std::vector<std::int32_t> read_token_pair(const Json& object, const char* key, const Tokenizer& tokenizer,
                                          const std::string& name) {
  const Json& pair = member(object, key, name);
  if (!pair.is_array() || pair.size() != 2) fail_user("{}: the post_processor's '{}' is not [token, id]", name, key);
  return read_ids(Json::array({pair[1]}), tokenizer, name);
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const Json& object, const std::string& name) {
  if (object.is_null()) return {};
  const std::string type = type_of(object, "normalizer", name);
  if (type == "BertNormalizer") return {read_bert_normalizer(object, name)};
  if (type == "Lowercase") return {NormalizerStep{.lowercase = true}};
  if (type == "NFD") return {NormalizerStep{.decompose = true}};
  if (type != "Sequence") fail_user("{}: the normalizer '{}' is not supported", name, printable(type));
  std::vector<NormalizerStep> steps;
  for (const Json& part : parts_of(object, "normalizers", name)) {
    const auto more = read_normalizer(part, name);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

PreTokenizer read_pre_tokenizer(const Json& object, const std::string& name) {
  PreTokenizer made;
  if (!object.is_null()) append_pre_tokenizer(made, object, name);
  return made;
}

void read_post_processor(Tokenizer& tokenizer, const Json& object, const std::string& name) {
  if (object.is_null()) return;
  const std::string type = type_of(object, "post_processor", name);
  if (type == "ByteLevel") return;
  if (!tokenizer.prefix.empty() || !tokenizer.suffix.empty()) {
    fail_user("{}: a post_processor '{}' after another one that adds tokens is not supported", name, printable(type));
  }
  if (type == "TemplateProcessing") return read_template(tokenizer, object, name);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    tokenizer.prefix = read_token_pair(object, "cls", tokenizer, name);
    tokenizer.suffix = read_token_pair(object, "sep", tokenizer, name);
    return;
  }
  if (type != "Sequence") fail_user("{}: the post_processor '{}' is not supported", name, printable(type));
  for (const Json& part : parts_of(object, "processors", name)) read_post_processor(tokenizer, part, name);
}

}  // namespace assay
