#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/gguf_write.h"
#include "model/config.h"

namespace assay {

/// An entry of a GGUF file's configuration, and the name that config.json has for it. GGUF's are one set for all
/// architectures; config.json's are those that Llama and most decoders after it use.
struct GgufEntryName {
  enum class Kind : std::uint8_t { whole, real, flag };
  const char* stored;  ///< Behind the architecture and a dot.
  const char* name;
  Kind kind;
  const RealRange* range = nullptr;  ///< Of a real one.
};
/// Those that every file has,
std::span<const GgufEntryName> needed_gguf_entries();
/// and those that it may have.
std::span<const GgufEntryName> gguf_entry_names();

/// The configuration as llama.cpp's converter writes it, of a family that GGUF knows. What the file does not say is
/// what reading it back shows: gguf_differences.
std::vector<GgufEntry> gguf_config_entries(const ModelConfig& config);

/// What of the configuration is in no file of its family, because readers know it of the family: biases, and what
/// GgufNames::imply sets. As gguf_difference has it. Throws what `imply` throws, `name` first.
std::string gguf_hindrance(const ModelConfig& config, const std::string& name);

/// The divisor of each rotary pair's frequency that Llama 3.1's scaling stands for ("rope_freqs.weight"); empty where
/// the model has none.
std::vector<float> gguf_rope_divisors(const ModelConfig& config);

/// What a file would say otherwise of the model than it is, "'sliding_window' is 4096, the file says nothing"; empty
/// where they agree. `read`: the file's configuration.
std::string gguf_difference(const ModelConfig& config, const ModelConfig& read);

}  // namespace assay
