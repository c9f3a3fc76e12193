#include "results/document.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "results/fields.h"
#include "results/json_places.h"
#include "results/seal.h"
#include "results/store.h"
#include "results/table_json.h"

namespace assay {
namespace {

OrderedJson description_of(const Sentences& sentences) {
  return {{"key", sentences.key}, {"title", sentences.title}, {"detail", name(sentences.detail)}};
}

Sentences described_sentences(const Json& description, const Json& document) {
  Sentences sentences;
  description.at("key").get_to(sentences.key);
  description.at("title").get_to(sentences.title);
  sentences.detail = value_named<Detail, static_cast<int>(Detail::data) + 1>(description, "detail");
  value_at(document, sentences.key).get_to(sentences.texts);
  return sentences;
}

/// What `document_from_json` needs to read back what is no record.
OrderedJson description_of(const Document& document) {
  OrderedJson tables = OrderedJson::array();
  for (const Table& table : document.tables) tables.push_back(description_of(table));
  OrderedJson figures = OrderedJson::array();
  for (const Figure& figure : document.figures) figures.push_back(to_json(figure));
  OrderedJson sentences = OrderedJson::array();
  for (const Sentences& some : document.sentences) sentences.push_back(description_of(some));
  return {{"schema", description_schema_name},
          {"title", document.subject.title},
          {"facts", description_of(document.subject.facts)},
          {"tables", std::move(tables)},
          {"figures", std::move(figures)},
          {"sentences", std::move(sentences)},
          {"methods", description_of(document.methods)}};
}

void read_described(const Json& json, Document& document) {
  const Json& description = json.at("document");
  json.at("schema").get_to(document.subject.schema);
  description.at("title").get_to(document.subject.title);
  document.subject.facts = described_table(description.at("facts"), json);
  document.methods = described_table(description.at("methods"), json);
  for (const Json& table : description.at("tables").get_ref<const Json::array_t&>())
    document.tables.push_back(described_table(table, json));
  for (const Json& figure : description.at("figures").get_ref<const Json::array_t&>())
    document.figures.push_back(figure_from_json(figure));
  for (const Json& sentences : description.at("sentences").get_ref<const Json::array_t&>())
    document.sentences.push_back(described_sentences(sentences, json));
}

bool has_table(const Document& document, std::string_view key) {
  return std::any_of(document.tables.begin(), document.tables.end(), [&](const Table& one) { return one.key == key; });
}

/// Whether the object holds a description that this version reads.
bool is_described(const Json& json) {
  const auto description = json.find("document");
  return description != json.end() && description->is_object() &&
         description->value("schema", Json()) == description_schema_name;
}

/// What is read is written again somewhere: keys that cannot stand in one object are found here.
void read_description(const Json& json, const std::string& source, Document& document) {
  try {
    read_described(json, document);
    to_json(document);
  } catch (const std::exception&) {
    fail_user("{}: what \"document\" says does not fit what the file holds", source);
  }
}

}  // namespace

OrderedJson to_json(const RunOrigin& origin) {
  OrderedJson json;
  for (const auto& [key, member] : origin_texts) json[key] = origin.*member;
  json["seal"] = origin.seal.seal ? OrderedJson(*origin.seal.seal) : OrderedJson(nullptr);
  return json;
}

OrderedJson to_json(const Document& document) {
  OrderedJson json = {{"schema", document.subject.schema}};
  if (document.origin) json["origin"] = to_json(*document.origin);
  put_table(document.subject.facts, json);
  if (!document.machine.empty() || !document.tells()) json["machine"] = document.machine;
  for (const Table& table : document.tables) put_table(table, json);
  for (const Record& record : document.records) json["records"].push_back(to_json(record));
  for (const Finding& finding : document.findings) json["findings"].push_back(to_json(finding));
  if (!document.tells()) {
    for (const char* list : {"records", "findings"}) json.emplace(list, OrderedJson::array());
    return json;
  }
  for (const Sentences& sentences : document.sentences) place_at(json, sentences.key) = sentences.texts;
  put_table(document.methods, json);
  json["document"] = description_of(document);
  return json;
}

Document document_from_json(const Json& json, const std::string& source) {
  Document document;
  const bool tells = json.is_object() && is_described(json);
  if (tells) read_description(json, source, document);
  if (json.is_object()) document.origin = origin_read(json);
  if (!tells && (!json.is_object() || !json.contains("records") || !json["records"].is_array()))
    fail_user("{}: no list of records: --json of a command that measures writes one", source);
  for (const Json& record : json.value("records", Json::array()))
    document.records.push_back(record_of_any_version(record, source));
  if (const auto machine = json.find("machine"); machine != json.end() && machine->is_object())
    document.machine = OrderedJson(*machine);
  const auto findings = json.find("findings");
  if (findings == json.end() || has_table(document, "findings")) return document;
  try {
    for (const Json& finding : findings->get_ref<const Json::array_t&>())
      document.findings.push_back(finding_from_json(finding));
  } catch (const std::exception&) {
    fail_user("{}: a finding lacks a field, or has one of another type", source);
  }
  return document;
}

}  // namespace assay
