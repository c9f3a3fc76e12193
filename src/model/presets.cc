#include "model/presets.h"

#include "model/families.h"

namespace assay {
namespace {

ModelConfig gpt2(std::int64_t d_model, std::int64_t layers, std::int64_t heads) {
  ModelConfig c;
  c.family = find_family("gpt2");
  c.vocab_size = 50257;
  c.context = 1024;
  c.d_model = d_model;
  c.layers = layers;
  c.heads = c.kv_heads = heads;
  c.head_dim = d_model / heads;
  c.d_ff = 4 * d_model;
  c.activation = Activation::gelu_tanh;
  return c;
}

ModelConfig encoder_of(const char* family, Task task, std::int64_t layers) {
  ModelConfig c;
  c.family = find_family(family);
  c.task = task;
  c.vocab_size = 30522;
  c.context = 512;
  c.d_model = 768;
  c.layers = layers;
  c.heads = c.kv_heads = 12;
  c.head_dim = 64;
  c.d_ff = 3072;
  c.norm_epsilon = 1e-12;
  c.padding_id = 0;
  return c;
}

ModelConfig bert() {
  ModelConfig c = encoder_of("bert", Task::embedding, 12);
  c.token_types = 2;
  return c;
}

/// The sizes of the CS336 systems assignment (table 1), vocabulary 10,000. The context is no parameter of this model
/// (rotary positions); 8,192 is how far it may be run.
ModelConfig cs336(std::int64_t d_model, std::int64_t d_ff, std::int64_t layers, std::int64_t heads) {
  ModelConfig c;
  c.family = find_family("cs336");
  c.vocab_size = 10000;
  c.context = 8192;
  c.d_model = d_model;
  c.layers = layers;
  c.heads = c.kv_heads = heads;
  c.head_dim = d_model / heads;
  c.d_ff = d_ff;
  c.activation = Activation::silu;
  c.tied_head = false;
  return c;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {"gpt2", gpt2(768, 12, 12)},
      {"gpt2-medium", gpt2(1024, 24, 16)},
      {"gpt2-large", gpt2(1280, 36, 20)},
      {"gpt2-xl", gpt2(1600, 48, 25)},
      {"distilbert-base", encoder_of("distilbert", Task::classification, 6)},
      {"bert-base", bert()},
      {"cs336-small", cs336(768, 3072, 12, 12)},
      {"cs336-medium", cs336(1024, 4096, 24, 16)},
      {"cs336-large", cs336(1280, 5120, 36, 20)},
      {"cs336-xl", cs336(1600, 6400, 48, 25)},
      {"cs336-2.7b", cs336(2560, 10240, 32, 32)},
      {"cs336-10b", cs336(4608, 12288, 50, 36)},
  };
  return all;
}

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (name == preset.name) return &preset;
  }
  return nullptr;
}

}  // namespace assay
