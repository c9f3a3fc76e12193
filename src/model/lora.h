#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "model/lora_options.h"
#include "model/model.h"
#include "model/stored_order.h"

namespace assay {

// Low-rank adapters (program/adapters.h) of a model, as PEFT keeps them in a folder:
//
//   adapter_config.json        r, lora_alpha, target_modules, ...
//   adapter_model.safetensors  base_model.model.<module>.lora_A.weight (r, in), .lora_B.weight (out, r), and heads that
//                              are trained whole: base_model.model.classifier.weight
//
// Modules have the names of transformers' classes, the bare model's prefix included. What a model adapts stands in its
// configuration (ModelConfig::adapters), so that build_program emits it; the values are weights like all others.

inline constexpr const char* adapter_config_file = "adapter_config.json";
inline constexpr const char* adapter_weights_file = "adapter_model.safetensors";

/// The model with fresh adapters: A uniform in +-1 / sqrt(in) (PEFT's kaiming_uniform_ with a = sqrt(5)), drawn from
/// the seed, B zero. A classifier's last layer is trained with them (PEFT's modules_to_save), of a fresh head all.
/// Throws a user error for a module that the model has not.
Model with_fresh_lora(Model model, const LoraOptions& options, std::uint64_t seed);

/// The model with the adapters of a folder of PEFT's layout; of an encoder also the head that stands there. Throws a
/// user error naming the file and what is wrong with it, or not built (DoRA, biases).
Model with_lora_from(Model model, const std::filesystem::path& folder);

/// Whether a training of the model with its adapters changes that parameter: theirs, and ModelConfig::trained_heads.
bool is_trained_beside_adapters(const std::string& parameter, const ModelConfig& config);

/// What PEFT calls a parameter that is trained beside adapters, and how its file holds it.
std::string adapter_file_name(const std::string& parameter, const ModelConfig& config);
StoredOrder adapter_file_order(const std::string& parameter, const ModelConfig& config);
/// adapter_config.json of the model's adapters.
Json adapter_config(const Model& model, double dropout);

/// The model without adapters whose weights are W + scale B A, in f32 where something is added. `model` must outlive
/// it.
Model with_merged_lora(const Model& model);

}  // namespace assay
