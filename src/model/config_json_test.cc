#include "model/config_json.h"

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
  c.family = Family::llama;
  c.activation = Activation::silu;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.rope_theta = 500000;
  expect_round_trip(c);
}

TEST(ConfigJson, AnEncodersHeadComesBack) {
  for (const Family family : {Family::bert, Family::distilbert}) {
    for (const Task task : {Task::embedding, Task::classification}) {
      ModelConfig c = small_gpt2();
      c.family = family;
      c.task = task;
      c.labels = 5;
      c.token_types = family == Family::bert ? 2 : 0;
      c.norm_epsilon = 1e-12;
      expect_round_trip(c);
    }
  }
}

TEST(PublishedName, HeadsTakeNoPrefix) {
  EXPECT_EQ(published_name("h.0.attn.c_attn.weight", Family::gpt2), "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(published_name("lm_head.weight", Family::llama), "lm_head.weight");
  EXPECT_EQ(published_name("pooler.dense.weight", Family::bert), "bert.pooler.dense.weight");
  EXPECT_EQ(published_name("pre_classifier.bias", Family::distilbert), "pre_classifier.bias");
  EXPECT_EQ(published_name("layers.0.ln1.weight", Family::cs336), "layers.0.ln1.weight");
}

}  // namespace
}  // namespace assay
