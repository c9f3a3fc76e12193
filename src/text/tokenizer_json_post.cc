// The post-processor of a tokenizer.json.
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/tokenizer_parts.h"

namespace assay {
namespace {

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

/// One piece of a template: a special token, or one of the texts.
PairPiece read_template_piece(const Json& piece, const Json& specials, const Tokenizer& tokenizer,
                              const std::string& name) {
  PairPiece made;
  const Json& special = member(piece, "SpecialToken", name);
  const Json& body = special.is_null() ? member(piece, "Sequence", name) : special;
  made.type_id = static_cast<std::int32_t>(integer(body, "type_id", 0, name));
  const std::string id = text(body, "id", "", name);
  if (special.is_null()) {
    if (id != "A" && id != "B") fail_user("{}: the post_processor's template has the text '{}'", name, printable(id));
    made.kind = id == "A" ? PairPiece::Kind::first : PairPiece::Kind::second;
    return made;
  }
  const Json& entry = member(specials, id.c_str(), name);
  if (entry.is_null()) fail_user("{}: the post_processor's special_tokens lack '{}'", name, printable(id));
  made.ids = read_ids(member(entry, "ids", name), tokenizer, name);
  return made;
}

std::vector<PairPiece> read_pieces(const Json& object, const char* key, const Tokenizer& tokenizer,
                                   const std::string& name) {
  const Json& list = member(object, key, name);
  if (!list.is_array()) fail_user("{}: the post_processor has no list '{}'", name, key);
  std::vector<PairPiece> pieces;
  pieces.reserve(list.size());
  for (const Json& piece : list) {
    pieces.push_back(read_template_piece(piece, member(object, "special_tokens", name), tokenizer, name));
  }
  return pieces;
}

void read_template(Tokenizer& tokenizer, const Json& object, const std::string& name) {
  int texts = 0;
  for (const PairPiece& piece : read_pieces(object, "single", tokenizer, name)) {
    if (piece.kind == PairPiece::Kind::second)
      fail_user("{}: the post_processor's template is not about one text", name);
    texts += piece.kind == PairPiece::Kind::first ? 1 : 0;
    std::vector<std::int32_t>& place = texts == 0 ? tokenizer.prefix : tokenizer.suffix;
    place.insert(place.end(), piece.ids.begin(), piece.ids.end());
  }
  if (texts != 1) fail_user("{}: the post_processor's template has the text {} times, once is needed", name, texts);
  if (!member(object, "pair", name).is_null()) tokenizer.pair = read_pieces(object, "pair", tokenizer, name);
}

/// ["[SEP]", 102]
std::vector<std::int32_t> read_token_pair(const Json& object, const char* key, const Tokenizer& tokenizer,
                                          const std::string& name) {
  const Json& pair = member(object, key, name);
  if (!pair.is_array() || pair.size() != 2) fail_user("{}: the post_processor's '{}' is not [token, id]", name, key);
  return read_ids(Json::array({pair[1]}), tokenizer, name);
}

/// BERT: [CLS] A [SEP] B [SEP], B of type 1; RoBERTa: <s> A </s> </s> B </s>, all of type 0.
std::vector<PairPiece> pair_between(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& last,
                                    const std::string& type) {
  using Kind = PairPiece::Kind;
  const bool roberta = type == "RobertaProcessing";
  const std::int32_t second_type = roberta ? 0 : 1;
  std::vector<PairPiece> pieces = {{.ids = first}, {.kind = Kind::first}, {.ids = last}};
  if (roberta) pieces.push_back({.ids = last});
  pieces.push_back({.kind = Kind::second, .type_id = second_type});
  pieces.push_back({.type_id = second_type, .ids = last});
  return pieces;
}

}  // namespace

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
    tokenizer.pair = pair_between(tokenizer.prefix, tokenizer.suffix, type);
    return;
  }
  if (type != "Sequence") fail_user("{}: the post_processor '{}' is not supported", name, printable(type));
  for (const Json& part : parts_of(object, "processors", name)) read_post_processor(tokenizer, part, name);
}

}  // namespace assay
