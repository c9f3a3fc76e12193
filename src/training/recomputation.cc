#include "training/recomputation.h"

#include <fmt/format.h>

namespace assay {

std::string recomputation_in_vain(const ModelConfig& config, const TrainingOptions& options) {
  if (options.recompute == Recompute::none || options.parts == StepParts::forward) return "";
  TrainingOptions kept = options;
  kept.recompute = Recompute::none;
  const std::size_t nodes = training_programs(config, options).step.nodes.size();
  if (nodes != training_programs(config, kept).step.nodes.size()) return "";
  const char* why = options.recompute == Recompute::attention && options.fusion == Fusion::on
                        ? "attention is fused and keeps no scores for the backward"
                        : "nothing of what it names is kept for the backward";
  return fmt::format("--recompute {} changes nothing in {}: {}", name(options.recompute), options.precision.name(),
                     why);
}

}  // namespace assay
