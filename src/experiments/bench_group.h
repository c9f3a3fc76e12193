#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/bench.h"
#include "experiments/quality_data.h"
#include "results/record.h"

namespace assay {

/// A precision that is measured, with its overrides by role. The baseline has none, whatever was asked of the others.
struct Contender {
  std::string precision;
  std::string overrides;
  friend bool operator==(const Contender&, const Contender&) = default;
};

/// One model in the precisions that fit into memory together, from instances to records. `blank` carries what all
/// records share.
class BenchGroup {
 public:
  BenchGroup(const Model& model, const BenchRequest& request, MachineFacts facts, const BenchCallbacks& callbacks);

  /// Makes the instances. A precision that cannot be had keeps its reason and becomes a row in every cell.
  void open(const std::vector<Contender>& contenders, const Record& blank);
  /// Times all instances at that shape, interleaved. Appends one record a precision.
  void measure(Extent extent, std::vector<Record>& records);
  /// Scores all instances and writes the figures into this group's records among `records`.
  void score(const QualityData& data, std::vector<Record>& records) const;
  /// Frees the instances, then measures the resident memory of each of this group's rows in a process of its own.
  void isolate(std::vector<Record>& records);

 private:
  struct Member {
    Contender contender;
    Record blank;
    std::unique_ptr<Instance> instance;  ///< Null where the precision cannot be had: see blank.status.
  };
  std::unique_ptr<Plan> make_plan(Member& member, Extent extent, Record& record);
  void account(const Instance* own, std::int64_t arenas);

  const Model& model_;
  const BenchRequest& request_;
  MachineFacts facts_;
  std::int64_t available_bytes_;
  const BenchCallbacks& callbacks_;
  std::vector<Member> members_;
};

/// Precisions in groups whose weights fit into memory at the same time, each beginning with the baseline where that
/// fits at all.
std::vector<std::vector<Contender>> group_precisions(const Model& model, const BenchRequest& request,
                                                     const std::vector<Contender>& contenders,
                                                     const MachineFacts& facts);

}  // namespace assay
