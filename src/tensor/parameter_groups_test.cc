#include "tensor/parameter_groups.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay {
namespace {

TEST(ParameterGroups, AreReadInAnyOrderAndWrittenInOne) {
  EXPECT_EQ(words(parse_no_decay("embeddings,norms", "--no-decay")), "norms,embeddings");
  EXPECT_EQ(words(parse_no_decay("biases,usual", "--no-decay")), "norms,biases");
  EXPECT_EQ(words(parse_role_rates("head=0.01,embedding=1e-4", "--lr-by-role")), "embedding=0.0001,head=0.01");
}

TEST(ParameterGroups, ErrorsBeginWithTheOptionAndNameThePart) {
  const auto kinds = [](const char* list) { return user_error_of([&] { parse_no_decay(list, "--no-decay"); }); };
  const auto rates = [](const char* list) { return user_error_of([&] { parse_role_rates(list, "mix.toml:4"); }); };
  EXPECT_EQ(kinds("norms,heads"), "--no-decay: 'heads' is none of norms, biases, embeddings and usual");
  EXPECT_EQ(kinds(""), "--no-decay: '' is none of norms, biases, embeddings and usual");
  EXPECT_EQ(
      rates("softmax=1"),
      "mix.toml:4: 'softmax=1' names no role that has parameters; these are embedding, attention, mlp, norm, head");
  for (const char* part : {"head", "head=", "head=-1", "head=nan", "head=1x", "head=1e7"})
    EXPECT_EQ(rates(part).find(std::string("mix.toml:4: '") + part + "' needs a learning rate"), 0U) << part;
  EXPECT_EQ(rates("head=1,head=2"), "mix.toml:4: the role 'head' stands twice");
}

}  // namespace
}  // namespace assay
