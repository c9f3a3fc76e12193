#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/finding.h"
#include "results/record.h"

namespace assay {

/// The records of one model, device, shape and setting; what differs is the precision.
struct Cell {
  std::vector<const Record*> records;
  std::vector<const Record*> measured;  ///< Those with status ok.
  const Record* baseline = nullptr;     ///< Measured, or null.
  std::vector<const Record*> doubtful;  ///< Measured, but of grade D: findings leave them out of `measured`.
};

/// What a rule has to say of one row, or of the cell. Empty text: nothing.
struct Judgement {
  std::string text;
  std::optional<bool> met;                ///< Of an expectation.
  std::optional<Severity> severity = {};  ///< Where it is not the rule's.
};

enum class RuleScope : std::uint8_t { row, cell };

struct Rule {
  const char* id;
  RuleKind kind;
  char grade;  ///< Best grade beside it; ' ' for findings and expectations.
  RuleScope scope;
  const char* evidence;  ///< Fields without which it says nothing.
  const char* states;    ///< The rule in words, for the documents.
  /// Of scope `row`: the row; of scope `cell`: the baseline, or the first measured (else doubtful) row without one.
  /// Gate and trust rules see rows that have samples, the others those with status ok.
  Judgement (*judge)(const Cell& cell, const Record& row);
  Severity severity;   ///< Of what it finds, where the judgement does not say otherwise.
  const char* remedy;  ///< What to do about it.
};

/// Every rule, in the order in which sentences are printed.
std::span<const Rule> rules();

/// Applies every rule: sets status and reason of impossible rows, takes figures of quality from rows that are not
/// finite and comparisons from those whose baseline is not, trust and trust_reasons of measured ones, and returns
/// what gates, findings and expectations say. A sentence that holds for several shapes of a model is said once.
std::vector<Finding> judge(std::vector<Record>& records);
/// The same with what the rules of trust say among it, every repetition kept.
std::vector<Finding> judge_in_full(std::vector<Record>& records);

}  // namespace assay
