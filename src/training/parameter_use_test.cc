#include "training/parameter_use.h"

#include <gtest/gtest.h>

#include "model/architecture.h"
#include "model/testing.h"

namespace assay {
namespace {

TEST(ParameterUses, AreReadFromTheProgram) {
  const auto uses = parameter_uses(build_program(small_gpt2(), {}));
  const auto kinds = [&](const char* name) { return words(uses.at(name).kinds); };
  EXPECT_EQ(kinds("wte.weight"), "embeddings");
  EXPECT_EQ(kinds("wpe.weight"), "embeddings");
  EXPECT_EQ(kinds("h.0.ln_1.weight"), "norms") << "a gain is no bias, though it has one axis";
  EXPECT_EQ(kinds("h.0.ln_1.bias"), "norms,biases");
  EXPECT_EQ(kinds("h.0.attn.c_attn.bias"), "biases");
  EXPECT_EQ(kinds("h.0.mlp.c_fc.weight"), "");
  EXPECT_EQ(uses.at("h.0.mlp.c_fc.weight").role, Role::mlp);
  EXPECT_EQ(uses.at("h.0.attn.c_attn.bias").role, Role::attention);
  EXPECT_EQ(uses.at("wte.weight").role, Role::embedding) << "the head, which is tied, reads it later";
}

}  // namespace
}  // namespace assay
