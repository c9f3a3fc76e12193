#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "studies/sensitivity/run.h"
#include "studies/tune/knapsack.h"
#include "studies/tune/request.h"
#include "tensor/dtype.h"
#include "tensor/recipe.h"

namespace assay {

/// Linear layers that read the same values and are joined where they have one precision (queries, keys and values):
/// they get one together.
struct MixPart {
  std::vector<std::size_t> units = {};   ///< Of StudiedModel::units.
  std::vector<PartOption> options = {};  ///< By row: 0 is fp32, i + 1 is StudiedModel::rows[i].
};

/// What everything but the linear layers runs in: embedding, norms, residual stream, attention's own products.
struct MixRest {
  std::size_t row = 0;
  std::optional<DType> kv = {};  ///< Of decoding: what keys and values are kept in.
  PartOption option = {};
};

/// All that a mix is chosen from. Costs are in what the aim is (ms, J, bytes), losses in nats of KL.
struct MixChoices {
  std::vector<MixPart> parts = {};
  std::vector<MixRest> rests = {};
};

/// A row for each part, and one for the rest.
struct Mix {
  std::size_t rest = 0;                ///< Of MixChoices::rests.
  std::vector<std::size_t> rows = {};  ///< By part.
  friend bool operator==(const Mix& a, const Mix& b) = default;
};

/// Linear layers of the program, those that read the same value together; options are not known yet.
std::vector<MixPart> parts_of(const StudiedModel& subject);

/// The rows that a mix can have, fp32 first, by their names.
std::vector<std::string> row_names(const StudiedModel& subject);

/// Cost and loss of all of it, as its parts and its rest foretell them.
PartOption foretold(const MixChoices& choices, const Mix& mix);

/// A layer a line, of those that differ from the rest.
Recipe recipe_of(const StudiedModel& subject, const MixChoices& choices, const Mix& mix, const std::string& name);

}  // namespace assay
