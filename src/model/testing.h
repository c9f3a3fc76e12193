#pragma once

// For the tests of models and of what runs them.

#include "base/testing.h"
#include "model/config.h"

namespace assay {

/// Folders of small random models, each with its cases.
inline const std::filesystem::path model_fixtures = ASSAY_SOURCE_DIR "/tests/fixtures/models";
inline constexpr const char* gpt2_folder = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";

/// A GPT-2 of two layers that takes no time.
inline ModelConfig small_gpt2() {
  ModelConfig c;
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
