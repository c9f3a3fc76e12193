#include <gtest/gtest.h>

#include <algorithm>

#include "program/passes.h"
#include "program/testing.h"

namespace assay {
namespace {

Program fused(const char* precision, const char* overrides = "") {
  return fuse(assign_dtypes(small_decoder(), choose_precision(precision, overrides, DType::bf16)));
}

/// Every value is made, given or constant before it is read.
bool in_order(const Program& program) {
  std::vector<bool> known(program.values.size());
  for (std::size_t id = 0; id < known.size(); ++id) known[id] = program.values[id].source != Source::computed;
  for (const Node& node : program.nodes) {
    for (const ValueId id : node.inputs) {
      if (id != no_value && !known[static_cast<std::size_t>(id)]) return false;
    }
    for (const ValueId id : node.outputs) {
      if (id != no_value) known[static_cast<std::size_t>(id)] = true;
    }
  }
  return std::all_of(program.outputs.begin(), program.outputs.end(),
                     [&](const NamedValue& out) { return known[static_cast<std::size_t>(out.value)]; });
}

TEST(Fuse, KeepsEveryPrecisionsProgramInOrder) {
  for (const Precision& precision : precision_table()) {
    for (const char* overrides : {"", "norm=f16,softmax=f16,head=f32", "attention=f32", "mlp=f32"}) {
      if (!runs_on(precision, "cpu") || needs_calibration(precision.scheme)) continue;
      EXPECT_TRUE(in_order(fused(precision.name, overrides))) << precision.name << " " << overrides;
    }
  }
}

/// A sum becomes one operation with its norm, where the sum stood: the gain is made before.
TEST(Fuse, GainsThatAreMadeOfParametersStandBeforeTheirNorm) {
  for (const char* precision : {"fp32", "mixed-bf16"}) {
    Builder b;
    const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, dim(8)});
    const ValueId sum = b.add(op::add, {x, x});
    const ValueId gain = b.add(op::affine, {b.weight("norm.weight", {dim(8)})}, {.shift = 1});
    b.output("logits", b.add(op::rms_norm, {sum, gain}, {.epsilon = 1e-5}));
    const Program program = b.take();
    const PrecisionChoice choice = choose_precision(precision, "", DType::bf16);
    const Program trained = fuse(assign_training_dtypes(program, choice), Purpose::training);
    EXPECT_EQ(count_of(trained, op::add_rms_norm), 1U);
    EXPECT_TRUE(in_order(trained) && in_order(fuse(assign_dtypes(program, choice)))) << precision;
  }
}

TEST(Fuse, JoinsQueryKeyAndValue) {
  const Program program = fused("fp32");
  ASSERT_EQ(count_of(program, op::linear), 5U) << "joined, out, up, down, head";
  const Node& joined = *nodes_of(program, op::linear)[0];
  EXPECT_EQ(joined.path, "layers.0.attn.joined");
  EXPECT_EQ(to_string(program.value(joined.outputs[0]).shape), "(B, T, 18)");
  EXPECT_TRUE(program.value(joined.inputs[1]).constant);
  EXPECT_EQ(to_string(program.value(joined.inputs[2]).shape), "(18)");
  std::vector<std::int64_t> offsets;
  for (const Node* slice : nodes_of(program, op::slice_columns)) offsets.push_back(slice->attributes.offset);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 6, 12}));
}

TEST(Fuse, JoinsQuantisedLinearsWithTheirScales) {
  const Program program = fused("int8");
  ASSERT_EQ(count_of(program, op::quantized_linear), 5U);
  const Node& joined = *nodes_of(program, op::quantized_linear)[0];
  EXPECT_EQ(to_string(program.value(joined.inputs[2]).shape), "(18, 6)");
  EXPECT_EQ(to_string(program.value(joined.inputs[3]).shape), "(18)");
}

TEST(Fuse, StaticScalesAreWrittenByWhatComesBefore) {
  const Program built = small_decoder();
  PrecisionChoice choice = choose_precision("int8-static", "", DType::bf16);
  choice.scales = made_up_scales(built);
  const Program apart = assign_dtypes(built, choice);
  EXPECT_EQ(count_of(apart, op::quantize_rows), 0U);
  const Program program = fuse(apart);
  EXPECT_TRUE(in_order(program));
  const std::vector<const Node*> linears = nodes_of(program, op::quantized_linear);
  ASSERT_EQ(linears.size(), 5U) << "joined, out, up, down, head";
  for (const Node* linear : linears) {
    EXPECT_EQ(dtype_of(program, linear->inputs[0]), DType::s8) << linear->path;
    EXPECT_EQ(linear->inputs[1], no_value) << linear->path;
    EXPECT_TRUE(program.value(linear->inputs[3]).constant) << linear->path << ": holds the input's scale";
  }
  EXPECT_EQ(dtype_of(program, linears[2]->outputs[0]), DType::s8) << "from up to down nothing is stored but s8";
  EXPECT_EQ(linears[2]->attributes.output_scale, choice.scales->at("layers.0.mlp.down_proj"));
  const auto quantises = [](const Node* cast) { return cast->attributes.output_scale != 0; };
  const std::vector<const Node*> casts = nodes_of(program, op::cast);
  EXPECT_EQ(std::count_if(casts.begin(), casts.end(), quantises), 1) << "behind attention";
}

TEST(Fuse, PutsActivationsIntoTheirLinear) {
  const Program program = fused("bf16");
  EXPECT_EQ(count_of(program, op::activation), 0U);
  EXPECT_EQ(nodes_of(program, op::linear)[2]->attributes.activation, Activation::gelu_tanh);
}

TEST(Fuse, JoinsTheResidualWithItsNormAndKeepsASumThatIsReadAgain) {
  const Program program = fused("fp32");
  EXPECT_EQ(count_of(program, op::add), 0U);
  const std::vector<const Node*> sums = nodes_of(program, op::add_layer_norm);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_NE(sums[0]->outputs[0], no_value) << "the second block reads the first sum";
  EXPECT_EQ(sums[1]->outputs[0], no_value) << "nobody reads the last sum but its norm";
}

TEST(Fuse, AttentionStoresNoMatrixOfScores) {
  for (const char* precision : {"fp32", "bf16", "mixed-bf16", "mixed-fp16", "int8"}) {
    const Program program = fused(precision);
    ASSERT_EQ(count_of(program, op::attention), 1U) << precision;
    EXPECT_EQ(count_of(program, op::softmax), 0U) << precision;
    EXPECT_TRUE(nodes_of(program, op::attention)[0]->attributes.causal);
    EXPECT_EQ(nodes_of(program, op::attention)[0]->inputs.size(), 4U) << "q, k, v and the mask";
    EXPECT_EQ(nodes_of(program, op::attention)[0]->attributes.scale, 0.7);
  }
}

TEST(Fuse, AnOverriddenSoftmaxOrNormStaysApart) {
  const Program program = fused("bf16", "softmax=f16,norm=f16");
  EXPECT_EQ(count_of(program, op::attention), 0U);
  EXPECT_EQ(count_of(program, op::softmax), 1U);
  EXPECT_EQ(count_of(program, op::add_layer_norm), 0U);
  EXPECT_EQ(count_of(program, op::layer_norm), 3U);
}

TEST(Fuse, GateAndUpBecomeOneLinearAndOneGate) {
  const Program program = fuse(small_gated_mlp());
  ASSERT_EQ(count_of(program, op::linear), 2U);
  EXPECT_EQ(to_string(program.value(nodes_of(program, op::linear)[0]->outputs[0]).shape), "(B, T, 20)");
  ASSERT_EQ(count_of(program, op::gated_activation), 1U);
  EXPECT_EQ(nodes_of(program, op::gated_activation)[0]->attributes.activation, Activation::silu);
  EXPECT_EQ(count_of(program, op::multiply) + count_of(program, op::activation) + count_of(program, op::slice_columns),
            0U);
}

TEST(Fuse, CastsBehindAnF32ResultAreDoneWhenItIsStored) {
  const Program apart = assign_dtypes(small_decoder(), choose_precision("mixed-bf16", "", std::nullopt));
  const auto casts_at_run_time = [](const Program& program) {
    std::size_t casts = 0;
    for (const Node* node : nodes_of(program, op::cast)) casts += !program.value(node->outputs[0]).constant;
    return casts;
  };
  const Program joined = fuse(apart);
  EXPECT_LT(casts_at_run_time(joined), casts_at_run_time(apart));
  for (const Node* node : nodes_of(joined, op::linear)) EXPECT_EQ(dtype_of(joined, node->inputs[0]), DType::bf16);
}

TEST(Fuse, WhatIsReadTwiceIsNotSwallowed) {
  Program program = small_decoder();
  const ValueId up = nodes_of(program, op::activation)[0]->inputs[0];
  program.outputs.push_back({"before", up});
  const Program result = fuse(program);
  EXPECT_EQ(count_of(result, op::activation), 1U);
  EXPECT_TRUE(in_order(result));
}

}  // namespace
}  // namespace assay
