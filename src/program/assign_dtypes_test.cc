#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"
#include "program/passes.h"
#include "program/testing.h"

namespace assay {
namespace {

Program assigned(const char* precision, const char* overrides = "", std::optional<DType> native16 = DType::bf16) {
  return assign_dtypes(small_decoder(), choose_precision(precision, overrides, native16));
}

DType out_of(const Program& program, const Node& node) {
  return dtype_of(program, node.outputs[0]);
}

/// Dtypes that a float row of the table gives to the small decoder.
struct Expected {
  const char* precision;
  DType operand, linear_out, norm_in, residual;
};

class FloatRows : public testing::TestWithParam<Expected> {};

TEST_P(FloatRows, GiveLinearsNormsAndResidualsTheirDtypes) {
  const Expected& expected = GetParam();
  const Program program = assigned(expected.precision);
  ASSERT_EQ(count_of(program, op::linear), 7U);
  for (const Node* node : nodes_of(program, op::linear)) {
    EXPECT_EQ(dtype_of(program, node->inputs[0]), expected.operand) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[1]), expected.operand) << node->path;
    EXPECT_EQ(out_of(program, *node), expected.linear_out) << node->path;
  }
  for (const Operation* operation : {&op::attention_scores, &op::attention_context}) {
    EXPECT_EQ(dtype_of(program, nodes_of(program, *operation)[0]->inputs[0]), expected.operand) << operation->name;
  }
  for (const Operation* operation : {&op::layer_norm, &op::softmax}) {
    const Node& node = *nodes_of(program, *operation)[0];
    EXPECT_EQ(dtype_of(program, node.inputs[0]), expected.norm_in) << operation->name;
    EXPECT_EQ(node.attributes.math, DType::f32) << operation->name;
  }
  for (const Node* node : nodes_of(program, op::layer_norm)) {
    EXPECT_EQ(dtype_of(program, node->inputs[1]), DType::f32) << "gains reach kernels in f32";
  }
  for (const Node* node : nodes_of(program, op::add)) EXPECT_EQ(out_of(program, *node), expected.residual);
}

INSTANTIATE_TEST_SUITE_P(Table, FloatRows,
                         testing::Values(Expected{"fp32", DType::f32, DType::f32, DType::f32, DType::f32},
                                         Expected{"fp16", DType::f16, DType::f16, DType::f16, DType::f16},
                                         Expected{"bf16", DType::bf16, DType::bf16, DType::bf16, DType::bf16},
                                         // f32 embeddings keep the residual stream in the widest dtype of its parts
                                         Expected{"mixed-fp16", DType::f16, DType::f16, DType::f32, DType::f32},
                                         Expected{"mixed-bf16", DType::bf16, DType::bf16, DType::f32, DType::f32},
                                         Expected{"fp16-acc16", DType::f16, DType::f16, DType::f16, DType::f16}),
                         [](const auto& tested) {
                           std::string name = tested.param.precision;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(AssignDtypes, Fp32InsertsNothing) {
  EXPECT_EQ(assigned("fp32").nodes.size(), small_decoder().nodes.size());
}

TEST(AssignDtypes, AWeightIsCastOnceHoweverOftenItIsRead) {
  const Program program = assigned("bf16");
  EXPECT_EQ(nodes_of(program, op::embedding)[0]->inputs[1], nodes_of(program, op::linear)[6]->inputs[1]);
  for (const Value& value : program.values) {
    if (value.source != Source::weight) continue;
    EXPECT_EQ(value.dtype, DType::f32) << value.name << ": as the checkpoint has it";
  }
}

TEST(AssignDtypes, MixedReadsTheF32TableAndA16BitHead) {
  const Program program = assigned("mixed-bf16");
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::embedding)[0]->inputs[1]), DType::f32);
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::linear)[6]->inputs[1]), DType::bf16);
}

TEST(AssignDtypes, SixteenBitRowsRoundGainsAndBiasesToHowTheyAreStored) {
  const Program program = assigned("bf16");
  const Node& norm = *nodes_of(program, op::layer_norm)[0];
  for (const Node& node : program.nodes) {
    if (node.outputs[0] != norm.inputs[1]) continue;
    EXPECT_EQ(node.operation, &op::cast);
    EXPECT_EQ(dtype_of(program, node.inputs[0]), DType::bf16);
    return;
  }
  FAIL() << "the gain is not the result of a cast";
}

TEST(AssignDtypes, Acc16SaysItsAccumulatorAndChunk) {
  const Program program = assigned("fp16-acc16");
  for (const Node* node : nodes_of(program, op::linear)) {
    EXPECT_EQ(node->attributes.accumulator, DType::f16);
    EXPECT_EQ(node->attributes.chunk, 64);
  }
}

TEST(AssignDtypes, Int8QuantisesEveryLinearTheHeadIncluded) {
  const Program program = assigned("int8");
  EXPECT_EQ(count_of(program, op::linear), 0U);
  ASSERT_EQ(count_of(program, op::quantized_linear), 7U);
  for (const Node* node : nodes_of(program, op::quantized_linear)) {
    EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::s8) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[1]), DType::f32) << node->path << ": a scale a token";
    EXPECT_EQ(dtype_of(program, node->inputs[2]), DType::s8) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[3]), DType::f32) << node->path << ": a scale an output channel";
    EXPECT_EQ(node->attributes.accumulator, DType::s32) << node->path;
    EXPECT_EQ(out_of(program, *node), DType::bf16) << node->path;
  }
  const Node& table = *nodes_of(program, op::embedding)[0];
  EXPECT_EQ(table.inputs[1], nodes_of(program, op::quantized_linear)[6]->inputs[2]) << "one s8 table, shared";
  EXPECT_EQ(count_of(program, op::quantize_rows), 5U) << "q, k and v read one quantised input";
}

TEST(AssignDtypes, Fp8IsQuantisedAsInt8AndKeepsActivationsInBf16) {
  const Program program = assigned("fp8", "", std::nullopt);
  EXPECT_EQ(count_of(program, op::linear), 0U);
  ASSERT_EQ(count_of(program, op::quantized_linear), 7U);
  for (const Node* node : nodes_of(program, op::quantized_linear)) {
    EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::e4m3) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[1]), DType::f32) << node->path << ": a scale a token";
    EXPECT_EQ(dtype_of(program, node->inputs[2]), DType::e4m3) << node->path;
    EXPECT_EQ(node->attributes.accumulator, DType::f32) << node->path;
    EXPECT_EQ(out_of(program, *node), DType::bf16) << node->path;
  }
  EXPECT_EQ(count_of(program, op::quantize_rows), 5U);
  for (const Node* node : nodes_of(program, op::attention_scores))
    EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::bf16) << "attention's products are not quantised";
}

TEST(AssignDtypes, Int8WithoutANative16BitTypeKeepsActivationsInF32) {
  const Program program = assigned("int8", "", std::nullopt);
  for (const Node* node : nodes_of(program, op::quantized_linear)) EXPECT_EQ(out_of(program, *node), DType::f32);
}

TEST(AssignDtypes, WeightOnlyInt8KeepsFloatActivations) {
  const Program program = assigned("int8-weights");
  ASSERT_EQ(count_of(program, op::quantized_linear), 7U);
  EXPECT_EQ(count_of(program, op::quantize_rows), 0U);
  for (const Node* node : nodes_of(program, op::quantized_linear)) {
    EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::bf16) << node->path;
    EXPECT_EQ(node->inputs[1], no_value) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[2]), DType::s8) << node->path;
  }
}

TEST(AssignDtypes, Int4MultipliesBlocksOfEveryLinearByQuantisedGroups) {
  const Program program = assigned("int4");
  EXPECT_EQ(count_of(program, op::linear) + count_of(program, op::block_linear), 0U);
  ASSERT_EQ(count_of(program, op::quantized_block_linear), 7U);
  EXPECT_EQ(count_of(program, op::quantize_groups), 5U) << "q, k and v read one quantised input";
  for (const Node* node : nodes_of(program, op::quantized_block_linear)) {
    EXPECT_EQ(node->attributes.blocks, &blocks::q4_0) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::s8) << node->path;
    EXPECT_EQ(dtype_of(program, node->inputs[2]), DType::u8) << node->path;
    EXPECT_EQ(node->attributes.accumulator, DType::s32) << node->path;
    EXPECT_EQ(out_of(program, *node), DType::bf16) << node->path;
  }
  ASSERT_EQ(count_of(program, op::block_embedding), 1U);
  const Node& table = *nodes_of(program, op::block_embedding)[0];
  EXPECT_EQ(table.inputs[1], nodes_of(program, op::quantized_block_linear)[6]->inputs[2]) << "one table, shared";
  EXPECT_EQ(count_of(fuse(program), op::quantized_block_linear), 5U) << "q, k and v are one";
}

TEST(AssignDtypes, FourBitsOfWeightsAloneKeepFloatActivations) {
  for (const char* name : {"int4-weights", "int4-weights-g128", "int4-weights-zp", "int5-weights-k"}) {
    const Program program = assigned(name);
    ASSERT_EQ(count_of(program, op::block_linear), 7U) << name;
    EXPECT_EQ(count_of(program, op::quantize_groups), 0U) << name;
    for (const Node* node : nodes_of(program, op::block_linear)) {
      EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::bf16) << node->path;
      EXPECT_EQ(node->attributes.blocks, find_precision(name).blocks) << node->path;
    }
  }
}

TEST(AssignDtypes, TheHeadOfFourBitsMayHaveMore) {
  const Program wider = assigned("int4", "@head=int8-group");
  const Node& head = *nodes_of(wider, op::quantized_block_linear)[6];
  EXPECT_EQ(head.attributes.blocks, &blocks::q8_0);
  const Node& table = *nodes_of(wider, op::block_embedding)[0];
  EXPECT_EQ(table.attributes.blocks, &blocks::q4_0);
  EXPECT_NE(table.inputs[1], head.inputs[2]) << "the tied table is made twice";
  const Program both = assigned("int4", "@head=int8-group,@embedding=int8-group");
  EXPECT_EQ(nodes_of(both, op::block_embedding)[0]->inputs[1],
            nodes_of(both, op::quantized_block_linear)[6]->inputs[2]);
  EXPECT_EQ(count_of(assigned("int4", "head=f32"), op::linear), 1U);
}

TEST(AssignDtypes, OverridesByRoleReplaceTheRow) {
  const Program program = assigned("bf16", "norm=f16,softmax=f16,head=f32");
  for (const Operation* operation : {&op::layer_norm, &op::softmax}) {
    for (const Node* node : nodes_of(program, *operation)) {
      EXPECT_EQ(dtype_of(program, node->inputs[0]), DType::f16) << node->path;
      EXPECT_EQ(node->attributes.math, DType::f16) << node->path;
    }
  }
  const std::vector<const Node*> linears = nodes_of(program, op::linear);
  EXPECT_EQ(dtype_of(program, linears[6]->inputs[0]), DType::f32);
  EXPECT_EQ(dtype_of(program, linears[6]->inputs[1]), DType::f32);
  EXPECT_EQ(dtype_of(program, program.output("logits")), DType::f32);
  EXPECT_EQ(dtype_of(program, linears[0]->inputs[0]), DType::bf16) << "the others stay as the row says";
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::add)[0]->outputs[0]), DType::bf16);
}

TEST(AssignDtypes, AnOverriddenHeadIsNotQuantised) {
  const Program program = assigned("int8", "head=f32");
  ASSERT_EQ(count_of(program, op::linear), 1U);
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::linear)[0]->inputs[1]), DType::f32);
  EXPECT_EQ(count_of(program, op::quantized_linear), 6U);
}

TEST(AssignDtypes, AnOverriddenEmbeddingIsReadAndSummedInItsDtypeAndLeavesAsTheRowSays) {
  const Program program = assigned("bf16", "embedding=f32");
  const Node& read = *nodes_of(program, op::embedding)[0];
  const Node& sum = *nodes_of(program, op::add_rows)[0];
  EXPECT_EQ(dtype_of(program, read.inputs[1]), DType::f32);
  EXPECT_EQ(sum.inputs[0], read.outputs[0]) << "no rounding between the table and the sum";
  EXPECT_EQ(dtype_of(program, sum.inputs[1]), DType::f32);
  EXPECT_EQ(out_of(program, sum), DType::f32);
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::layer_norm)[0]->inputs[0]), DType::bf16);
  EXPECT_EQ(out_of(program, *nodes_of(program, op::add)[0]), DType::bf16) << "the residual stream stays as it was";
  EXPECT_EQ(dtype_of(program, nodes_of(program, op::linear)[6]->inputs[1]), DType::bf16) << "the tied head too";
}

TEST(AssignDtypes, AnOverriddenEmbeddingIsNotQuantised) {
  const Program program = assigned("int8", "embedding=f16");
  const Node& read = *nodes_of(program, op::embedding)[0];
  ASSERT_EQ(read.inputs.size(), 2U) << "no scales";
  EXPECT_EQ(dtype_of(program, read.inputs[1]), DType::f16);
  EXPECT_EQ(count_of(program, op::quantized_linear), 7U);
}

TEST(AssignDtypes, AnEmbeddingInTheRowsOwnDtypeIsTheRow) {
  EXPECT_EQ(to_string(assigned("bf16", "embedding=bf16")), to_string(assigned("bf16")));
}

/// Paths of the operations that have a row of their own.
std::set<std::string> paths_apart(const Program& program) {
  std::set<std::string> paths;
  for (const Node& node : program.nodes) {
    if (*node.precision != 0) paths.insert(node.path);
  }
  return paths;
}

TEST(LayerOverrides, ChangeThatLayerAlone) {
  const Program program = assigned("fp32", "layers.0.attn.out_proj=int8");
  EXPECT_EQ(paths_apart(program), std::set<std::string>{"layers.0.attn.out_proj"});
  ASSERT_EQ(count_of(program, op::quantized_linear), 1U);
  EXPECT_STREQ(nodes_of(program, op::quantized_linear)[0]->precision, "int8");
  EXPECT_EQ(count_of(program, op::linear), 6U);
  for (const Node* node : nodes_of(program, op::add)) {
    EXPECT_STREQ(node->precision, "") << "a residual sum is its block's";
    EXPECT_EQ(out_of(program, *node), DType::f32);
  }
  const Program rest = assigned("int8", "layers.0.attn.out_proj=fp32");
  ASSERT_EQ(count_of(rest, op::linear), 1U);
  EXPECT_EQ(dtype_of(rest, nodes_of(rest, op::linear)[0]->inputs[1]), DType::f32);
  for (const Node* node : nodes_of(rest, op::add)) EXPECT_EQ(out_of(rest, *node), DType::bf16);
}

TEST(AssignDtypes, StaticScalesMustBeThere) {
  const Program built = small_decoder();
  PrecisionChoice choice = choose_precision("int8-static", "", std::nullopt);
  EXPECT_THROW(assign_dtypes(built, choice), Error) << "no scale is made up";
  auto scales = *made_up_scales(built);
  scales.erase("layers.0.mlp.down_proj");
  choice.scales = std::make_shared<ActivationScales>(scales);
  EXPECT_EQ(count_of(assign_dtypes(built, choice), op::quantize_rows), 1U) << "where calibration gives none: by token";
}

TEST(AssignDtypes, AStaticScaleIsTheInputsStepAndAFactorOfTheWeights) {
  const Program built = small_decoder();
  PrecisionChoice choice = choose_precision("int8-static", "", std::nullopt);
  choice.scales = made_up_scales(built);
  const Program program = assign_dtypes(built, choice);
  ASSERT_EQ(count_of(program, op::quantized_linear), 7U);
  EXPECT_EQ(count_of(program, op::quantize_weight), 7U);
  const std::vector<const Node*> casts = nodes_of(program, op::cast);
  EXPECT_EQ(casts.size(), 5U) << "q, k and v read one value in s8";
  for (const Node* linear : nodes_of(program, op::quantized_linear)) {
    const double scale = choice.scales->at(linear->path);
    const auto made_by = [&](std::size_t input) {
      return std::find_if(program.nodes.begin(), program.nodes.end(),
                          [&](const Node& node) { return node.outputs[0] == linear->inputs[input]; });
    };
    EXPECT_EQ(made_by(0)->attributes.output_scale, scale) << linear->path;
    EXPECT_EQ(made_by(3)->operation, &op::affine) << linear->path;
    EXPECT_EQ(made_by(3)->attributes.scale, scale) << linear->path;
  }
}

TEST(LayerOverrides, OfEverythingAreThePrecisionItself) {
  for (const Precision& row : precision_table()) {
    if (needs_calibration(row.scheme)) continue;
    EXPECT_EQ(to_string(assigned("fp32", ("*=" + std::string(row.name)).c_str())), to_string(assigned(row.name)))
        << row.name;
  }
}

TEST(Stored, TakesEachWeightAsTheFileHoldsIt) {
  const WeightFormats formats = {{"wte.weight", {.dtype = DType::f32, .blocks = &blocks::q8_0}},
                                 {"q.weight", {.dtype = DType::bf16}},
                                 {"k.weight", {.dtype = DType::f32, .blocks = &blocks::q4_0}}};
  const PrecisionChoice choice = choose_precision("stored", "", DType::bf16);
  const Program program = assign_dtypes(small_decoder({.d_model = 64, .heads = 8, .head_dim = 8}), choice, formats);
  ASSERT_EQ(count_of(program, op::block_linear), 2U) << "k, and the head that shares its table";
  ASSERT_EQ(count_of(program, op::block_embedding), 1U);
  const Node& embedding = *nodes_of(program, op::block_embedding)[0];
  const Node& k = *nodes_of(program, op::block_linear)[0];
  const Node& head = *nodes_of(program, op::block_linear)[1];
  EXPECT_EQ(embedding.inputs[1], head.inputs[1]) << "one table";
  EXPECT_EQ(program.value(k.inputs[1]).shape.back().factor, 64 / 32 * 18);
  EXPECT_EQ(program.value(k.inputs[1]).source, Source::weight) << "nothing is made of it";
  for (const Node* node : nodes_of(program, op::linear)) {
    const bool is_q = node->path == "layers.0.attn.q_proj";
    EXPECT_EQ(dtype_of(program, node->inputs[1]), is_q ? DType::bf16 : DType::f32) << node->path;
    EXPECT_EQ(out_of(program, *node), DType::bf16) << node->path;
  }
}

TEST(Stored, JoinsWhatHasOneFormat) {
  WeightFormats formats;
  for (const char* name : {"q.weight", "k.weight", "v.weight"}) formats[name].blocks = &blocks::q4_0;
  const PrecisionChoice choice = choose_precision("stored", "", DType::bf16);
  const Program alike = fuse(assign_dtypes(small_decoder({.d_model = 64, .heads = 8, .head_dim = 8}), choice, formats));
  EXPECT_EQ(count_of(alike, op::block_linear), 1U);
  formats["v.weight"].blocks = &blocks::q5_0;
  const Program apart = fuse(assign_dtypes(small_decoder({.d_model = 64, .heads = 8, .head_dim = 8}), choice, formats));
  EXPECT_EQ(count_of(apart, op::block_linear), 2U);
}

TEST(LayerOverrides, OfTheSameRowChangeNothing) {
  const Program program = assigned("int8", "layers.*=int8");
  EXPECT_TRUE(paths_apart(program).empty());
  EXPECT_EQ(to_string(fuse(program)), to_string(fuse(assigned("int8"))));
}

TEST(LayerOverrides, JoinOnlyWhatHasOneRow) {
  const Program program = fuse(assigned("fp32", "layers.0.attn.q_proj=mixed-bf16"));
  EXPECT_EQ(paths_apart(program), std::set<std::string>{"layers.0.attn.q_proj"});
}

TEST(LayerOverrides, ThatMatchNothingAreErrors) {
  try {
    assigned("fp32", "layers.9.*=int8");
    FAIL() << "there is no such layer";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("--with 'layers.9.*=int8': nothing of this model has such a path"),
              std::string::npos)
        << e.what();
  }
}

/// The patterns of layers that the choice has once the checkpoint's names are known.
std::vector<std::string> patterns_by_path(const std::string& pattern) {
  const CheckpointNames names = {{"q.weight", "model.layers.0.self_attn.q_proj.weight"}};
  const PrecisionChoice choice = choose_precision("fp32", pattern + "=int8", DType::bf16);
  std::vector<std::string> patterns;
  for (const LayerOverride& layer : named_by_path(choice, small_decoder(), names).layers)
    patterns.push_back(layer.pattern);
  return patterns;
}

TEST(LayerOverrides, MayHaveTheCheckpointsNames) {
  using Patterns = std::vector<std::string>;
  const Patterns q = {"layers.0.attn.q_proj"};
  EXPECT_EQ(patterns_by_path("model.layers.0.self_attn.q_proj"), q);
  EXPECT_EQ(patterns_by_path("model.layers.0.self_attn.q_proj.weight"), q);
  EXPECT_EQ(patterns_by_path("*.self_attn.*"), q);
  EXPECT_EQ(patterns_by_path("q.weight"), q) << "as the Program calls it";
  EXPECT_EQ(patterns_by_path("layers.0.attn.*"), Patterns{"layers.0.attn.*"}) << "a path stays one pattern";
  EXPECT_EQ(patterns_by_path("wte.*"), (Patterns{"embeddings", "head"})) << "a table that two layers read";
  EXPECT_EQ(patterns_by_path("layers.9.*"), Patterns{"layers.9.*"}) << "for the error";
}

}  // namespace
}  // namespace assay
