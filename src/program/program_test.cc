#include "program/program.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/operation.h"
#include "program/testing.h"

namespace assay {
namespace {

TEST(Program, ShapesAreProductsOfBatchAndLength) {
  const Dim axis = dim(6) * dim_batch * dim_seq * dim_seq;
  EXPECT_EQ(axis.at({2, 5}), 6 * 2 * 25);
  EXPECT_EQ(concrete({dim_batch, dim(3), dim_seq}, {4, 9}), (Shape{4, 3, 9}));
  EXPECT_EQ(to_string(SymbolicShape{dim_batch, dim_seq, dim(768)}), "(B, T, 768)");
  EXPECT_THROW(dim(0), Error);
}

TEST(Program, EveryOperationGivesTheShapeThatItsFileSays) {
  const Program program = small_decoder();
  const auto shape = [&](const Operation& operation, std::size_t index) {
    return to_string(program.value(nodes_of(program, operation).at(index)->outputs[0]).shape);
  };
  EXPECT_EQ(shape(op::embedding, 0), "(B, T, 6)");
  EXPECT_EQ(shape(op::add_rows, 0), "(B, T, 6)");
  EXPECT_EQ(shape(op::attention_scores, 0), "(B, 3, T, T)");
  EXPECT_EQ(shape(op::softmax, 0), "(B, 3, T, T)");
  EXPECT_EQ(shape(op::attention_context, 0), "(B, T, 6)");
  EXPECT_EQ(shape(op::activation, 0), "(B, T, 10)");
  EXPECT_EQ(shape(op::linear, 6), "(B, T, 11)");
}

TEST(Program, ALinearWhoseWeightDoesNotFitItsInputIsADefect) {
  Builder b;
  const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, dim(6)});
  EXPECT_THROW(b.add(op::linear, {x, b.weight("w", {dim(4), dim(5)})}), Error);
}

TEST(Program, ATiedWeightStandsOnce) {
  const Program program = small_decoder();
  std::size_t tables = 0;
  for (const Value& value : program.values) tables += value.name == "wte.weight";
  EXPECT_EQ(tables, 1U);
  EXPECT_EQ(nodes_of(program, op::embedding)[0]->inputs[1], nodes_of(program, op::linear)[6]->inputs[1]);
}

double flops_of(const Program& program, const Operation& operation, Extent extent) {
  double total = 0;
  for (const Node* node : nodes_of(program, operation)) total += flops(program, *node, extent);
  return total;
}

TEST(Program, FlopsOfASmallGpt2AreThoseCountedByHand) {
  const Program program = small_decoder();
  constexpr double rows = 2 * 5;
  // q, k, v, out: 6 x 6; up and down: 6 x 10; head: 11 x 6; a multiply-add is two.
  EXPECT_EQ(flops_of(program, op::linear, {2, 5}), 2 * rows * (4 * 36 + 2 * 60 + 66));
  EXPECT_EQ(flops_of(program, op::embedding, {2, 5}), 0);
}

TEST(Program, CausalAttentionCountsTheKeysThatAreSeen) {
  const Program causal = small_decoder();
  Program full = causal;
  for (Node& node : full.nodes) node.attributes.causal = false;
  // Of T * T pairs a query and key, T (T + 1) / 2 are not in the future; 2 x 3 heads of 2, a multiply-add is two.
  EXPECT_EQ(flops_of(causal, op::attention_scores, {2, 5}), 2 * (2 * 3 * 2) * 15);
  EXPECT_EQ(flops_of(full, op::attention_scores, {2, 5}), 2 * (2 * 3 * 2) * 25);
  EXPECT_EQ(flops_of(causal, op::attention_context, {2, 5}), 2 * (2 * 3 * 2) * 15);
  EXPECT_EQ(flops_of(causal, op::softmax, {2, 5}), 5 * (2 * 3) * 15) << "the same pairs as in the products";
  EXPECT_EQ(flops_of(full, op::softmax, {2, 5}), 5 * (2 * 3) * 25);
}

TEST(Program, AttentionCountsThePairsThatItsWindowLetsSee) {
  for (const std::int64_t window : {0, 1, 2, 4, 5, 6, 100}) {
    for (const bool causal : {false, true}) {
      Program program = small_decoder();
      for (Node& node : program.nodes) {
        node.attributes.causal = causal;
        node.attributes.window = window;
      }
      double pairs = 0;
      for (std::int64_t query = 0; query < 5; ++query) {
        const SeenKeys seen = seen_keys(program.nodes[0].attributes, query, 5);
        pairs += static_cast<double>(seen.end - seen.begin);
      }
      EXPECT_EQ(flops_of(program, op::attention_scores, {2, 5}), 2 * (2 * 3 * 2) * pairs) << window << ", " << causal;
      EXPECT_EQ(flops_of(program, op::softmax, {2, 5}), 5 * (2 * 3) * pairs) << window << ", " << causal;
    }
  }
}

TEST(Program, ScoresOfDistancesCountEveryPairAndReadTheTableOnce) {
  Builder b;
  const ValueId scores = b.input("scores", DType::f32, {dim_batch, dim(3), dim_seq, dim_seq});
  const ValueId tokens = b.input("x", DType::f32, {dim_batch, dim_seq, dim(6)});
  const ValueId table = b.weight("table", {dim(8), dim(6)});
  const Attributes a = {.heads = 3, .head_dim = 2, .relative = {.span = 4}};
  b.add(op::relative_scores, {scores, tokens, table}, a);
  b.add(op::relative_input_gradient, {scores, table}, a);
  b.add(op::relative_table_gradient, {scores, tokens}, a);
  const Program program = b.take();
  // 25 pairs in 2 x 3 heads of 2, a multiply-add is two: the same for each of the three.
  for (const Node& node : program.nodes) EXPECT_EQ(flops(program, node, {2, 5}), 2 * (2 * 3 * 2) * 25);
  // scores (2, 3, 5, 5), x and dx (2, 5, 6), table and dtable (8, 6)
  EXPECT_EQ(bytes(program, program.nodes[0], {2, 5}), 4 * (150 + 60 + 48 + 150));
  EXPECT_EQ(bytes(program, program.nodes[1], {2, 5}), 4 * (150 + 48 + 60));
  EXPECT_EQ(bytes(program, program.nodes[2], {2, 5}), 4 * (150 + 60 + 48));
}

TEST(Program, BytesAreReadOnceAndWrittenOnce) {
  const Program program = small_decoder();
  const Node& up = *nodes_of(program, op::linear)[4];
  // x (10, 6), W (10, 6), bias (10), y (10, 10) in f32
  EXPECT_EQ(bytes(program, up, {2, 5}), 4 * (60 + 60 + 10 + 100));
  // Of a table only the rows that are asked for: ten rows of 6 read, ten written.
  EXPECT_EQ(bytes(program, *nodes_of(program, op::embedding)[0], {2, 5}), 4 * (60 + 60));
  EXPECT_EQ(storage_bytes(program, up.outputs[0], {2, 5}), 4 * 100);
}

TEST(Program, UsesCountReadersAndOutputs) {
  const Program program = small_decoder();
  const std::vector<int> uses = use_counts(program);
  const auto of = [&](ValueId id) { return uses[static_cast<std::size_t>(id)]; };
  EXPECT_EQ(of(nodes_of(program, op::embedding)[0]->inputs[1]), 2) << "the table and the tied head";
  EXPECT_EQ(of(nodes_of(program, op::layer_norm)[0]->outputs[0]), 3) << "q, k and v";
  EXPECT_EQ(of(program.output("logits")), 1);
  EXPECT_EQ(program.output("hidden.0"), no_value);
}

TEST(Program, PrintsEveryOperationWithItsPathAndRole) {
  const std::string text = to_string(small_decoder());
  for (const char* part : {"embedding(", "causal", "gelu", "[layers.0.attn.softmax, softmax]", "output  logits",
                           "weight  %2 f32 (11, 6) = wte.weight"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace assay
