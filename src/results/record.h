#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "results/parts.h"

namespace assay {

/// A part that may be absent, since nothing of it was measured; then it reads as a blank one:
/// `record.latency->median_ms` is absent, too.
template <typename T>
class OptionalPart : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  OptionalPart(std::optional<T> part) : std::optional<T>(std::move(part)) {}
  const T& operator*() const {
    static const T blank;
    return this->has_value() ? this->value() : blank;
  }
  const T* operator->() const { return &**this; }
  /// To write into; made where it was absent.
  T& made() { return this->has_value() ? this->value() : this->emplace(); }
};

/// One cell: one model in one precision at one shape on one device.
struct Record {
  Setting setting = {};
  CellOutcome outcome = {};
  OptionalPart<GridShare> share = {};
  OptionalPart<Latency> latency = {};
  OptionalPart<Circumstances> circumstances = {};
  OptionalPart<Speedup> speedup = {};
  OptionalPart<Training> training = {};
  OptionalPart<RankedStep> ranked = {};
  OptionalPart<GenerationCosts> generation = {};
  OptionalPart<ProgramRun> program_run = {};
  OptionalPart<MemoryUse> memory = {};
  OptionalPart<Energy> energy = {};
  OptionalPart<Quality> quality = {};
  OptionalPart<Difference> difference = {};
  OptionalPart<DecodedDifference> decoded = {};
  Evidence evidence = {};
  Rates rates = {};
  Grade grade = {};
  Seal seal = {};
};

/// Whether it was read, and is not as it was written.
inline bool is_altered(const Record& record) {
  return record.seal.state == Seal::State::broken || !record.seal.changed.empty();
}

/// What its quality is a figure of: "perplexity", "accuracy" or "scores"; empty where there is none.
const char* quality_kind(const Record& record);

/// What work and bytes of a pass are divided by: the median; of timed data the mean, since they are means over batches.
std::optional<double> work_ms(const Record& record);

/// Weights that a run reads, and of a model with a cache its keys and values.
std::optional<double> bytes_a_run(const Record& record);

/// A product with a weight.
bool is_linear(const LedgerRow& row);
/// A matrix product of any kind: with a weight, or inside attention.
bool multiplies(const LedgerRow& row);

/// Of the ledger rows that multiply matrices (of all, where none does), one of the group with the same operand,
/// accumulator and verdict that does the most FLOPs. Null for an empty ledger.
const LedgerRow* dominant_row(std::span<const LedgerRow> ledger);
/// "bf16/f32 native": operand, accumulator and verdict of dominant_row; empty for an empty ledger.
std::string what_ran(const Record& record);

}  // namespace assay
