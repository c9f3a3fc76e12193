#include "tensor/precision.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/block_format.h"

namespace assay {
namespace {

std::string message_of(std::string_view name, std::string_view overrides) {
  try {
    choose_precision(name, overrides, std::nullopt);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    return error.what();
  }
  return "";
}

TEST(PrecisionTable, HasItsRowsInOrder) {
  std::vector<std::string> names;
  for (const Precision& row : precision_table()) names.emplace_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fp32",
                                             "tf32",
                                             "fp16",
                                             "bf16",
                                             "mixed-fp16",
                                             "mixed-bf16",
                                             "fp16-acc16",
                                             "int8",
                                             "int8-static",
                                             "int8-weights",
                                             "int8-group",
                                             "int4-weights",
                                             "int4-weights-g128",
                                             "int4-weights-zp",
                                             "int4-weights-min",
                                             "int4-weights-k",
                                             "int5-weights-k",
                                             "int6-weights-k",
                                             "int4",
                                             "fp8",
                                             "mixed-fp8",
                                             "mixed-fp8-block",
                                             "stored",
                                             "stored-int8"}));
}

TEST(PrecisionTable, RowsAreConsistent) {
  for (const Precision& row : precision_table()) {
    EXPECT_EQ(find_precision(row.name).name, row.name);
    EXPECT_EQ(own_precision_name(row.name), row.name);
    EXPECT_GT(row.tolerance, 0) << row.name;
    EXPECT_LT(row.tolerance, 1) << row.name;
    EXPECT_EQ(row.math, DType::f32) << row.name << ": norms, softmax and loss are computed in f32 in every row";
    EXPECT_EQ(row.chunk > 0, row.accumulator == DType::f16) << row.name << ": only f16 sums are flushed in chunks";
    EXPECT_EQ(row.operand == DType::s8, row.accumulator == DType::s32) << row.name << ": s8 products sum in s32";
    EXPECT_EQ(row.weights == DType::s8, takes_calibration(row.scheme) || row.scheme == Scheme::weight_only_int8)
        << row.name;
    EXPECT_EQ(row.weights == DType::u8, row.blocks != nullptr) << row.name << ": blocks are bytes";
    EXPECT_EQ(row.blocks != nullptr, row.scheme == Scheme::weight_only_blocks || row.scheme == Scheme::dynamic_blocks)
        << row.name;
    EXPECT_TRUE(row.blocks == nullptr || row.blocks->can_be_made()) << row.name;
    EXPECT_EQ(row.weights == DType::e4m3, row.scheme == Scheme::float8) << row.name;
    EXPECT_STRNE(row.note, "") << row.name;
  }
}

TEST(PrecisionTable, UnderstandsTheNamesOfOthers) {
  for (const auto& [other, own] : std::vector<std::pair<std::string, std::string>>{{"float16", "fp16"},
                                                                                   {"half", "fp16"},
                                                                                   {"bfloat16", "bf16"},
                                                                                   {"BF16", "bf16"},
                                                                                   {"W8A8", "int8"},
                                                                                   {"w8a16", "int8-weights"},
                                                                                   {"int8_weights", "int8-weights"},
                                                                                   {"all", "all"},
                                                                                   {"bf16[norm=f32]", "bf16[norm=f32]"},
                                                                                   {"fp13", "fp13"}})
    EXPECT_EQ(own_precision_name(other), own);
  EXPECT_EQ(message_of("half", ""), "precision 'half': is called fp16 here");
  EXPECT_EQ(message_of("w4a16", ""), "precision 'w4a16': is called int4-weights here");
  EXPECT_EQ(message_of("W4A8", ""), "precision 'W4A8': is called int4 here");
  EXPECT_TRUE(message_of("q4", "").starts_with("precision 'q4': int4 (w4a8) or int4-weights (w4a16) says which"));
  EXPECT_TRUE(message_of("amp", "").ends_with("mixed-bf16 or mixed-fp16 says which"));
}

TEST(PrecisionTable, SaysWhereARowRunsAndWhereAllMeansIt) {
  for (const Precision& row : precision_table()) {
    EXPECT_TRUE(runs_on(row, "cuda")) << row.name;
    const bool is_named =
        takes_formats(row.scheme) || needs_calibration(row.scheme) || row.float8 != Float8Training::none;
    EXPECT_EQ(is_listed_on(row, "cuda"), !is_named) << row.name;
  }
  EXPECT_FALSE(runs_on(find_precision("tf32"), "cpu"));
  EXPECT_TRUE(is_listed_on(find_precision("tf32"), "cpu")) << "a row that says why not";
  EXPECT_TRUE(runs_on(find_precision("fp8"), "cpu")) << "by its name";
  EXPECT_FALSE(is_listed_on(find_precision("fp8"), "cpu"));
  EXPECT_TRUE(runs_on(find_precision("bf16"), "cpu") && is_listed_on(find_precision("bf16"), "cpu"));
}

TEST(PrecisionTable, MixedKeepsFullWeightsAndHalvesStoreHalves) {
  for (const char* name : {"mixed-fp16", "mixed-bf16"}) {
    EXPECT_EQ(find_precision(name).weights, DType::f32);
    EXPECT_TRUE(find_precision(name).master_weights);
    EXPECT_EQ(find_precision(name).rule, Activations::autocast_lists);
  }
  for (const char* name : {"fp16", "bf16"}) EXPECT_EQ(size_of(find_precision(name).weights), 2U);
}

TEST(ChoosePrecision, SettlesTheSixteenBitTypeOfInt8) {
  const PrecisionChoice with = choose_precision("int8", "", DType::bf16);
  EXPECT_EQ(with.row.activations, DType::bf16);
  EXPECT_EQ(with.row.output, DType::bf16);
  EXPECT_EQ(with.row.operand, DType::s8);
  EXPECT_EQ(with.row.rule, Activations::as_stored);
  const PrecisionChoice without = choose_precision("int8-weights", "", std::nullopt);
  EXPECT_EQ(without.row.activations, DType::f32);
  EXPECT_EQ(without.row.operand, DType::f32);
  EXPECT_EQ(choose_precision("int8-weights", "", DType::bf16).row.operand, DType::bf16);
  EXPECT_EQ(choose_precision("fp16", "", DType::bf16).row.activations, DType::f16) << "other rows do not change";
}

TEST(ChoosePrecision, OverridesAreFoundByRoleAndNamedInOneOrder) {
  const PrecisionChoice choice = choose_precision("bf16", "softmax=f32,norm=f16", std::nullopt);
  EXPECT_EQ(choice.override_for(Role::softmax), DType::f32);
  EXPECT_EQ(choice.override_for(Role::norm), DType::f16);
  EXPECT_EQ(choice.override_for(Role::head), std::nullopt);
  EXPECT_EQ(choice.name(), "bf16[norm=f16,softmax=f32]");
  EXPECT_EQ(choice.name(), choose_precision("bf16", "norm=float16,softmax=fp32", std::nullopt).name());
  EXPECT_EQ(choose_precision("bf16", "", std::nullopt).name(), "bf16");
}

TEST(ChoosePrecision, LayersHaveRowsOfTheirOwnAndTheLastThatMatchesDecides) {
  const PrecisionChoice choice =
      choose_precision("fp32", "layers.*.attn.*=int8,norm=bf16,layers.1.attn.q_proj=fp32,@mlp=bf16", DType::bf16);
  EXPECT_EQ(choice.name(), "fp32[norm=bf16,layers.*.attn.*=int8,layers.1.attn.q_proj=fp32,@mlp=bf16]");
  EXPECT_EQ(choice.rest_name(), "fp32[norm=bf16]");
  const auto row_at = [&](const char* path, Role role) -> std::string {
    const LayerOverride* layer = choice.layer_override(path, role);
    return layer == nullptr ? "" : layer->row.name;
  };
  EXPECT_EQ(row_at("layers.0.attn.q_proj", Role::attention), "int8");
  EXPECT_EQ(row_at("layers.1.attn.q_proj", Role::attention), "fp32");
  EXPECT_EQ(row_at("layers.11.attn.q_proj", Role::attention), "int8") << "no prefix of 1";
  EXPECT_EQ(row_at("layers.0.mlp.up_proj", Role::mlp), "bf16");
  EXPECT_EQ(row_at("layers.0.attn", Role::other), "") << "the dot is part of the pattern";
  EXPECT_EQ(row_at("head", Role::head), "");
  EXPECT_EQ(choice.layers[0].row.activations, DType::bf16) << "settled as the row itself would be";
}

TEST(ChoosePrecision, StarsStandForAnyCharacters) {
  const auto matches = [](const char* pattern, const char* path) {
    return LayerOverride{pattern, find_precision("fp32")}.matches(path, Role::other);
  };
  for (const char* pattern : {"*", "a*", "*c", "a.*", "*.b.*", "a.b.c", "**", "a*b*c"}) {
    EXPECT_TRUE(matches(pattern, "a.b.c")) << pattern;
  }
  for (const char* pattern : {"", "a", "b*", "*b", "a.b.c.*", "a.b.cc", "*d*"}) {
    EXPECT_FALSE(matches(pattern, "a.b.c")) << pattern;
  }
}

TEST(ChoosePrecision, ErrorsNameTheBadPartAndWhatWouldBeRight) {
  EXPECT_EQ(message_of("fp17", ""),
            "precision 'fp17': is not known; the precisions are fp32, tf32, fp16, bf16, mixed-fp16, mixed-bf16, "
            "fp16-acc16, int8, int8-static, int8-weights, int8-group, int4-weights, int4-weights-g128, "
            "int4-weights-zp, int4-weights-min, int4-weights-k, int5-weights-k, int6-weights-k, int4, fp8, mixed-fp8, "
            "mixed-fp8-block, stored, stored-int8");
  EXPECT_EQ(message_of("bf16", "nose=f16"),
            "--with 'nose=f16': no role 'nose'; the roles that can have a dtype are embedding, attention, mlp, norm, "
            "softmax, head, kv");
  for (const std::string role : {"loss", "optimizer", "other"}) {
    EXPECT_NE(message_of("bf16", role + "=f32").find("nothing to replace in the role '" + role + "'; the roles that"),
              std::string::npos);
  }
  EXPECT_NE(message_of("bf16", "norm=s8").find("not 's8'"), std::string::npos);
  EXPECT_NE(message_of("bf16", "norm").find("role=dtype"), std::string::npos);
  EXPECT_NE(message_of("bf16", "layers.0=int9").find("layers can be in a precision (fp32"), std::string::npos);
  EXPECT_NE(message_of("bf16", "layers.*").find("not ''"), std::string::npos);
  EXPECT_NE(message_of("bf16", "@nose=int8").find("no role 'nose'"), std::string::npos);
  EXPECT_NE(message_of("bf16", "norm=f16,").find("--with ''"), std::string::npos);
  EXPECT_NE(message_of("bf16", "norm=f16,norm=f32").find("stands twice"), std::string::npos);
}

TEST(Roles, EveryNameParsesBack) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Role::other); ++i) {
    const auto role = static_cast<Role>(i);
    EXPECT_EQ(parse_role(name(role)), role);
    names.insert(name(role));
  }
  EXPECT_EQ(names.size(), 10U);
  EXPECT_EQ(parse_role("Norm"), std::nullopt);
}

}  // namespace
}  // namespace assay
