#include "published/rule_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "published/table_rules.h"
#include "rules/rules.h"

namespace assay {
namespace {

/// A rule as the documents tell it, whatever it is asked of.
struct ListedRule {
  std::string_view id;
  RuleKind kind = RuleKind::finding;
  Severity severity = Severity::info;
  std::optional<Trust> grade = {};
  const char* states;
  const char* evidence;
  const char* remedy;
  bool of_records = false;
  bool of_tables = false;

  const char* applies_to() const {
    if (!of_tables) return "records";
    return of_records ? "records, tables" : "tables";
  }
  const char* beside_records() const { return !of_tables ? "" : of_records ? "tables too" : "tables only"; }
};

std::vector<ListedRule> listed_rules() {
  std::vector<ListedRule> all;
  for (const Rule& rule : rules())
    all.push_back(
        {rule.id, rule.kind, rule.severity, rule.grade, rule.states, rule.evidence, rule.remedy, true, false});
  for (const TableRule& rule : table_rules()) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const ListedRule& one) { return one.id == rule.id; });
    if (known != all.end()) {
      known->of_tables = true;
    } else {
      all.push_back(
          {rule.id, RuleKind::finding, rule.severity, {}, rule.states, rule.evidence, rule.remedy, false, true});
    }
  }
  return all;
}

/// The rules that a grade comes from, in words.
std::string graded_rules(RuleKind kind) {
  std::string text;
  for (const ListedRule& rule : listed_rules()) {
    if (rule.kind != kind) continue;
    const std::string scope = rule.of_tables ? fmt::format(", {}", rule.beside_records()) : "";
    text += fmt::format("- `{}` ({}{}): {}\n", rule.id, name(*rule.grade), scope, rule.states);
  }
  return text;
}

/// The rules that write sentences, by name.
std::string named_rules(Severity severity) {
  std::vector<std::string> names;
  for (const ListedRule& rule : listed_rules()) {
    if (rule.grade || rule.severity != severity) continue;
    const std::string scope = rule.of_tables ? fmt::format(" ({})", rule.beside_records()) : "";
    names.push_back(fmt::format("`{}`{}", rule.id, scope));
  }
  return fmt::format("- {}: {}\n", name(severity), fmt::join(names, ", "));
}

}  // namespace

std::string rules_text() {
  std::string text;
  for (const ListedRule& rule : listed_rules()) {
    text += fmt::format("{} ({}, {}; of {})\n  {}\n  evidence: {}\n  remedy: {}\n", rule.id, name(rule.kind),
                        name(rule.severity), rule.applies_to(), rule.states, rule.evidence, rule.remedy);
  }
  return text;
}

OrderedJson rules_json() {
  OrderedJson all = OrderedJson::array();
  for (const ListedRule& rule : listed_rules()) {
    all.push_back({{"id", rule.id},
                   {"kind", name(rule.kind)},
                   {"severity", name(rule.severity)},
                   {"detects", rule.states},
                   {"evidence", rule.evidence},
                   {"remedy", rule.remedy},
                   {"records", rule.of_records},
                   {"tables", rule.of_tables}});
  }
  return all;
}

std::string rules_of_the_page() {
  std::string text = "### Gates\n\n" + graded_rules(RuleKind::gate) + "\n### Trust\n\n" +
                     graded_rules(RuleKind::trust) + "\n### Findings and expectations\n\n";
  for (const Severity severity : {Severity::high, Severity::medium, Severity::low, Severity::info}) {
    text += named_rules(severity);
  }
  return text;
}

}  // namespace assay
