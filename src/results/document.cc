#include "results/document.h"

#include <stdexcept>

#include "base/error.h"
#include "base/json.h"
#include "results/fields.h"
#include "results/store.h"

namespace assay {
namespace {

Severity severity_of(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(Severity::high); ++i) {
    if (word == name(static_cast<Severity>(i))) return static_cast<Severity>(i);
  }
  throw std::invalid_argument("unknown severity");
}

RuleKind kind_of(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(RuleKind::expectation); ++i) {
    if (word == name(static_cast<RuleKind>(i))) return static_cast<RuleKind>(i);
  }
  throw std::invalid_argument("unknown kind of rule");
}

Finding finding_from_json(const Json& json) {
  Finding finding;
  json.at("rule").get_to(finding.rule);
  finding.kind = kind_of(json.at("kind").get_ref<const std::string&>());
  json.at("model").get_to(finding.model);
  json.at("batch").get_to(finding.batch);
  json.at("seq").get_to(finding.seq);
  if (!json.at("precision").is_null()) json.at("precision").get_to(finding.precision);
  if (!json.at("met").is_null()) finding.met = json.at("met").get<bool>();
  json.at("text").get_to(finding.text);
  if (json.contains("severity")) finding.severity = severity_of(json["severity"].get_ref<const std::string&>());
  return finding;
}

}  // namespace

OrderedJson to_json(const Finding& finding) {
  OrderedJson json = {{"rule", finding.rule},   {"kind", name(finding.kind)},
                      {"model", finding.model}, {"batch", finding.batch},
                      {"seq", finding.seq},     {"precision", nullptr},
                      {"met", nullptr},         {"severity", name(finding.severity)},
                      {"text", finding.text}};
  if (!finding.precision.empty()) json["precision"] = finding.precision;
  if (finding.met) json["met"] = *finding.met;
  return json;
}

OrderedJson to_json(const Document& document) {
  OrderedJson records = OrderedJson::array();
  for (const Record& record : document.records) records.push_back(to_json(record));
  OrderedJson findings = OrderedJson::array();
  for (const Finding& finding : document.findings) findings.push_back(to_json(finding));
  return {{"schema", document_schema_name},
          {"machine", document.machine},
          {"records", std::move(records)},
          {"findings", std::move(findings)}};
}

Document document_from_json(const Json& json, const std::string& source) {
  if (!json.is_object() || !json.contains("records") || !json["records"].is_array())
    fail_user("{}: no list of records: --json of a command that measures writes one", source);
  Document document;
  for (const Json& record : json["records"]) document.records.push_back(record_of_any_version(record, source));
  if (const auto machine = json.find("machine"); machine != json.end() && machine->is_object())
    document.machine = OrderedJson(*machine);
  const auto findings = json.find("findings");
  if (findings == json.end()) return document;
  try {
    for (const Json& finding : findings->get_ref<const Json::array_t&>())
      document.findings.push_back(finding_from_json(finding));
  } catch (const std::exception&) {
    fail_user("{}: a finding lacks a field, or has one of another type", source);
  }
  return document;
}

}  // namespace assay
