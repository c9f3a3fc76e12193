#pragma once

// For the tests of models and of what runs them.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/testing.h"
#include "model/families.h"

namespace assay {

/// Folders of small random models, each with its cases.
inline const std::filesystem::path model_fixtures = ASSAY_SOURCE_DIR "/tests/fixtures/models";
inline constexpr const char* gpt2_folder = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";

/// The folders and GGUF files among them, by name; of the folders, those that hold `file` ("": all).
inline std::vector<std::string> fixtures_with(const std::string& file) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(model_fixtures)) {
    if (file.empty() || std::filesystem::exists(entry.path() / file)) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// "llama-tied.gguf" as the name of a test, which knows no '-' and no '.'.
inline std::string test_name(std::string fixture) {
  std::replace_if(fixture.begin(), fixture.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return fixture;
}

/// A GPT-2 of two layers that takes no time.
inline ModelConfig small_gpt2() {
  ModelConfig c;
  c.family = find_family("gpt2");
  c.vocab_size = 97;
  c.context = 24;
  c.d_model = 32;
  c.layers = 2;
  c.heads = c.kv_heads = 4;
  c.head_dim = 8;
  c.d_ff = 72;
  c.activation = Activation::gelu_tanh;
  return c;
}

}  // namespace assay
