#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_fwd.h"

namespace assay {

/// What the rule behind a finding does with what it sees.
enum class RuleKind : std::uint8_t {
  gate,        ///< Physics: the row becomes `impossible`.
  trust,       ///< The row's grade is at most the rule's.
  finding,     ///< A sentence.
  expectation  ///< A sentence, and whether it came as expected.
};
const char* name(RuleKind kind);

/// How much a finding takes from the figures it is about.
enum class Severity : std::uint8_t {
  info,    ///< Worth knowing.
  low,     ///< A limit of what can be concluded.
  medium,  ///< The figure may be off; look into it before quoting it.
  high     ///< The figure is wrong, or not what its name says.
};
const char* name(Severity severity);

/// One sentence about a cell or one of its rows.
struct Finding {
  std::string rule = {};
  RuleKind kind = RuleKind::finding;
  std::string model = {};
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::string precision = {};  ///< Empty: about the whole cell.
  std::optional<bool> met = {};
  std::string text = {};
  Severity severity = Severity::info;
};
OrderedJson to_json(const Finding& finding);
/// The way back. Throws an exception of any kind where a field is missing or of another type.
Finding finding_from_json(const Json& json);

}  // namespace assay
