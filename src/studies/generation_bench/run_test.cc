#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/testing.h"
#include "formats/npy.h"
#include "hardware/facts.h"
#include "hardware/machine.h"
#include "model/architecture.h"
#include "model/config.h"
#include "model/model.h"
#include "results/document.h"
#include "results/fields.h"
#include "results/figure.h"
#include "results/record.h"
#include "results/states.h"
#include "studies/bench/request.h"
#include "studies/generation_bench/cell.h"
#include "studies/generation_bench/request.h"
#include "studies/generation_bench/timed_generation.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"

namespace assay {
namespace {

GenerationBenchRequest tiny_generation(const char* model) {
  GenerationBenchRequest request;
  request.bench.models = {std::string(ASSAY_SOURCE_DIR "/tests/fixtures/models/") + model};
  request.bench.precisions = {"fp32", "int8-weights"};
  request.bench.batches = {1, 2};
  request.bench.rounds = 6;
  request.bench.seconds = 0.05;
  request.bench.energy.meters.name = "none";
  request.bench.quality = QualityMode::none;
  request.prompt_tokens = {8};
  request.new_tokens = {6};
  request.depths = {0, 5};
  return request;
}

Document run_tiny(const GenerationBenchRequest& request) {
  return generation_bench(request, [] { return read_machine_facts(); }, {});
}

TEST(GenerationBench, EachCellHasBothPhasesOfEveryPrecision) {
  const Document document = run_tiny(tiny_generation("llama-tied"));
  ASSERT_EQ(document.records.size(), 2U * 2 * 2 * 2) << "precisions, phases, batches, depths";
  for (const Record& record : document.records) {
    ASSERT_EQ(record.outcome.status, Status::ok) << record.outcome.reason.value_or("");
    EXPECT_EQ(record.latency->samples, 6);
    EXPECT_GT(*record.rates.tokens_per_s, 0);
    EXPECT_EQ(record.generation->raw_token_ms.size(), record.setting.mode == Mode::decode ? 6U * 6 : 0U);
  }
}

TEST(GenerationBench, ATokenReadsTheWeightsAndWhatTheCacheHoldsOfItsRow) {
  GenerationBenchRequest request = tiny_generation("llama-tied");
  request.bench.precisions = {"fp32"};
  request.bench.batches = {2};
  request.depths = {5};
  const Document document = run_tiny(request);
  const Record& decode = document.records.at(1);
  ASSERT_EQ(decode.setting.mode, Mode::decode);
  const Model model = open_model(request.bench.models.front(), {});
  const ModelConfig& c = model.config;
  const double token_bytes = 2.0 * static_cast<double>(c.layers * c.kv_heads * c.head_dim) * sizeof(float);
  // The middle of six tokens behind 13 sees 13 + 2 and itself.
  EXPECT_EQ(*decode.generation->kv_bytes_read, 2 * 16 * token_bytes);
  EXPECT_EQ(static_cast<double>(*decode.generation->kv_bytes), 2 * 19 * token_bytes) << "5 + 8 + 6 tokens of two rows";
}

TEST(GenerationBench, ATokensTimeIsTakenApart) {
  GenerationBenchRequest request = tiny_generation("llama-tied");
  request.bench.batches = {1};
  request.depths = {5};
  const Document document = run_tiny(request);
  for (const Record& record : document.records) {
    const GenerationCosts& generation = *record.generation;
    ASSERT_EQ(generation.outside_kernels_ms.has_value(), record.setting.mode == Mode::decode);
    if (record.setting.mode == Mode::prefill) continue;
    EXPECT_GT(*generation.products_ms, 0);
    EXPECT_GT(*generation.attention_ms, 0);
    EXPECT_GT(*generation.other_kernels_ms, 0) << "norms and rotary positions";
    EXPECT_GE(*generation.outside_kernels_ms, 0);
  }
  const auto table = std::find_if(document.tables.begin(), document.tables.end(),
                                  [](const Table& one) { return one.key == "token_parts"; });
  ASSERT_NE(table, document.tables.end());
  EXPECT_EQ(table->rows.size(), 2U) << "a row a precision, of decoding";
}

TEST(GenerationBench, ARecordIsTheSameAfterJson) {
  GenerationBenchRequest request = tiny_generation("gpt2");
  request.depths = {0};
  for (const Record& record : run_tiny(request).records) {
    const OrderedJson json = to_json(record);
    EXPECT_EQ(to_json(record_from_json(Json::parse(json.dump()), "test")), json);
  }
}

TEST(GenerationBench, RoundsOfAWindowedModelAreTakenBackToTheSameIds) {
  const Model model = open_model(ASSAY_SOURCE_DIR "/tests/fixtures/models/mistral", {});
  const MachineFacts facts = read_machine_facts();
  const GenerationCell cell = {.batch = 1, .depth = 5, .prompt_tokens = 6, .new_tokens = 5};
  EngineOptions engine;
  engine.cache = cache_of_all({cell});
  engine.program.logits = LogitRows::last;
  const auto instance = make_instance(model, "fp32", engine, facts);
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  TimedGeneration rows(*instance, cell, ids, {.batch = 1, .capacity = engine.cache->capacity});
  rows.read_depth();
  rows.prefill();
  rows.decode();
  const std::int32_t last = rows.read_id();
  rows.decode();
  EXPECT_EQ(rows.read_id(), last);
  rows.prefill();
  rows.decode();
  EXPECT_EQ(rows.read_id(), last);
}

TEST(GenerationBench, WhatAnInterruptLeftOutSaysSo) {
  const GenerationBenchRequest request = tiny_generation("llama-tied");
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.find("batch 1, depth 5: reading the depth") != std::string::npos) interrupted = true;
  };
  const Document document = generation_bench(request, [] { return read_machine_facts(); }, callbacks);
  ASSERT_EQ(document.records.size(), 2U * 2 * 2) << "the cell before, and that in which it came";
  for (const Record& record : document.records) {
    const bool came_before = *record.setting.depth == 0;
    EXPECT_EQ(record.outcome.status, came_before ? Status::ok : Status::interrupted);
    EXPECT_EQ(record.latency->samples > 0, came_before);
  }
}

TEST(GenerationBench, LinesAndBoxesOfDifferentCellsHaveDifferentNames) {
  GenerationBenchRequest request = tiny_generation("llama-tied");
  request.bench.precisions = {"fp32"};
  request.bench.batches = {1};
  request.new_tokens = {3, 6};
  request.depths = {7, 0, 5};
  const Document document = run_tiny(request);
  const auto figure = [&](const char* key) {
    const auto found = std::find_if(document.figures.begin(), document.figures.end(),
                                    [&](const Figure& one) { return one.key == key; });
    EXPECT_NE(found, document.figures.end()) << key;
    return found == document.figures.end() ? Figure() : *found;
  };
  const Figure rates = figure("rate_over_depth");
  ASSERT_EQ(rates.series.size(), 2U * 2) << "a line a phase and number of new tokens";
  for (const Figure::Series& line : rates.series) {
    ASSERT_EQ(line.points.size(), 3U) << line.name;
    EXPECT_EQ(line.points[0].x, 0);
    EXPECT_EQ(line.points[1].x, 5) << "whatever order they were asked in";
    EXPECT_EQ(line.points[2].x, 7);
  }
  std::vector<std::string> boxes = figure("token_times").x.categories;
  std::sort(boxes.begin(), boxes.end());
  EXPECT_EQ(boxes.size(), 6U);
  EXPECT_EQ(std::adjacent_find(boxes.begin(), boxes.end()), boxes.end());
}

TEST(GenerationBench, WhatTheContextHasNoRoomForIsRefusedWithBothFigures) {
  GenerationBenchRequest request = tiny_generation("llama-tied");
  request.prompt_tokens = {512};
  try {
    run_tiny(request);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("518 together, more than the model's context of 24"), std::string::npos)
        << e.what();
  }
}

/// Rows of 24 ids.
void write_rows_of_ids(const std::filesystem::path& folder, std::int64_t rows) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < rows * 24; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 59));
  write_npy(folder / "input_ids.npy", NpyType::s32, {rows, 24}, std::as_bytes(std::span(ids)));
}

GenerationBenchRequest scored_request(const TemporaryFolder& folder) {
  GenerationBenchRequest request = tiny_generation("llama-tied");
  request.bench.quality = QualityMode::automatic;
  request.bench.data = folder.path();
  request.bench.batches = {1};
  request.depths = {0};
  request.continuations = 3;
  return request;
}

TEST(GenerationBench, WhatIsDecodedIsScoredThroughTheCache) {
  const TemporaryFolder folder;
  write_rows_of_ids(folder.path(), 5);
  const Document document = run_tiny(scored_request(folder));
  ASSERT_EQ(document.records.size(), 4U);
  for (const Record& record : document.records) {
    ASSERT_EQ(record.outcome.status, Status::ok) << record.outcome.reason.value_or("");
    if (record.setting.mode == Mode::prefill) {
      EXPECT_EQ(record.quality->quality_status.state, QualityState::not_asked);
      continue;
    }
    EXPECT_EQ(*record.quality->scored, 5 * 23);
    EXPECT_EQ(record.decoded->position_from, (std::vector<double>{0, 16}));
    EXPECT_EQ(record.decoded->equal_tokens.size(), 3U);
    EXPECT_EQ(*record.decoded->continued_tokens, 12) << "behind 12 ids in a context of 24";
    EXPECT_FALSE(record.decoded->equal_32) << "nothing is said of what was not made";
  }
  EXPECT_EQ(*document.records[1].difference->kl_mean, 0) << "fp32 beside itself";
  EXPECT_GT(*document.records[3].difference->kl_mean, 0);
}

TEST(GenerationBench, PerplexityThroughTheCacheIsThatOfBench) {
  const TemporaryFolder folder;
  write_rows_of_ids(folder.path(), 5);
  GenerationBenchRequest request = scored_request(folder);
  request.bench.precisions = {"fp32"};
  const Document through_cache = run_tiny(request);
  request.bench.seqs = {8};
  const Document at_once = bench(request.bench, [] { return read_machine_facts(); }, {});
  EXPECT_NEAR(*through_cache.records.at(1).quality->log_perplexity, *at_once.records.at(0).quality->log_perplexity,
              1e-4);
}

TEST(GenerationBench, RowsWithPaddingAreRefused) {
  const TemporaryFolder folder;
  write_rows_of_ids(folder.path(), 2);
  std::vector<std::int32_t> mask(48, 1);
  mask[0] = 0;
  write_npy(folder.path() / "attention_mask.npy", NpyType::s32, {2, 24}, std::as_bytes(std::span(mask)));
  const std::string error = user_error_of([&] { run_tiny(scored_request(folder)); });
  EXPECT_NE(error.find("rows with padding are not among them"), std::string::npos) << error;
}

}  // namespace
}  // namespace assay
