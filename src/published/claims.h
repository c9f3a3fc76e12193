#pragma once

// What sentences claim of the tables beside them. Only for src/published.

#include <span>
#include <string>
#include <vector>

#include "published/published_table.h"

namespace assay {

/// Of which figures a claim may be; "faster" is said of times and rates.
enum class ClaimSubject : std::uint8_t { none, speed, time, rate, energy, power, memory, size, accuracy, perplexity };
/// The quantities of a table that it may be read from.
std::span<const Quantity> quantities_of(ClaimSubject subject);
const char* name(ClaimSubject subject);

/// Whether the first of two is better by what is claimed: faster, smaller; or worse.
enum class Sense : std::uint8_t { unknown, better, worse };

/// What a claim's figure leaves open besides its rounding: "about 5x", "up to 5x", "under 1 %".
enum class Hedge : std::uint8_t { none, about, nearly, at_least, at_most };

/// A precision, or a row's own words, in a sentence; one of both.
struct NamedRows {
  PrecisionName precision = PrecisionName::unknown;
  std::string words = {};  ///< In lower case: "distilbert", "gptq".

  bool is_any() const { return precision == PrecisionName::unknown && words.empty(); }
  bool holds(const Observation& row) const;
  std::string shown() const;
};

/// "INT8 gives a 9.6x speed-up over FP32".
struct ReadClaim {
  int line = 0;
  std::string sentence = {};
  std::string text = {};      ///< The figure and the words that belong to it.
  PrintedFigure figure = {};  ///< Of dimension none for an order: "INT8 is faster than FP16".
  Hedge hedge = Hedge::none;
  ClaimSubject subject = ClaimSubject::none;
  Sense sense = Sense::unknown;
  bool is_order = false;
  bool is_left = false;  ///< "down to 38 %" says what is left.
  NamedRows of = {};     ///< Whose figure.
  NamedRows model = {};
  NamedRows than = {};
  std::string other = {};  ///< What it is compared with, where no row names that: "PyTorch".
  std::string aside = {};  ///< Why it is no claim about the table: another's work, a target.

  /// A figure of its own: no factor, no share.
  bool is_value() const {
    return figure.unit.dimension != Dimension::ratio && figure.unit.dimension != Dimension::percent;
  }
};

/// Claims of the page's prose about rows of these tables.
std::vector<ReadClaim> read_claims(const std::vector<TextLine>& prose, std::span<const PublishedTable> tables);

/// Holds every claim of a page against all of its tables, which take them: each the one that it was bound to.
void judge_claims(std::span<PublishedTable> page);

}  // namespace assay
