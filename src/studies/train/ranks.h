#pragma once

#include <optional>
#include <string>
#include <vector>

#include "processes/group.h"
#include "quality/evaluate.h"
#include "studies/train/run.h"

namespace assay {

/// What every rank of a training has to have alike, by name: "program", "model", ...
struct SharedFact {
  std::string name;
  std::string value;  ///< Or its hash.
};

/// Throws a SharedError that names the first rank that differs from rank 0, and in what.
void check_same_everywhere(Group& group, const std::vector<SharedFact>& facts);

/// SHA-256 of the running program's file.
std::string program_hash();

/// What all ranks may compute with.
struct SharedInstructions {
  InstructionSets sets;  ///< Those that every rank has: updates that round otherwise would let replicas drift apart.
  std::string words;     ///< A sentence where ranks have different ones; else empty.
};
SharedInstructions shared_instructions(Group& group, const InstructionSets& mine);

/// Throws a SharedError that names the ranks whose parameters are not those that most ranks have.
void check_same_weights(Group& group, const std::string& hash, std::int64_t steps);

/// This rank's batches of a set: an equal part, in order. May have none.
QualitySet part_of_set(const QualitySet& set, const Group& group);

/// What all ranks found on their parts, as one. Null where one of them was interrupted (its `rows` is null). What
/// compares with a baseline stays empty. Throws nothing where rows are not finite: `non_finite` is the first rank's.
std::optional<QualityRows> joined_rows(Group& group, const std::optional<QualityRows>& rows);

/// The name that is not empty of the lowest rank that has one.
std::optional<std::string> first_name(Group& group, const std::optional<std::string>& mine);

}  // namespace assay
