#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

/// What was found of one thing that has a seal: a file, a run, a record.
struct Verified {
  std::string what;  ///< "file", "run 3", "record 12".
  std::string subject;
  Seal seal;

  /// Neither changed after it was written, nor with figures that do not follow from its samples.
  bool holds() const { return seal.state != Seal::State::broken && seal.changed.empty(); }
};

struct Verification {
  std::string file;
  std::vector<Verified> things;

  bool holds() const;
};

/// Recomputes every seal and every figure that follows from others, of a file that `--json` or `assay export` wrote or
/// of a store. Throws a user error for what is neither.
Verification verify(const std::filesystem::path& file);

/// What holds and what does not, a row each: what does not in brief, everything in detail.
Document to_document(const Verification& verification);

}  // namespace assay
