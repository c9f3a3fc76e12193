#pragma once

// For the tests of this room: a small model in any precision on any backend.

#include "model/architecture.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "program/passes.h"
#include "runtime/plan.h"

namespace assay {

/// Facts of a machine with two threads, nothing measured and as much memory as it likes.
inline MachineFacts plain_facts() {
  MachineFacts facts;
  facts.threads = 2;
  return facts;
}

/// A model of random weights and what is made of it.
struct SmallModel {
  ModelConfig config = small_gpt2();
  MachineFacts facts = plain_facts();
  Weights weights = random_weights(build_program(config, {}), config, 1);

  /// An instance on the reference backend, where every precision exists; keep the model for as long.
  Instance instance(const char* precision, const char* overrides = "", const Backend& on = reference_backend()) const {
    const PrecisionChoice choice = choose_precision(precision, overrides, DType::bf16);
    return Instance(fuse(assign_dtypes(build_program(config, {}), choice)), choice, weights, on, facts);
  }
};

inline std::vector<std::int32_t> some_ids(const Extent& extent) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < extent.batch * extent.seq; ++i) ids.push_back(i * 37 % 97);
  return ids;
}

/// Logits of some ids, no mask.
inline Tensor logits_of(Instance& instance, const Extent& extent) {
  Plan plan(instance, {.extent = extent});
  plan.set_inputs(some_ids(extent), {});
  plan.run();
  return plan.output_f32("logits");
}

}  // namespace assay
