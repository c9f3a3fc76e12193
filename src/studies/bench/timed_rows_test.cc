#include "studies/bench/timed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/testing.h"
#include "formats/npy.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "studies/bench/timed_pass.h"

namespace assay {
namespace {

constexpr std::int64_t timed_width = 24;

/// Rows of 24 ids of which from 3 to 23 are real, of mixed lengths, right-padded with 0.
void write_padded_rows(const std::filesystem::path& folder, std::int64_t rows) {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> mask;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t real = 3 + 5 * row % (timed_width - 3);
    for (std::int64_t t = 0; t < timed_width; ++t) {
      ids.push_back(t < real ? static_cast<std::int32_t>((7 * row + t * t) % 59) : 0);
      mask.push_back(t < real ? 1 : 0);
    }
  }
  write_npy(folder / "input_ids.npy", NpyType::s32, {rows, timed_width}, std::as_bytes(std::span(ids)));
  write_npy(folder / "attention_mask.npy", NpyType::u8, {rows, timed_width}, std::as_bytes(std::span(mask)));
}

class TimedRows : public testing::Test {
 protected:
  TimedRows() { write_padded_rows(folder_.path(), 17); }
  BenchRequest request_of(RowOrder order = RowOrder::given, SkipPadding skip = SkipPadding::on) const {
    BenchRequest request;
    request.models = {gpt2_folder};
    request.precisions = {"fp32", "bf16"};
    request.emulated = Emulated::included;
    request.data = folder_.path();
    request.row_order = order;
    request.skip_padding = skip;
    request.batches = {4};
    request.rounds = 9;
    request.seconds = 0.05;
    request.quality = QualityMode::none;
    return request;
  }
  CellInputs inputs_of(RowOrder order, SkipPadding skip) const {
    return cell_inputs(model_, request_of(order, skip), {4, 0});
  }

  TemporaryFolder folder_;
  Model model_ = open_model(gpt2_folder, {});
};

/// The real ids of all rows.
std::multiset<std::vector<std::int32_t>> real_rows(const CellInputs& inputs) {
  std::multiset<std::vector<std::int32_t>> rows;
  for (const QualityBatch& batch : inputs.batches) {
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      std::vector<std::int32_t> ids;
      for (std::int64_t t = 0; t < batch.extent.seq; ++t) {
        const auto at = static_cast<std::size_t>(row * batch.extent.seq + t);
        if (batch.mask.empty() || batch.mask[at] != 0) ids.push_back(batch.ids[at]);
      }
      rows.insert(ids);
    }
  }
  return rows;
}

std::int64_t positions(const CellInputs& inputs) {
  return std::accumulate(
      inputs.batches.begin(), inputs.batches.end(), std::int64_t{0},
      [](std::int64_t sum, const QualityBatch& batch) { return sum + batch.extent.batch * batch.extent.seq; });
}

TEST_F(TimedRows, SkippingPaddingLosesNoRealId) {
  const CellInputs full = inputs_of(RowOrder::given, SkipPadding::off);
  const CellInputs skipped = inputs_of(RowOrder::given, SkipPadding::on);
  EXPECT_EQ(full.extent.seq, timed_width);
  EXPECT_EQ(skipped.extent.seq, timed_width) << "the shape is that of the data, whatever is left out";
  EXPECT_EQ(positions(full), full.given_positions);
  EXPECT_LT(positions(skipped), positions(full));
  EXPECT_EQ(real_rows(skipped), real_rows(full));
  EXPECT_EQ(full.batches.size(), 4U);
  EXPECT_EQ(full.rows_left, 1) << "17 rows make four batches of 4";
}

TEST_F(TimedRows, SortedRowsHaveTheLeastPaddingAndBucketsTheFewestLengths) {
  const CellInputs given = inputs_of(RowOrder::given, SkipPadding::on);
  const CellInputs sorted = inputs_of(RowOrder::sorted, SkipPadding::on);
  EXPECT_LT(positions(sorted), positions(given));
  for (const QualityBatch& batch : inputs_of(RowOrder::bucketed, SkipPadding::on).batches)
    EXPECT_TRUE(batch.extent.seq == 16 || batch.extent.seq == 24) << batch.extent.seq << ": 32 is beyond the context";
}

TEST_F(TimedRows, TheLongestBatchIsTheFirst) {
  const CellInputs inputs = inputs_of(RowOrder::given, SkipPadding::on);
  EXPECT_TRUE(std::is_sorted(inputs.batches.begin(), inputs.batches.end(),
                             [](const auto& a, const auto& b) { return a.extent.seq > b.extent.seq; }));
}

TEST_F(TimedRows, OtherDataIsAnotherMeasurementAndOtherBatchesOfItAreNot) {
  const std::string name = inputs_of(RowOrder::given, SkipPadding::on).data;
  EXPECT_EQ(inputs_of(RowOrder::sorted, SkipPadding::off).data, name);
  write_padded_rows(folder_.path(), 18);
  EXPECT_NE(inputs_of(RowOrder::given, SkipPadding::on).data, name);
}

TEST_F(TimedRows, FewerRowsThanABatchAreRefusedByName) {
  const std::string fault = user_error_of([&] { cell_inputs(model_, request_of(), {32, 0}); });
  EXPECT_NE(fault.find("17 rows are fewer than a batch of 32"), std::string::npos) << fault;
}

TEST_F(TimedRows, AskedLengthsCutRows) {
  const CellInputs inputs = cell_inputs(model_, request_of(), {4, 6});
  EXPECT_EQ(inputs.extent.seq, 6);
  for (const QualityBatch& batch : inputs.batches) EXPECT_LE(batch.extent.seq, 6);
  EXPECT_NE(inputs.data.find("cut at 6 ids"), std::string::npos) << inputs.data;
}

TEST_F(TimedRows, AllPrecisionsRunTheSameBatchInARound) {
  const std::vector<Record> records = bench(request_of(), [] { return read_machine_facts(); }, {}).records;
  ASSERT_EQ(records.size(), 2U);
  const Latency& fp32 = *records[0].latency;
  ASSERT_EQ(fp32.raw_tokens.size(), 9U);
  EXPECT_EQ(fp32.raw_tokens, records[1].latency->raw_tokens);
  EXPECT_EQ(fp32.raw_positions, records[1].latency->raw_positions);
  EXPECT_GT(std::set<double>(fp32.raw_tokens.begin(), fp32.raw_tokens.end()).size(), 1U) << "batches are drawn anew";
  EXPECT_EQ(records[0].setting.timed_inputs, InputsOf::data);
  EXPECT_GT(fp32.padding_cost.value_or(0), 0);
}

TEST_F(TimedRows, RatesAreOfRealIdsAndOfAllTime) {
  const std::vector<Record> records = bench(request_of(), [] { return read_machine_facts(); }, {}).records;
  const Record& record = records.front();
  const auto sum = [](const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); };
  const double tokens = sum(record.latency->raw_tokens);
  EXPECT_NEAR(*record.rates.padding_share, 1 - tokens / sum(record.latency->raw_positions), 1e-12);
  const double tokens_per_row = tokens / 9 / 4;
  EXPECT_NEAR(*record.rates.tokens_per_s / *record.rates.samples_per_s, tokens_per_row, 1e-9);
  EXPECT_LT(*record.evidence.flops * 9, 9 * 2.0 * 4 * timed_width * static_cast<double>(record.setting.parameters) * 2)
      << "of the batches that ran, not of the longest nine times";
}

/// What is behind the last real id has no weight: cutting it off changes no logit before it.
TEST_F(TimedRows, SkippedPaddingChangesNoResult) {
  const MachineFacts facts = read_machine_facts();
  const auto instance = make_instance(model_, "fp32", {}, facts);
  const CellInputs full = inputs_of(RowOrder::sorted, SkipPadding::off);
  const CellInputs skipped = inputs_of(RowOrder::sorted, SkipPadding::on);
  const auto pass_on = [&](const CellInputs& inputs) {
    const PlanOptions options{.extent = inputs.batches.front().extent, .mask = AttentionMask::given};
    return std::make_unique<TimedPass>(std::make_unique<Plan>(*instance, options), *instance, inputs.batches);
  };
  const auto whole = pass_on(full);
  const auto part = pass_on(skipped);
  // Sorted by length from the longest: batch i holds the same rows in both, where no two lengths are equal.
  for (std::size_t i = 0; i < skipped.batches.size(); ++i) {
    const QualityBatch& batch = skipped.batches[i];
    const auto same = std::find_if(full.batches.begin(), full.batches.end(), [&](const QualityBatch& other) {
      return std::equal(batch.ids.begin(), batch.ids.begin() + 3, other.ids.begin());
    });
    ASSERT_NE(same, full.batches.end());
    whole->take(static_cast<std::size_t>(same - full.batches.begin()));
    whole->current().run();
    part->take(i);
    part->current().run();
    const Tensor of_whole = whole->current().output_f32("logits");
    const Tensor of_part = part->current().output_f32("logits");
    const std::int64_t vocabulary = model_.config.vocab_size;
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      for (std::int64_t t = 0; t < batch.extent.seq; ++t) {
        if (batch.mask[static_cast<std::size_t>(row * batch.extent.seq + t)] == 0) continue;
        const float* a = of_whole.as<float>() + (row * timed_width + t) * vocabulary;
        const float* b = of_part.as<float>() + (row * batch.extent.seq + t) * vocabulary;
        for (std::int64_t v = 0; v < vocabulary; ++v) ASSERT_NEAR(a[v], b[v], 2e-5F);
      }
    }
  }
}

}  // namespace
}  // namespace assay
