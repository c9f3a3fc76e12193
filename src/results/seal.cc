#include "results/seal.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "results/fields.h"

namespace assay {
namespace {

constexpr const char* beside_a_record[] = {"seal", "run", "saved", "source"};

std::string hash_of(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return sha256_hex(std::as_bytes(std::span(text)));
}

/// As a file has it: what JSON has no word for is gone, and numbers are read back.
Json as_read(const OrderedJson& json) {
  return Json::parse(json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

bool is_kept(Seal::State state) {
  return state == Seal::State::broken || state == Seal::State::absent;
}

std::string seal_of_document(Json document) {
  if (const auto origin = document.find("origin"); origin != document.end()) origin->erase("seal");
  return hash_of(document);
}

}  // namespace

Seal::State state_of(const std::optional<std::string>& stored, const std::string& own) {
  if (!stored) return Seal::State::absent;
  return *stored == own ? Seal::State::holds : Seal::State::broken;
}

std::string seal_of(const Json& record) {
  Json content = record;
  for (const char* key : beside_a_record) content.erase(key);
  return hash_of(content);
}

Record sealed(Record record) {
  if (!is_kept(record.seal.state)) record.seal.seal = seal_of(as_read(to_json(record)));
  return record;
}

Seal seal_read(const Json& record) {
  Seal seal;
  if (const Json& stored = record.value("seal", Json()); stored.is_string()) seal.seal = stored.get<std::string>();
  seal.state = state_of(seal.seal, seal_of(record));
  return seal;
}

std::string changed_words(const Seal& seal, std::size_t most) {
  const std::size_t shown = std::min(most, seal.changed.size());
  const std::string text = fmt::format("{}", fmt::join(seal.changed.begin(), seal.changed.begin() + shown, "; "));
  return shown == seal.changed.size() ? text : fmt::format("{}; {} more", text, seal.changed.size() - shown);
}

Document sealed(Document document) {
  for (Record& record : document.records) record = sealed(std::move(record));
  if (document.origin && !is_kept(document.origin->seal.state))
    document.origin->seal.seal = seal_of_document(as_read(to_json(document)));
  return document;
}

void seal_json(RunOrigin origin, OrderedJson& json) {
  json["origin"] = to_json(origin);
  origin.seal.seal = seal_of_document(as_read(json));
  json["origin"] = to_json(origin);
}

std::optional<RunOrigin> origin_read(const Json& document) {
  const Json stored = document.value("origin", Json());
  if (!stored.is_object()) return std::nullopt;
  RunOrigin origin;
  for (const auto& [key, member] : origin_texts) {
    if (const Json& text = stored.value(key, Json()); text.is_string()) text.get_to(origin.*member);
  }
  if (const Json& seal = stored.value("seal", Json()); seal.is_string()) origin.seal.seal = seal.get<std::string>();
  origin.seal.state = state_of(origin.seal.seal, seal_of_document(document));
  return origin;
}

}  // namespace assay
