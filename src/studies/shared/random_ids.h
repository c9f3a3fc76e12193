#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "model/model.h"
#include "program/program.h"

namespace assay {

/// What made-up ids are for: each use draws a stream of its own.
enum class IdsFor : std::uint32_t { quality = 1, timing = 2, calibration = 3 };
struct IdStream {
  std::uint64_t seed = 1;
  IdsFor use = IdsFor::timing;
};

/// B * T uniform ids of the model's vocabulary.
inline std::vector<std::int32_t> random_ids(const Model& model, Extent extent, IdStream stream) {
  Random random(stream.seed, static_cast<std::uint32_t>(stream.use));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(extent.batch * extent.seq));
  const auto vocabulary = static_cast<std::uint64_t>(model.config.vocab_size);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(vocabulary));
  return ids;
}

}  // namespace assay
