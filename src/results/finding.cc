#include "results/finding.h"

#include <stdexcept>

#include "base/json.h"

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

}  // namespace

const char* name(RuleKind kind) {
  constexpr const char* names[] = {"gate", "trust", "finding", "expectation"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name(Severity severity) {
  constexpr const char* names[] = {"info", "low", "medium", "high"};
  return names[static_cast<std::size_t>(severity)];
}

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

}  // namespace assay
