#include "studies/shared/step_variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay {
namespace {

template <typename Value>
std::vector<Value> listed_or(const std::vector<Value>& list, const Value& usual) {
  return list.empty() ? std::vector<Value>{usual} : list;
}

}  // namespace

std::vector<StepVariant> step_variants(const StepAxes& axes) {
  const StepVariant usual;
  const std::vector<TrainingStorage> storages = storages_of(axes.states, axes.gradients);
  std::vector<StepVariant> variants;
  for (const OptimizerKind optimizer : listed_or(axes.optimizers, usual.optimizer)) {
    for (const double clip : listed_or(axes.clips, usual.clip)) {
      for (const std::int64_t accumulate : listed_or(axes.accumulates, usual.accumulate)) {
        for (const std::string& base : listed_or(axes.bases, usual.base)) {
          for (const TrainingStorage& storage : storages) {
            for (const Recompute recompute : listed_or(axes.recomputes, usual.recompute))
              variants.push_back({recompute, optimizer, clip, accumulate, base, storage});
          }
        }
      }
    }
  }
  return variants;
}

void apply(const StepVariant& variant, const WeightFormats& formats, TrainingOptions& options) {
  options.recompute = variant.recompute;
  options.optimizer.kind = variant.optimizer;
  options.optimizer.clip_norm = variant.clip;
  options.gradients = variant.accumulate > 1 ? Gradients::added : Gradients::written;
  options.storage = variant.storage;
  options.base.reset();
  if (!variant.base.empty()) options.base = FrozenBase{find_precision(variant.base), formats};
}

std::string words(const StepVariant& variant) {
  std::vector<std::string> parts;
  if (variant.optimizer == OptimizerKind::sgd) parts.emplace_back("sgd");
  if (variant.clip > 0) parts.push_back(fmt::format("clip {:g}", variant.clip));
  if (variant.accumulate > 1) parts.push_back(fmt::format("{} parts", variant.accumulate));
  if (!variant.base.empty()) parts.push_back("base " + variant.base);
  if (const std::string storage = variant.storage.words(); !storage.empty()) parts.push_back(storage);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace assay
