#include <gtest/gtest.h>

#include <atomic>

#include "base/threads.h"
#include "hardware/facts_testing.h"
#include "model/testing.h"
#include "processes/thread_ranks.h"
#include "studies/rank_benchmark/request.h"
#include "studies/shared/energy_testing.h"

namespace assay {
namespace {

RankBenchmarkRequest small_rank_request(const RecordedTree& root) {
  RankBenchmarkRequest request;
  request.steps.models = {gpt2_folder};
  request.steps.batches = {2};
  request.steps.seqs = {8};
  request.steps.warmups = {1};
  request.steps.steps = 7;
  request.steps.root = root.root();
  return request;
}

/// Of two ranks, threads of this process.
Document of_two_ranks(const RankBenchmarkRequest& request, const MachineFacts& facts,
                      InterruptFlag interrupted = nullptr) {
  Document document;
  run_as_ranks(2, [&](Group& group) {
    set_threads(facts.threads);
    StudyCallbacks callbacks;
    callbacks.interrupted = interrupted;
    Document mine = rank_benchmark(request, facts, group, callbacks);
    if (group.rank() == 0)
      document = std::move(mine);
    else
      EXPECT_TRUE(mine.records.empty()) << "rank 0 tells";
  });
  return document;
}

TEST(RankBenchmark, RowsAreRecordsOfOneRanksWorkAndOfAllRows) {
  const RecordedTree root;
  const MachineFacts facts = facts_without_peaks();
  RankBenchmarkRequest request = small_rank_request(root);
  request.stage = ZeroStage::optimizer;
  request.formats = {find_reduce_format("bf16-f32sum")};
  const Document document = of_two_ranks(request, facts);
  ASSERT_EQ(document.records.size(), 1U);
  const Record& record = document.records.front();
  ASSERT_EQ(record.outcome.status, Status::ok) << record.outcome.reason.value_or("");
  EXPECT_EQ(record.setting.ranks, 2);
  EXPECT_EQ(record.setting.batch, 2);
  EXPECT_EQ(record.setting.step, "reduce bf16-f32sum, zero 1");
  EXPECT_EQ(record.latency->samples, 7);
  EXPECT_EQ(record.latency->warm_up_ms.size(), 1U);
  EXPECT_TRUE(record.latency->ci_low_ms && record.ranked->weak_efficiency_low && record.ranked->rank_speedup_high);
  EXPECT_TRUE(record.grade.trust.has_value());
  const auto gradients = 2 * record.setting.parameters;  // 16 bits each on the wire.
  EXPECT_GT(*record.ranked->sent_bytes, gradients / 2);
  for (std::size_t i = 0; i < record.latency->raw_ms.size(); ++i)
    EXPECT_LE(record.ranked->raw_exposed_ms[i], record.latency->raw_ms[i]) << "a part of the step";
  EXPECT_FALSE(record.energy->energy_j) << to_text(record.energy->energy_status);
  EXPECT_EQ(record.evidence.ledger.back().operation, "sum_over_ranks");
  EXPECT_EQ(record.evidence.ledger.back().operand, DType::bf16);
  EXPECT_EQ(record.evidence.operation_bytes.size(), record.evidence.ledger.size());
  double ledger_flops = 0;
  for (const LedgerRow& row : record.evidence.ledger) ledger_flops += row.operation == "linear" ? row.flops : 0;
  EXPECT_LT(ledger_flops, *record.evidence.flops * 1.01) << "both are of one rank's rows";
}

TEST(RankBenchmark, WhatDoesNotFitIsARow) {
  const RecordedTree root;
  MachineFacts facts = facts_without_peaks();
  facts.available_bytes = 1000;
  const Document document = of_two_ranks(small_rank_request(root), facts);
  ASSERT_EQ(document.records.size(), 1U);
  EXPECT_EQ(document.records.front().outcome.status, Status::oom);
  EXPECT_NE(document.records.front().outcome.reason.value_or("").find("rank 0: "), std::string::npos);
  RankBenchmarkRequest request = small_rank_request(root);
  request.steps.precisions = {"int8"};
  const Document inference = of_two_ranks(request, facts_without_peaks());
  ASSERT_EQ(inference.records.size(), 1U);
  EXPECT_EQ(inference.records.front().outcome.status, Status::unsupported);
}

TEST(RankBenchmark, AnInterruptEndsAllRanks) {
  const RecordedTree root;
  const std::atomic<bool> interrupted = true;
  EXPECT_TRUE(of_two_ranks(small_rank_request(root), facts_without_peaks(), &interrupted).records.empty());
}

}  // namespace
}  // namespace assay
