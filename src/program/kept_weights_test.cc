#include "program/kept_weights.h"

#include <gtest/gtest.h>

#include <set>

#include "program/passes.h"
#include "program/testing.h"

namespace assay {
namespace {

/// "wte.weight s8 scaled: embedding quantized_linear", a line a weight that is kept.
std::vector<std::string> kept_lines(const char* precision, const char* overrides, const std::string& name_part) {
  const Program program = assign_dtypes(small_decoder(), choose_precision(precision, overrides, DType::bf16));
  std::vector<std::string> lines;
  for (const KeptWeight& kept : kept_weights(program)) {
    if (kept.name.find(name_part) == std::string::npos) continue;
    std::string line = kept.name + " " + name(program.value(kept.value).dtype);
    if (kept.scales != no_value) line += " scaled";
    if (kept.blocks != nullptr) line += std::string(" ") + kept.blocks->name;
    line += ":";
    for (const Node* reader : kept.readers) line += std::string(" ") + reader->operation->name;
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(KeptWeights, AreWhatTheRowMakesOfThem) {
  EXPECT_EQ(kept_lines("int8", "", "wte"), Lines{"wte.weight s8 scaled: embedding quantized_linear"}) << "one table";
  EXPECT_EQ(kept_lines("int4-weights", "", "q.weight"), Lines{"q.weight u8 Q4_0: block_linear"});
  EXPECT_EQ(kept_lines("fp32", "", "q.weight"), Lines{"q.weight f32: linear"});
  EXPECT_EQ(kept_lines("bf16", "", "q.weight"), Lines{"q.weight bf16: linear"});
  EXPECT_EQ(kept_lines("int8", "", "ln1.weight"), Lines{"ln1.weight bf16: layer_norm"}) << "rounded, then widened";
}

TEST(KeptWeights, StandTwiceWhereTheyAreReadInTwoForms) {
  EXPECT_EQ(kept_lines("int8", "@head=bf16", "wte"),
            (Lines{"wte.weight s8 scaled: embedding", "wte.weight bf16: linear"}));
}

TEST(KeptWeights, HoldEveryWeightOfTheProgram) {
  const Program built = small_decoder();
  std::set<std::string> weights;
  for (const Value& value : built.values) {
    if (value.source == Source::weight) weights.insert(value.name);
  }
  for (const Precision& row : precision_table()) {
    if (needs_calibration(row.scheme)) continue;
    const Program program = assign_dtypes(built, choose_precision(row.name, "", DType::bf16));
    std::set<std::string> kept;
    for (const KeptWeight& one : kept_weights(program)) kept.insert(one.name);
    EXPECT_EQ(kept, weights) << row.name;
  }
}

}  // namespace
}  // namespace assay
