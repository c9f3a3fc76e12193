#pragma once

// For the tests of models and of what runs them.

#include "base/testing.h"
#include "model/config.h"

namespace assay {

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
