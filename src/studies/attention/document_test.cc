#include <gtest/gtest.h>

#include "base/json.h"
#include "hardware/facts_testing.h"
#include "studies/attention/request.h"

namespace assay {
namespace {

TEST(AttentionDocument, ARowThatDidNotFitHoldsItsMemoryAndSaysWhyItHasNoTimes) {
  AttentionRequest request;
  request.head_dims = {8};
  request.seqs = {16, 16384};
  request.seconds = 0.2;
  request.repetitions = 7;
  const auto little = [] {
    MachineFacts machine = two_thread_facts();
    machine.available_bytes = 200'000'000;
    return machine;
  };
  const OrderedJson json = to_json(attention(request, little, {}));
  EXPECT_EQ(json["schema"], "assay-attention-1");
  ASSERT_EQ(json["cells"].size(), 4U);
  EXPECT_GE(json["records"].size(), 4U) << "two phases of each cell that ran";
  const OrderedJson& naive = json["cells"][2];
  EXPECT_EQ(naive["method"], "naive");
  EXPECT_EQ(naive["status"], "oom");
  EXPECT_TRUE(naive["forward_ms"].is_null());
  EXPECT_GT(naive["peak_bytes"], naive["available_bytes"]);
  EXPECT_EQ(json["document"]["tables"][0]["nulls"][0]["reason"], naive["reason"]);
  EXPECT_EQ(json["document"]["figures"][1]["series"][0]["points"].size(), 2U) << "memory is known for both lengths";
}

}  // namespace
}  // namespace assay
