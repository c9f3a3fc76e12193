#include "model/joined_experts.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay {
namespace {

/// Two experts of 32 outputs on 64 inputs, as codes: 128 rows of 64.
struct CodedExperts {
  ModelConfig config = {.d_model = 64, .experts = 2, .expert_d_ff = 64};
  std::vector<std::byte> codes = std::vector<std::byte>(2 * 128 * 32, std::byte{0x21});
  std::vector<std::byte> exponents = std::vector<std::byte>(2 * 128 * 2, std::byte{127});
  std::map<std::string, Weight> tensors;

  CodedExperts() {
    add("gate_up_proj_blocks", {2, 128, 2, 16}, codes);
    add("gate_up_proj_scales", {2, 128, 2}, exponents);
  }
  void add(const std::string& kind, const Shape& shape, std::span<const std::byte> bytes) {
    const std::string name = "layers.0.mlp.experts." + kind;
    Weight& weight = tensors[name];
    weight.name = weight.checkpoint_name = name;
    weight.shape = shape;
    weight.stored = "U8";
    weight.file = "f";
    weight.bytes = bytes;
  }
  std::string fault() {
    return user_error_of([&] { split_experts(tensors, config); });
  }
};

TEST(JoinedExperts, GateAndUpTakeTurnsAndCodesTheLowBitsFirst) {
  CodedExperts experts;
  for (std::size_t byte = 0; byte < experts.codes.size(); ++byte) {
    const std::size_t row = byte / 32;
    experts.codes[byte] = row % 2 == 0 ? std::byte{0x21} : std::byte{0xF7};
  }
  experts.exponents[2 * 128 + 2] = std::byte{130};  // Of expert 1's first up.
  split_experts(experts.tensors, experts.config);
  EXPECT_EQ(experts.tensors.size(), 4U);
  const WeightData gate = experts.tensors.at("layers.0.mlp.experts.1.gate_proj.weight").load();
  const WeightData up = experts.tensors.at("layers.0.mlp.experts.1.up_proj.weight").load();
  EXPECT_EQ(gate.view.shape, (Shape{64, 64}));
  EXPECT_EQ(gate.view.as<float>()[0], 0.5F);
  EXPECT_EQ(gate.view.as<float>()[1], 1.0F);
  EXPECT_EQ(up.view.as<float>()[0], 48.0F);
  EXPECT_EQ(up.view.as<float>()[1], -48.0F);
  EXPECT_EQ(up.view.as<float>()[32], 6.0F);
}

TEST(JoinedExperts, BlocksHoldTheSameValues) {
  CodedExperts experts;
  for (std::size_t i = 0; i < experts.codes.size(); ++i) experts.codes[i] = static_cast<std::byte>(i * 37 % 251);
  for (std::size_t i = 0; i < experts.exponents.size(); ++i) experts.exponents[i] = static_cast<std::byte>(i % 250);
  split_experts(experts.tensors, experts.config);
  const Weight& weight = experts.tensors.at("layers.0.mlp.experts.0.up_proj.weight");
  ASSERT_EQ(weight.blocks, &blocks::mxfp4);
  const WeightData rows = weight.load_blocks();
  std::vector<float> expanded(64 * 64);
  expand_blocks(*weight.blocks, {rows.view.data, rows.view.bytes()}, expanded);
  const WeightData values = weight.load();
  EXPECT_TRUE(std::equal(expanded.begin(), expanded.end(), values.view.as<float>()));
}

TEST(JoinedExperts, WhatDoesNotFitIsNamed) {
  CodedExperts short_one;
  short_one.tensors.at("layers.0.mlp.experts.gate_up_proj_scales").shape = {2, 128, 1};
  EXPECT_EQ(short_one.fault(),
            "f: tensor 'layers.0.mlp.experts.gate_up_proj_scales' is U8 (2, 128, 1), its quantisation asks for U8 "
            "(2, 128, 2)");
  CodedExperts without_scales;
  without_scales.tensors.erase("layers.0.mlp.experts.gate_up_proj_scales");
  EXPECT_EQ(without_scales.fault(),
            "f: tensor 'layers.0.mlp.experts.gate_up_proj_blocks' lacks "
            "'layers.0.mlp.experts.gate_up_proj_scales' beside it");
  CodedExperts no_floats;
  no_floats.add("down_proj", {2, 64, 64}, no_floats.codes);
  EXPECT_EQ(no_floats.fault(), "f: tensor 'layers.0.mlp.experts.down_proj' is none of BF16, F16 and F32");
}

TEST(JoinedExperts, AScaleThatIsNoNumberIsNamedWhenItIsRead) {
  CodedExperts experts;
  experts.exponents[1] = std::byte{255};
  split_experts(experts.tensors, experts.config);
  EXPECT_EQ(user_error_of([&] { (void)experts.tensors.at("layers.0.mlp.experts.0.gate_proj.weight").load(); }),
            "f: tensor 'layers.0.mlp.experts.gate_up_proj_scales' holds NaN or infinite scales");
}

}  // namespace
}  // namespace assay
