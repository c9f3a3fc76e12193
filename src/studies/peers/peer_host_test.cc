#include "studies/peers/peer_host.h"

#include <gtest/gtest.h>

#include "model/testing.h"
#include "quantization/testing.h"

namespace assay {
namespace {

/// Of the same ids, in fp32.
void expect_the_same_function(const Model& own, const Model& other) {
  ModelInPrecision in_own_words(own, "fp32");
  ModelInPrecision in_other_words(other, "fp32");
  const Tensor expected = small_logits(in_own_words.instance);
  const Tensor given = small_logits(in_other_words.instance);
  ASSERT_EQ(given.shape(), expected.shape());
  for (std::int64_t i = 0; i < expected.count(); ++i)
    ASSERT_NEAR(given.as<float>()[i], expected.as<float>()[i], 1e-5) << "logit " << i;
}

TEST(PeerHost, AModelThatTransformersDoesNotKnowIsWrittenAsItsCounterpart) {
  const Model model = open_model((model_fixtures / "cs336").string(), {});
  const MachineFacts facts = plain_facts();
  const StudyCallbacks callbacks;
  PeerHost host(model, {facts, callbacks});
  const Model folder = open_model(host.model_folder().string(), {});
  EXPECT_STREQ(folder.config.family->name, "llama");
  expect_the_same_function(model, folder);
  expect_the_same_function(model, open_model(host.model_file("fp32").string(), {}));
}

TEST(PeerHost, WhatTransformersKnowsIsHandedOverAsItIs) {
  const Model model = open_model(gpt2_folder, {});
  const MachineFacts facts = plain_facts();
  const StudyCallbacks callbacks;
  PeerHost host(model, {facts, callbacks});
  EXPECT_EQ(host.model_folder(), std::filesystem::path(gpt2_folder));
}

}  // namespace
}  // namespace assay
