#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/document.h"
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

enum class RuleScope : std::uint8_t {
  row,        ///< Every measured row.
  every_row,  ///< Rows without figures and impossible ones too.
  cell
};

struct Rule {
  const char* id;
  RuleKind kind;
  std::optional<Trust> grade = {};  ///< Best grade beside it: of gates and trust rules.
  RuleScope scope = RuleScope::row;
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

/// Whether figures of one kind stand, or prove nothing.
enum class Standing : std::uint8_t { stands, is_void };

/// What the rules say of one record.
struct Ruling {
  Status status = Status::ok;              ///< Its own, or what its figures show: impossible, not finite.
  std::optional<std::string> reason = {};  ///< Of that status.
  Grade grade = {};                        ///< Blank where it has no samples.
  Standing quality = Standing::stands;     ///< Void where its output is not finite.
  Standing comparison = Standing::stands;  ///< Void, too, where its baseline is impossible or not finite.
};

struct Rulings {
  std::vector<Ruling> rows;       ///< One for each record, in their order.
  std::vector<Finding> findings;  ///< Of gates, findings and expectations.
};

/// Asks every rule. A sentence that holds for several shapes of a model is said once.
Rulings judge(std::span<const Record> records);
/// The same with what the rules of trust say among the findings, every repetition kept.
Rulings judge_in_full(std::span<const Record> records);

/// The records as they may be shown and kept: with status and grade of their rulings, without figures that are void.
/// Judged again they get the same rulings.
std::vector<Record> with_rulings(std::vector<Record> records, std::span<const Ruling> rulings);
/// A document with its records judged so, and what is found in them as its findings.
Document judged(Document document);

/// What a document that was read may be believed: its figures are computed again from samples and plan figures, its
/// records are judged anew, and what does not hold is among the findings.
Document believed(Document document);

}  // namespace assay
