#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "generation/generate.h"
#include "studies/shared/engine.h"

namespace assay {

/// Where prompts come from: exactly one of them is given.
struct PromptSources {
  std::vector<std::string> texts;     ///< One a row.
  std::filesystem::path text_file;    ///< One row: its exact bytes.
  std::filesystem::path tokens_file;  ///< Rows of ids with a mask, padded on either side: needs no tokenizer.
};

/// Whether the prompt is what a user says to a model that was trained on conversations.
enum class Chat : std::uint8_t { off, on };

struct GenerateRequest {
  std::string model;
  PromptSources prompts;
  Chat chat = Chat::off;
  std::string system;                   ///< What the conversation begins with; empty: as the template has it.
  std::optional<bool> enable_thinking;  ///< Of templates that ask; absent: as they have it.
  std::int64_t most_new = 128;
  Sampling sampling;
  Logprobs logprobs = Logprobs::kept;
  std::string precision = "fp32";
  EngineOptions engine;
  ModelOptions model_options;
};

struct GenerateCallbacks {
  /// Each row's text as it becomes certain; not called where there is no tokenizer.
  std::function<void(std::int64_t row, const std::string& text)> text;
  InterruptFlag interrupted = nullptr;
};

struct Generated {
  Generation generation;
  std::vector<std::string> texts;           ///< Of the new ids, special tokens left out; empty without a tokenizer.
  std::vector<std::int64_t> prompt_tokens;  ///< Of each row.
  std::int64_t cache_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< Weights, cache and buffers.
  std::string precision;
};

/// Continues the prompts, all rows together. Throws user errors for a model that is no decoder, prompts that are empty
/// or, with the new ids, longer than the model's context; Error(lacking) for a cache that memory has no room for.
Generated generate_text(const GenerateRequest& request, const MachineFacts& facts, const GenerateCallbacks& callbacks);

}  // namespace assay
