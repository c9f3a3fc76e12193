#include "hardware/isa_cap.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace assay {
namespace {

const InstructionSets everything = find_isa_cap("amx").allowed;

TEST(IsaCap, EachRungOfTheLadderHasAllBelowItAndMore) {
  const std::vector<std::vector<const char*>> ladders = {{"baseline", "avx2", "avx512", "vnni", "bf16", "fp16", "amx"},
                                                         {"avx2", "avx-vnni", "vnni"}};
  for (const std::vector<const char*>& ladder : ladders) {
    for (std::size_t i = 1; i < ladder.size(); ++i) {
      const InstructionSets& low = find_isa_cap(ladder[i - 1]).allowed;
      const InstructionSets& high = find_isa_cap(ladder[i]).allowed;
      EXPECT_EQ(to_string(low & high), to_string(low)) << ladder[i];
      EXPECT_NE(to_string(low), to_string(high)) << ladder[i];
    }
  }
}

TEST(IsaCap, ExceptionsTakeTheTilesOfTheirDtypeWithThem) {
  const InstructionSets no_bf16 = everything & find_isa_cap("no-bf16").allowed;
  EXPECT_FALSE(no_bf16.avx512_bf16 || no_bf16.amx_bf16);
  EXPECT_TRUE(no_bf16.avx512_vnni && no_bf16.amx_int8 && no_bf16.avx512_fp16);
  const InstructionSets no_amx = everything & find_isa_cap("no-amx").allowed;
  EXPECT_EQ(to_string(no_amx), "avx2 avx_vnni avx512 avx512_vnni avx512_bf16 avx512_fp16");
}

TEST(IsaCap, ACapNeverAddsWhatTheMachineLacks) {
  const InstructionSets machine{.avx2 = true};
  for (const IsaCap& cap : isa_caps()) {
    const InstructionSets capped = machine & cap.allowed;
    EXPECT_EQ(to_string(capped & machine), to_string(capped)) << cap.name;
  }
  EXPECT_EQ(to_string(machine & find_isa_cap("baseline").allowed), "none");
}

TEST(IsaCap, AnUnknownNameListsTheKnownOnes) {
  try {
    find_isa_cap("sse");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    EXPECT_NE(std::string(error.what()).find("baseline, avx2, avx-vnni, avx512"), std::string::npos);
  }
}

TEST(IsaCap, TheOptionWinsOverTheEnvironment) {
  ::setenv(isa_cap_variable, "vnni", 1);
  EXPECT_EQ(requested_isa_cap(""), "vnni");
  EXPECT_EQ(requested_isa_cap("avx2"), "avx2");
  EXPECT_EQ(requested_isa_cap("amx"), "");
  ::setenv(isa_cap_variable, "nonsense", 1);
  EXPECT_THROW(requested_isa_cap(""), Error);
  ::unsetenv(isa_cap_variable);
  EXPECT_EQ(requested_isa_cap(""), "");
}

}  // namespace
}  // namespace assay
