#include "program/adapters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "program/passes.h"
#include "program/testing.h"

namespace assay {
namespace {

PrecisionChoice chosen(const char* row) {
  return choose_precision(row, "", std::nullopt);
}

Program adapted() {
  return with_adapters(small_decoder(), {{"q", 2, 4}, {"down", 3, 1}}, 0);
}

TEST(Adapters, StandBesideTheLayersThatAreNamedAndNoOthers) {
  const Program program = adapted();
  std::vector<std::string> names;
  for (const Value& value : program.values) {
    if (is_adapter_weight(value.name)) names.push_back(value.name + " " + to_string(value.shape));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"down.lora_A.weight (3, 10)", "down.lora_B.weight (6, 3)",
                                             "q.lora_A.weight (2, 6)", "q.lora_B.weight (6, 2)"}));
  EXPECT_EQ(count_of(program, op::affine), 1U) << "a factor of 1 needs no operation";
}

/// The head shares the embedding's table: what stands beside it would stand beside that too.
TEST(Adapters, ATiedHeadHasNone) {
  const std::vector<std::string> modules = adaptable_modules(small_decoder());
  EXPECT_EQ(modules, (std::vector<std::string>{"q", "k", "v", "out", "up", "down"}));
}

TEST(Adapters, DropoutHasItsOwnRandomNumbers) {
  const Program program = with_adapters(small_decoder(), {{"q", 2, 1}, {"k", 2, 1}}, 0.1);
  const std::vector<const Node*> dropouts = nodes_of(program, op::dropout);
  ASSERT_EQ(dropouts.size(), 2U);
  EXPECT_NE(dropouts[0]->attributes.stream, dropouts[1]->attributes.stream);
  EXPECT_EQ(program.inputs.back().name, "first_row");
}

/// Weights that are not trained are constants without gradients, and nothing below the first adapter is differentiated.
TEST(FrozenWeights, GetNoGradients) {
  Program program = adapted();
  FrozenWeights frozen;
  for (const Value& value : program.values) {
    if (value.source == Source::weight && !is_adapter_weight(value.name)) frozen.names.insert(value.name);
  }
  program.outputs = {{"loss", program.outputs[0].value}};
  for (const char* base : {"", "int8-weights", "int4-weights"}) {
    if (*base != 0) frozen.base = base_row(find_precision(base), find_precision("fp32"));
    const Program step = differentiate(assign_training_dtypes(program, chosen("fp32"), frozen), {});
    for (const Value& value : step.values) {
      if (value.source != Source::state) continue;
      EXPECT_NE(value.name.find(".lora_"), std::string::npos) << base << " " << value.name;
    }
    EXPECT_EQ(count_of(step, op::linear_weight_gradient), 4U) << base << ": A and B of two layers";
    EXPECT_EQ(count_of(step, op::embedding_gradient), 0U) << base;
    EXPECT_EQ(count_of(step, op::layer_norm_gradient), 2U) << base << ": those behind q, not the one before it";
  }
}

TEST(FrozenWeights, AreKeptInTheBaseAndAdaptersInTheTrainingsPrecision) {
  const Program program = adapted();
  FrozenWeights frozen;
  for (const Value& value : program.values) {
    if (value.source == Source::weight && !is_adapter_weight(value.name)) frozen.names.insert(value.name);
  }
  frozen.base = base_row(find_precision("int4-weights"), find_precision("mixed-bf16"));
  const Program step = assign_training_dtypes(program, chosen("mixed-bf16"), frozen);
  EXPECT_EQ(count_of(step, op::block_linear), 7U) << "six layers and the head";
  EXPECT_EQ(count_of(step, op::block_embedding), 1U);
  for (const Node* node : nodes_of(step, op::block_linear)) EXPECT_EQ(dtype_of(step, node->inputs[0]), DType::bf16);
  for (const Value& value : step.values) {
    if (value.source != Source::state) continue;
    EXPECT_EQ(value.dtype, DType::f32) << value.name;
  }
  EXPECT_THROW(base_row(find_precision("int8"), find_precision("fp32")), Error) << "it quantises activations too";
}

/// In inference an adapter keeps floats beside weights of fewer bits.
TEST(Adapters, AreNotQuantised) {
  const Program program = assign_dtypes(adapted(), chosen("int8"));
  EXPECT_EQ(count_of(program, op::quantized_linear), 7U);
  EXPECT_EQ(count_of(program, op::linear), 4U);
}

}  // namespace
}  // namespace assay
