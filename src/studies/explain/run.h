#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/forecast.h"
#include "studies/explain/request.h"

namespace assay {

/// A plan that was made and never run.
struct Explained {
  Model model;
  std::vector<Pass> passes;
  std::unique_ptr<Instance> instance;  ///< Holds nothing: no weight is read.
  PlanOptions options;
  Forecast plan;
  std::int64_t available_bytes = 0;

  const Program& program() const { return instance->program(); }
  const Node& node(std::size_t step) const { return program().nodes[plan.layout.nodes[step]]; }
  double bytes(std::size_t step) const { return assay::bytes(program(), node(step), options.extent); }
  std::int64_t peak_bytes() const { return plan.constant_bytes() + plan.arena_bytes(); }
  double total_flops() const;
  double total_bytes() const;
  /// Of the parameters as the precision stores them: each once, without the padding of packings.
  std::int64_t model_bytes() const;
  /// Where the results of a step lie in the arena.
  std::vector<std::int64_t> offsets(std::size_t step) const;
};

/// Throws user errors for what does not exist, Error(lacking) for what the device lacks.
std::unique_ptr<Explained> explained_plan(const ExplainRequest& request, const MachineFacts& facts);

}  // namespace assay
