#pragma once

#include <span>

#include "results/finding.h"

namespace assay {

struct PublishedTable;
class Complaints;

/// What is asked of a table that somebody published, from its printed figures alone.
struct TableRule {
  const char* id;
  Severity severity;     ///< Of what it finds, where the check does not say otherwise.
  const char* evidence;  ///< Figures without which it says nothing.
  const char* states;    ///< The rule in words, for the documents.
  const char* remedy;    ///< What to do about it.
  void (*check)(const PublishedTable& table, Complaints& say);
};

/// Every one: first those that rules over records are asked too, in their order and words, then those that only printed
/// figures need.
std::span<const TableRule> table_rules();

}  // namespace assay
