#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "quality/evaluate.h"
#include "runtime/instance.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/engine.h"
#include "studies/tune/request.h"
#include "tensor/dtype.h"
#include "tensor/recipe.h"

namespace assay {

/// How recipes are scored against fp32: windows as they are; of decoding, each through a cache in the recipe's dtype,
/// all of it at once, with the kernels of prompts.
class Scoring {
 public:
  /// `window`: tokens of the longest row that is scored. The subject outlives it.
  Scoring(const StudiedModel& subject, Aim aim, std::int64_t window);

  const StudiedModel& subject() const { return subject_; }
  /// Whether instances that keep nothing can be scored too.
  bool takes_plain_instances() const { return cached_fp32_ == nullptr; }
  /// What a recipe's keys and values are kept in where they are kept.
  DType kept_dtype(const Recipe& recipe) const;
  /// One that qualities() takes. It borrows what the subject's instances and the baseline hold.
  std::unique_ptr<Instance> instance(const Recipe& recipe) const;
  /// fp32 and these on the set. Absent after an interrupt.
  std::optional<std::vector<UnitQuality>> qualities(const QualitySet& set,
                                                    const std::vector<Instance*>& instances) const;

 private:
  const StudiedModel& subject_;
  EngineOptions engine_;
  std::unique_ptr<Instance> cached_fp32_ = nullptr;  ///< Of decoding: the baseline.
};

/// The longest row of a set, in tokens.
std::int64_t longest_row(const QualitySet& set);

}  // namespace assay
