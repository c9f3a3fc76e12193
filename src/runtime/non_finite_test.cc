#include "runtime/non_finite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "hardware/isa_cap.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "runtime/guarded_device_testing.h"
#include "runtime/testing.h"

namespace assay {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr Extent extent{2, 6};

ModelConfig small(const Family& family) {
  ModelConfig c = small_gpt2();
  c.family = &family;
  c.task = family.kind == FamilyKind::encoder ? Task::classification : Task::language_model;
  c.token_types = &family == find_family("bert") ? 2 : 0;
  c.activation = family.rotary ? Activation::silu : Activation::gelu_erf;
  c.tied_head = false;
  c.layers = 2;
  c.initializer_range = 0.3;
  if (std::string_view(family.name) == "gptj") c.norms = NormPlace::shared;  // It has no other way.
  return c;
}

/// One family of each emitter: with these sizes the others are the same program.
std::vector<ModelConfig> of_every_emitter() {
  std::vector<ModelConfig> configs;
  for (const Family& family : families()) {
    const auto emits_alike = [&](const ModelConfig& other) { return other.family->emit == family.emit; };
    if (std::none_of(configs.begin(), configs.end(), emits_alike)) configs.push_back(small(family));
  }
  return configs;
}

/// Changes what a weight reads.
void change(Weight& weight, const std::function<void(float* values, std::int64_t count)>& how) {
  weight.load = [load = weight.load, how] {
    WeightData data = load();
    data.owned = converted(data.view, DType::f32);
    how(data.owned.as<float>(), data.owned.count());
    data.view = data.owned.view();
    return data;
  };
}

/// A table gives only the rows that are looked up.
bool is_table(const std::string& weight) {
  for (const char* part : {"wte", "wpe", "embeddings.weight", "embed_"}) {
    if (weight.find(part) != std::string::npos) return true;
  }
  return weight.ends_with("_embeddings.weight");
}

struct Subjects {
  ModelConfig config;
  MachineFacts facts = plain_facts();
  Weights weights;

  explicit Subjects(const ModelConfig& c) : config(c), weights(random_weights(build_program(c, {}), c, 1)) {}
  std::unique_ptr<Instance> instance(const char* precision, const Backend& backend, Fusion fusion = Fusion::on) const {
    const PrecisionChoice choice = choose_precision(precision, "", DType::bf16);
    Program program = assign_dtypes(build_program(config, {}), choice);
    if (fusion == Fusion::on) program = fuse(program);
    return std::make_unique<Instance>(std::move(program), choice, weights, backend, facts);
  }
};

std::optional<NonFiniteRun> look(Instance& instance, std::vector<std::int32_t> ids = some_ids(extent),
                                 const std::vector<std::uint8_t>& mask = {}) {
  Plan plan(instance, {.extent = extent, .mask = mask.empty() ? AttentionMask::absent : AttentionMask::given});
  plan.set_inputs(ids, mask);
  plan.run();
  return find_non_finite(plan, "logits", mask);
}

/// What this machine has, and the instruction sets below it.
MachineFacts capped(const std::string& cap) {
  static const MachineFacts machine = read_machine_facts();
  MachineFacts facts = machine;
  facts.threads = 1;
  facts.available_bytes = 0;
  if (cap == "all") return facts;
  const bool avx2 = facts.isa.avx2 && cap == "avx2";
  facts.isa = {};
  facts.isa.avx2 = avx2;
  return facts;
}

/// Each a set of kernels of its own here.
std::vector<std::string> different_caps() {
  std::vector<std::string> caps = {"reference", "all"};
  for (const char* cap : {"avx2", "none"}) {
    if (to_string(capped(cap).isa) != to_string(capped(caps.back()).isa)) caps.emplace_back(cap);
  }
  return caps;
}

/// No kernel may make a number of what is none: one NaN in any weight is seen in the logits, whatever quantises,
/// clamps or takes a maximum on the way, and is found in the layer that the weight belongs to.
class Poisoned : public testing::TestWithParam<ModelConfig> {};

void expect_found(const Subjects& poisoned, const std::string& weight, const Precision& precision,
                  const std::string& cap) {
  const auto instance = poisoned.instance(precision.name, cap == "reference" ? reference_backend() : cpu_backend());
  const auto run = look(*instance);
  const std::string what = fmt::format("{} {} {}", weight, precision.name, cap);
  ASSERT_TRUE(run.has_value()) << what;
  EXPECT_FALSE(run->path.empty()) << what;
  const bool in_layer = weight.find(".1.") != std::string::npos;
  EXPECT_TRUE(!in_layer || run->path.starts_with("layers.1.")) << what << ": " << words(*run);
}

/// Each weight meets every precision, under one of the caps by turns: over weights and families each precision meets
/// all of them.
TEST_P(Poisoned, OneNanInAnyWeightIsSeenInEveryPrecision) {
  const Subjects sound(GetParam());
  const std::vector<std::string> caps = different_caps();
  std::size_t turn = 0;
  for (const auto& [name, weight] : sound.weights.by_name) {
    const bool whole = is_table(name);
    if (name.find(".0.") != std::string::npos) continue;  // One layer is as good as the other.
    Subjects poisoned = sound;
    change(poisoned.weights.by_name.at(name),
           [&](float* values, std::int64_t count) { std::fill_n(values, whole ? count : 1, nan_value); });
    for (std::size_t first = turn++; const Precision& precision : precision_table()) {
      const std::string& cap = caps[first++ % caps.size()];
      if (!runs_on(precision, "cpu") || needs_calibration(precision.scheme)) continue;
      const bool is_widened = precision.scheme == Scheme::none && precision.weights != DType::f32;
      if (is_widened && (cap == "reference" || cap == "avx2")) continue;  // Widened there and multiplied in f32.
      poisoned.facts = capped(cap);
      expect_found(poisoned, name, precision, cap);
    }
  }
}

std::string family_name(const testing::TestParamInfo<ModelConfig>& info) {
  return test_name(info.param.family->name);
}

INSTANTIATE_TEST_SUITE_P(Families, Poisoned, testing::ValuesIn(of_every_emitter()), family_name);

TEST(NonFinite, WhatADeviceMadeIsLookedAtInACopy) {
  Subjects poisoned(small(*find_family("gpt2")));
  const auto sound = poisoned.instance("bf16", guarded_backend());
  EXPECT_FALSE(look(*sound).has_value());
  change(poisoned.weights.by_name.at("h.1.ln_2.bias"), [](float* values, std::int64_t) { values[3] = -INFINITY; });
  const auto run = look(*poisoned.instance("bf16", guarded_backend()));
  ASSERT_TRUE(run.has_value());
  EXPECT_TRUE(run->path.starts_with("layers.1.")) << words(*run);
}

/// Weights that only fp16 cannot hold the results of: 16 bits of range are the cause, and bf16 has them not.
TEST(NonFinite, OverflowIsFoundWhereItHappens) {
  Subjects large(small(*find_family("gpt2")));
  for (const char* name : {"h.1.mlp.c_fc.weight", "h.1.mlp.c_proj.weight"}) {
    change(large.weights.by_name.at(name), [](float* values, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) values[i] *= 300;
    });
  }
  for (const char* precision : {"fp32", "bf16", "mixed-bf16"})
    EXPECT_FALSE(look(*large.instance(precision, cpu_backend())).has_value()) << precision;
  const auto run = look(*large.instance("fp16", cpu_backend()));
  ASSERT_TRUE(run.has_value());
  EXPECT_TRUE(run->path.starts_with("layers.1.mlp.")) << words(*run);
  EXPECT_TRUE(std::isinf(run->first.value)) << words(*run);
  EXPECT_NE(words(*run).find("infinity"), std::string::npos);
}

/// A decoder of one layer in fp16, whose residual stream overflows behind the attention where id 96 stands: what an
/// attention sees of a NaN, it hands on to others, zero times NaN being NaN.
Subjects overflowing_at_96() {
  ModelConfig config = small(*find_family("gpt2"));
  config.layers = 1;
  Subjects subjects(config);
  change(subjects.weights.by_name.at("wte.weight"),
         [](float* values, std::int64_t) { std::fill_n(values + 96 * 32, 32, 65000.0F); });
  change(subjects.weights.by_name.at("h.0.attn.c_proj.bias"),
         [](float* values, std::int64_t count) { std::fill_n(values, count, 1000.0F); });
  return subjects;
}

/// One position of one row.
TEST(NonFinite, NamesTheOnlyPosition) {
  const Subjects subjects = overflowing_at_96();
  std::vector<std::int32_t> ids(12, 5);
  ids[11] = 96;
  const auto run = look(*subjects.instance("fp16", cpu_backend()), ids);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->found.place, (Shape{1, 5, 0}));
  EXPECT_TRUE(run->path.starts_with("layers.0.")) << words(*run);
  EXPECT_EQ(run->first.place, (Shape{1, 5, 0})) << words(*run);
  EXPECT_FALSE(look(*subjects.instance("bf16", cpu_backend()), ids).has_value());
}

/// What stands at padding is nobody's result, on either side.
TEST(NonFinite, PaddingDoesNotCount) {
  const Subjects subjects = overflowing_at_96();
  std::vector<std::int32_t> ids(12, 5);
  std::vector<std::uint8_t> mask(12, 1);
  for (const std::size_t at : {4, 5, 6}) {
    ids[at] = 96;
    mask[at] = 0;
  }
  for (const Fusion fusion : {Fusion::on, Fusion::off}) {
    const auto instance = subjects.instance("fp16", cpu_backend(), fusion);
    Plan plan(*instance, {.extent = extent, .mask = AttentionMask::given});
    plan.set_inputs(ids, mask);
    plan.run();
    EXPECT_FALSE(find_non_finite(plan, "logits", mask).has_value());
    const auto bare = find_non_finite(plan, "logits", {});
    ASSERT_TRUE(bare.has_value());
    EXPECT_EQ(bare->found.place, (Shape{0, 4, 0}));
    // Of padding and a real token, the real one is named.
    ids[3] = 96;
    plan.set_inputs(ids, mask);
    plan.run();
    const auto both = find_non_finite(plan, "logits", mask);
    ASSERT_TRUE(both.has_value());
    EXPECT_EQ(both->found.place, (Shape{0, 3, 0}));
    EXPECT_EQ(both->first.place, (Shape{0, 3, 0}));
    ids[3] = 5;
  }
}

}  // namespace
}  // namespace assay
