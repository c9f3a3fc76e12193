#pragma once

// For the tests of this room: small models whose widths are whole groups, written in a precision and read back.

#include <cstring>
#include <map>

#include "base/json.h"
#include "model/random_weights.h"
#include "program/passes.h"
#include "quantization/source.h"
#include "runtime/testing.h"

namespace assay {

/// A model of random weights, by config.json's words; what is not said is small. The norms' epsilon is one that f32
/// holds, as files of GGUF have it.
inline Model small_model(Json config) {
  const Json usual = {{"vocab_size", 96},
                      {"hidden_size", 128},
                      {"intermediate_size", 256},
                      {"num_hidden_layers", 2},
                      {"num_attention_heads", 4},
                      {"num_key_value_heads", 2},
                      {"max_position_embeddings", 64},
                      {"rms_norm_eps", 0x1p-17},
                      {"layer_norm_eps", 0x1p-17},
                      {"hidden_act", "silu"}};
  for (const auto& [key, value] : usual.items()) {
    if (!config.contains(key)) config[key] = value;
  }
  Model model;
  model.name = "small";
  model.config = parse_config(config, "config.json");
  model.weights = random_weights(build_program(model.config, {}), model.config, 1);
  for (auto& [name, weight] : model.weights.by_name) weight.stored = "random";
  return model;
}

inline Model small_llama() {
  return small_model({{"model_type", "llama"}, {"tie_word_embeddings", false}});
}

/// The model in a precision on the reference backend, ready to be written.
struct ModelInPrecision {
  MachineFacts facts = plain_facts();
  const Model& model;
  Instance instance;

  ModelInPrecision(const Model& of, const char* precision, const char* overrides = "",
                   const Backend& on = reference_backend())
      : model(of), instance(made(of, precision, overrides, on, facts)) {}
  QuantizationSource source() { return {model, instance, instance.precision().name(), ""}; }

 private:
  static Instance made(const Model& of, const char* precision, const char* overrides, const Backend& on,
                       const MachineFacts& facts) {
    const PrecisionChoice choice = choose_precision(precision, overrides, DType::bf16);
    return Instance(assign_dtypes(build_program(of.config, {}), choice, of.weights.formats()), choice, of.weights, on,
                    facts);
  }
};

inline bool have_the_same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Logits of ids below 97 - 1; of any model whose vocabulary is as small_model's.
inline Tensor small_logits(Instance& instance) {
  Plan plan(instance, {.extent = {1, 12}});
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 12; ++i) ids.push_back(i * 37 % 96);
  plan.set_inputs(ids, {});
  plan.run();
  return plan.output_f32("logits");
}

}  // namespace assay
