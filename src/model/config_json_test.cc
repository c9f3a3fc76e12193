#include "model/config_json.h"
#include "model/bert.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/architecture.h"
#include "model/presets.h"
#include "model/testing.h"

namespace assay {
namespace {

void expect_round_trip(const ModelConfig& c) {
  const Json json = config_json(c);
  const ModelConfig back = parse_config(parse_json(json.dump(), "config.json"), "config.json");
  EXPECT_EQ(config_json(back), json) << json.dump();
  EXPECT_EQ(back.task, c.task);
  EXPECT_EQ(back.head_dim, c.head_dim);
  EXPECT_EQ(back.kv_heads, c.kv_heads);
  EXPECT_EQ(back.norm_epsilon, c.norm_epsilon);
  EXPECT_EQ(back.tied_head, c.tied_head);
  EXPECT_EQ(back.labels, c.labels);
  EXPECT_EQ(back.activation, c.activation);
}

TEST(ConfigJson, EveryPresetComesBack) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    expect_round_trip(preset.config);
  }
}

TEST(ConfigJson, WhatDiffersFromTheFamilysDefaultsComesBack) {
  ModelConfig c = small_gpt2();
  c.activation = Activation::relu;
  c.norm_epsilon = 1e-6;
  c.tied_head = false;
  c.initializer_range = 0.05;
  expect_round_trip(c);

  c = small_gpt2();
  c.family = find_family("llama");
  c.activation = Activation::silu;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.rotary.theta = 500000;
  expect_round_trip(c);
}

TEST(ConfigJson, AnEncodersHeadComesBack) {
  for (const Family& family : families()) {
    if (family.kind != FamilyKind::encoder) continue;
    for (const Task task : {Task::embedding, Task::classification}) {
      ModelConfig c = small_gpt2();
      c.family = &family;
      c.task = task;
      c.labels = 5;
      c.token_types = &family == find_family("distilbert") ? 0 : 2;
      c.position_base = family.tensors == &roberta_tensors ? 0 : -1;
      c.norm = NormKind::layer;
      if (family.rotary) c.window_rotary = Rotary{};
      c.norm_epsilon = 1e-12;
      expect_round_trip(c);
    }
  }
}

}  // namespace
}  // namespace assay
