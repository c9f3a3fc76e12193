#include <gtest/gtest.h>

#include "base/json.h"
#include "hardware/facts_testing.h"
#include "studies/memory/request.h"

namespace assay {
namespace {

OrderedJson predicted_memory(const char* precision, RunMode mode) {
  MemoryRequest request;
  request.model = "cs336-small";
  request.mode = mode;
  request.precisions = {"fp32", precision};
  request.seqs = {64};
  request.batch = 2;
  MachineFacts facts = two_thread_facts();
  facts.available_bytes = std::int64_t{1} << 50;
  return to_json(memory(request, facts));
}

TEST(MemoryDocument, EveryCellHasItsTimelineItsListsAndAFigure) {
  const OrderedJson json = predicted_memory("bf16", RunMode::train);
  EXPECT_EQ(json["schema"], "assay-memory-1");
  ASSERT_EQ(json["cells"].size(), 6U) << "two precisions, three ways to compute again";
  for (const OrderedJson& cell : json["cells"]) {
    EXPECT_EQ(cell["status"], "fits");
    EXPECT_GT(cell["timeline"].size(), 100U);
    EXPECT_FALSE(cell["saved_by_operation"].empty());
    EXPECT_TRUE(cell["measured"].is_null());
    std::int64_t held = 0;
    for (const auto& [kind, bytes] : cell["held_bytes"].items()) held += bytes.get<std::int64_t>();
    EXPECT_EQ(held, cell["total_bytes"]);
  }
  const OrderedJson& figures = json["document"]["figures"];
  ASSERT_EQ(figures.size(), 6U);
  EXPECT_EQ(figures[0]["series"].size(), 4U);
  EXPECT_EQ(figures[0]["series"][0]["points"].size(), json["cells"][0]["timeline"].size());
  ASSERT_EQ(json["recomputation"].size(), 3U) << json["recomputation"];
  EXPECT_NE(json["recomputation"][0].get<std::string>().find("recomputing block saves"), std::string::npos);
  EXPECT_NE(json["recomputation"][2].get<std::string>().find("Nothing is saved"), std::string::npos);
}

TEST(MemoryDocument, OverModelsAndLengthsThereIsOneTableAndTheTrend) {
  MemoryRequest request;
  request.precisions = {"fp32"};
  request.seqs = {64, 256};
  MachineFacts facts = two_thread_facts();
  facts.available_bytes = std::int64_t{8} << 30;
  const OrderedJson json = to_json(memory({"cs336-small", "cs336-10b"}, request, facts));
  ASSERT_EQ(json["cells"].size(), 4U);
  EXPECT_EQ(json["cells"][0]["residual_bytes"], 64 * 768 * 4);
  EXPECT_EQ(json["cells"][3]["model"], "cs336-10b");
  EXPECT_EQ(json["cells"][3]["status"], "oom");
  EXPECT_EQ(json["growth"].size(), 4U) << "two models over lengths, two lengths over models: " << json["growth"];
  const std::string caption = json["document"]["figures"][3]["caption"].get<std::string>();
  EXPECT_EQ(caption.find("needs"), caption.rfind("needs")) << caption;
}

TEST(MemoryDocument, WhatTheDeviceLacksIsARowWithTheReasonAndNothingElse) {
  const OrderedJson json = predicted_memory("tf32", RunMode::infer);
  const OrderedJson& cell = json["cells"][1];
  EXPECT_EQ(cell["status"], "unsupported");
  EXPECT_NE(cell["reason"].get<std::string>().find("CUDA"), std::string::npos) << cell["reason"];
  EXPECT_TRUE(cell["peak_bytes"].is_null());
  EXPECT_FALSE(cell.contains("timeline"));
}

}  // namespace
}  // namespace assay
