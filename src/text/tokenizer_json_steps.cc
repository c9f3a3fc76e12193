// The normaliser, pre-tokenizer and decoder of a tokenizer.json.
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

/// One of a few words; `values` stand beside `words`.
template <typename Value, std::size_t count>
Value one_of(const std::string& word, const std::pair<const char*, Value> (&known)[count], const std::string& what) {
  for (const auto& [name, value] : known) {
    if (word == name) return value;
  }
  fail_user("{}: '{}' is not known", what, printable(word));
}

NormalizerStep read_bert_normalizer(const Json& object, const std::string& name) {
  CharacterStep step;
  step.clean_text = flag(object, "clean_text", true, name);
  step.pad_cjk = flag(object, "handle_chinese_chars", true, name);
  step.lowercase = flag(object, "lowercase", true, name);
  step.strip_marks = flag(object, "strip_accents", step.lowercase, name);
  if (step.strip_marks) step.decomposed = CharacterStep::Form::canonical;
  return step;
}

NormalizerStep read_normalizer_step(const Json& object, const std::string& type, const std::string& name) {
  using Form = CharacterStep::Form;
  if (type == "BertNormalizer") return read_bert_normalizer(object, name);
  if (type == "Lowercase") return CharacterStep{.lowercase = true};
  if (type == "NFD") return CharacterStep{.decomposed = Form::canonical};
  if (type == "NFKD") return CharacterStep{.decomposed = Form::compatible};
  if (type == "NFC") return CharacterStep{.decomposed = Form::canonical, .composed = true};
  if (type == "NFKC") return CharacterStep{.decomposed = Form::compatible, .composed = true};
  if (type == "Nmt") return CharacterStep{.clean_nmt = true};
  if (type == "StripAccents") return CharacterStep{.strip_accents = true};
  if (type == "Prepend") return Prepend{text(object, "prepend", "", name)};
  if (type == "Replace") return Replacement{read_pattern(object, name), text(object, "content", "", name)};
  if (type == "Strip") {
    return Trim{.left = flag(object, "strip_left", true, name), .right = flag(object, "strip_right", true, name)};
  }
  if (type != "Precompiled") fail_user("{}: the normalizer '{}' is not supported", name, printable(type));
  const std::string place = name + ": precompiled_charsmap";
  return read_character_map(from_base64(text(object, "precompiled_charsmap", "", name), place), place);
}

Behaviour read_behaviour(const Json& object, const char* fallback, const std::string& name) {
  constexpr std::pair<const char*, Behaviour> known[] = {{"Isolated", Behaviour::isolated},
                                                         {"Removed", Behaviour::removed},
                                                         {"MergedWithPrevious", Behaviour::merged_with_previous},
                                                         {"MergedWithNext", Behaviour::merged_with_next},
                                                         {"Contiguous", Behaviour::contiguous}};
  return one_of(text(object, "behavior", fallback, name), known, name + ": the behavior of a pre_tokenizer");
}

SplitStep read_split(const Json& object, const std::string& name) {
  const Behaviour behaviour = read_behaviour(object, "", name);
  const bool inverted = flag(object, "invert", false, name);
  const std::string source = text(member(object, "pattern", name), "Regex", "", name);
  if (behaviour == Behaviour::isolated && !source.empty()) return split_step_of(source, name);
  return {.expression = read_pattern(object, name), .behaviour = behaviour, .inverted = inverted};
}

SplitStep read_metaspace(const Json& object, const std::string& name) {
  constexpr std::pair<const char*, PrefixSpace> known[] = {
      {"always", PrefixSpace::always}, {"first", PrefixSpace::first}, {"never", PrefixSpace::never}};
  SplitStep step{.space = text(object, "replacement", "", name)};
  step.prefix =
      one_of(text(object, "prepend_scheme", "always", name), known, name + ": the prepend_scheme of Metaspace");
  if (!flag(object, "add_prefix_space", true, name) && step.prefix != PrefixSpace::never) {
    fail_user("{}: Metaspace has add_prefix_space false and another prepend_scheme than never", name);
  }
  if (step.space.empty()) fail_user("{}: Metaspace has no 'replacement'", name);
  if (!flag(object, "split", true, name)) return step;
  step.expression = Expression::of_text(step.space);
  step.behaviour = Behaviour::merged_with_next;
  return step;
}

/// Cuts at every character with the property.
SplitStep cut_at(unicode::Property property, Behaviour behaviour) {
  return {.expression = Expression(property), .behaviour = behaviour};
}

SplitStep read_byte_level(const Json& object, const std::string& name) {
  const bool prefix = flag(object, "add_prefix_space", true, name);
  return {.splitter = flag(object, "use_regex", true, name) ? Splitter::gpt2 : Splitter::whole,
          .prefix = prefix ? PrefixSpace::always : PrefixSpace::never};
}

SplitStep read_delimiter(const Json& object, const std::string& name) {
  const std::string delimiter = text(object, "delimiter", "", name);
  if (delimiter.empty()) fail_user("{}: CharDelimiterSplit has no 'delimiter'", name);
  return {.expression = Expression::of_text(delimiter), .behaviour = Behaviour::removed};
}

SplitStep read_split_step(const Json& object, const std::string& type, const std::string& name) {
  if (type == "BertPreTokenizer") return {Splitter::bert};
  if (type == "Split") return read_split(object, name);
  if (type == "Metaspace") return read_metaspace(object, name);
  if (type == "ByteLevel") return read_byte_level(object, name);
  if (type == "Whitespace") return {Splitter::words};
  if (type == "WhitespaceSplit") return cut_at(unicode::white, Behaviour::removed);
  if (type == "Punctuation") return cut_at(unicode::punctuation, read_behaviour(object, "Isolated", name));
  if (type == "CharDelimiterSplit") return read_delimiter(object, name);
  if (type != "Digits") fail_user("{}: the pre_tokenizer '{}' is not supported", name, printable(type));
  return {flag(object, "individual_digits", false, name) ? Splitter::digits : Splitter::digit_runs};
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

StripDecoder read_strip_decoder(const Json& object, const std::string& name) {
  StripDecoder made{.character = text(object, "content", "", name)};
  if (made.character.empty()) fail_user("{}: the decoder Strip has no 'content'", name);
  made.start = static_cast<std::size_t>(integer(object, "start", 0, name));
  made.stop = static_cast<std::size_t>(integer(object, "stop", 0, name));
  return made;
}

DecoderStep read_decoder_step(const Json& object, const std::string& type, const std::string& name) {
  if (type == "ByteLevel") return ByteLevelDecoder{};
  if (type == "ByteFallback") return ByteFallbackDecoder{};
  if (type == "Fuse") return FuseDecoder{};
  if (type == "WordPiece") {
    return WordPieceDecoder{.prefix = text(object, "prefix", "##", name),
                            .cleanup = flag(object, "cleanup", true, name)};
  }
  if (type == "Metaspace") {
    const SplitStep step = read_metaspace(object, name);
    return MetaspaceDecoder{.space = step.space, .drop_in_first = step.prefix != PrefixSpace::never};
  }
  if (type == "Strip") return read_strip_decoder(object, name);
  if (type == "BPEDecoder") return SuffixDecoder{text(object, "suffix", "</w>", name)};
  if (type == "Replace") return Replacement{read_pattern(object, name), text(object, "content", "", name)};
  fail_user("{}: the decoder '{}' is not supported", name, printable(type));
}

void append_decoder(std::vector<DecoderStep>& steps, const Json& object, const std::string& name) {
  const std::string type = type_of(object, "decoder", name);
  if (type != "Sequence") return steps.push_back(read_decoder_step(object, type, name));
  for (const Json& part : parts_of(object, "decoders", name)) append_decoder(steps, part, name);
}

}  // namespace

std::string type_of(const Json& object, const char* what, const std::string& name) {
  const std::string type = text(object, "type", "", name);
  if (type.empty()) fail_user("{}: the {} has no 'type'", name, what);
  return type;
}

const Json& parts_of(const Json& object, const char* key, const std::string& name) {
  const Json& parts = member(object, key, name);
  if (!parts.is_array()) fail_user("{}: a Sequence has no list '{}'", name, key);
  return parts;
}

Expression read_pattern(const Json& object, const std::string& name) {
  const Json& pattern = member(object, "pattern", name);
  const std::string literal = text(pattern, "String", "", name);
  const std::string source = text(pattern, "Regex", "", name);
  if (literal.empty() == source.empty())
    fail_user("{}: a pattern is neither a 'String' nor a 'Regex', not empty", name);
  return literal.empty() ? Expression(source, name) : Expression::of_text(literal);
}

SplitStep split_step_of(const std::string& expression, const std::string& name) {
  if (expression == expression_gpt2) return {Splitter::gpt2};
  if (expression == std::string(contractions_llama3) + R"(\p{N}{1,3})" + spaces_llama3) return {Splitter::llama3};
  if (expression == std::string(contractions_llama3) + R"(\p{N})" + spaces_llama3) return {Splitter::qwen2};
  return {.expression = Expression(expression, name)};
}

std::vector<NormalizerStep> read_normalizer(const Json& object, const std::string& name) {
  if (object.is_null()) return {};
  const std::string type = type_of(object, "normalizer", name);
  if (type != "Sequence") return {read_normalizer_step(object, type, name)};
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

std::optional<std::vector<DecoderStep>> read_decoder(const Json& object, const std::string& name) {
  if (object.is_null()) return {};
  std::vector<DecoderStep> steps;
  append_decoder(steps, object, name);
  return steps;
}

}  // namespace assay
