#include "results/rule_document.h"

#include <fmt/format.h>

#include "base/json.h"
#include "results/rules.h"

namespace assay {
namespace {

const char* applies_to(const Rule& rule) {
  if (!rule.check) return "records";
  return rule.judge ? "records, tables" : "tables";
}

}  // namespace

std::string rules_text() {
  std::string text;
  for (const Rule& rule : rules()) {
    text += fmt::format("{} ({}, {}; of {})\n  {}\n  evidence: {}\n  remedy: {}\n", rule.id, name(rule.kind),
                        name(rule.severity), applies_to(rule), rule.states, rule.evidence, rule.remedy);
  }
  return text;
}

OrderedJson rules_json() {
  OrderedJson all = OrderedJson::array();
  for (const Rule& rule : rules()) {
    all.push_back({{"id", rule.id},
                   {"kind", name(rule.kind)},
                   {"severity", name(rule.severity)},
                   {"detects", rule.states},
                   {"evidence", rule.evidence},
                   {"remedy", rule.remedy},
                   {"records", rule.judge != nullptr},
                   {"tables", rule.check != nullptr}});
  }
  return all;
}

std::string rules_markdown() {
  std::string text =
      "| rule | kind | severity | of | what it detects | evidence | remedy |\n|---|---|---|---|---|---|---|\n";
  for (const Rule& rule : rules()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", rule.id, name(rule.kind), name(rule.severity),
                        applies_to(rule), rule.states, rule.evidence, rule.remedy);
  }
  return text;
}

}  // namespace assay
