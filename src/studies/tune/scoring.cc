#include "studies/tune/scoring.h"

#include <algorithm>

#include "base/error.h"
#include "program/operation.h"
#include "program/passes.h"
#include "quality/decoding.h"
#include "tensor/baseline_precision.h"

namespace assay {
namespace {

/// Of programs that keep keys and values of windows and give the logits of each of their tokens.
EngineOptions engine_of_windows(EngineOptions engine, std::int64_t window) {
  engine.cache = CacheSize{.capacity = window, .chunk = window};
  engine.program.logits = LogitRows::all;
  return engine;
}

}  // namespace

Scoring::Scoring(const StudiedModel& subject, Aim aim, std::int64_t window)
    : subject_(subject), engine_(subject.request.engine) {
  if (aim != Aim::decode) return;
  engine_ = engine_of_windows(engine_, window);
  cached_fp32_ = instance({.name = "fp32", .rest = &baseline_precision()});
}

DType Scoring::kept_dtype(const Recipe& recipe) const {
  const PrecisionChoice choice = choose_precision(recipe, native_16bit(subject_.facts));
  const Program program = prepared_program(subject_.model, choice, engine_of_windows(engine_, 1));
  const auto append = std::find_if(program.nodes.begin(), program.nodes.end(),
                                   [](const Node& node) { return node.operation == &op::append_cache; });
  ASSAY_ASSERT(append != program.nodes.end());
  return program.value(append->outputs[0]).dtype;
}

std::unique_ptr<Instance> Scoring::instance(const Recipe& recipe) const {
  auto made = subject_.instance(choose_precision(recipe, native_16bit(subject_.facts)), engine_);
  if (cached_fp32_) made->borrow_from(*cached_fp32_);
  return made;
}

std::optional<std::vector<UnitQuality>> Scoring::qualities(const QualitySet& set,
                                                           const std::vector<Instance*>& instances) const {
  if (takes_plain_instances()) return qualities_of(subject_, set, instances);
  std::vector<Instance*> all = {cached_fp32_.get()};
  all.insert(all.end(), instances.begin(), instances.end());
  EvaluateOptions options;
  options.interrupted = subject_.callbacks.interrupted;
  return qualities_against_first(set, evaluate_decoding(all, set,
                                                        {.capacity = engine_.cache->capacity,
                                                         .chunk = engine_.cache->chunk,
                                                         .graphs = engine_.graphs,
                                                         .evaluate = std::move(options)}));
}

std::int64_t longest_row(const QualitySet& set) {
  std::int64_t longest = 0;
  for (const QualityBatch& batch : set.batches) longest = std::max(longest, batch.extent.seq);
  return longest;
}

}  // namespace assay
