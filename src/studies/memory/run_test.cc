#include "studies/memory/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "hardware/facts_testing.h"
#include "runtime/forecast.h"
#include "studies/generation_bench/request.h"

namespace assay {
namespace {

MachineFacts facts_with(std::int64_t available_bytes) {
  MachineFacts facts = two_thread_facts();
  facts.available_bytes = available_bytes;
  return facts;
}
constexpr std::int64_t plenty = std::int64_t{1} << 50;

MemoryRequest training(const std::string& model) {
  MemoryRequest request;
  request.model = model;
  request.mode = RunMode::train;
  request.precisions = {"fp32"};
  request.seqs = {64};
  request.batch = 2;
  return request;
}

MemoryStudy study(const MemoryRequest& request) {
  return memory_study(request, facts_with(plenty));
}

std::int64_t most_live(const MemoryCell& cell) {
  std::int64_t most = 0;
  for (const MemoryMoment& moment : cell.timeline) most = std::max(most, moment.live_bytes);
  return most;
}

TEST(Memory, CategoriesSumToTheTotalAndStateIsCountedByParameters) {
  const MemoryStudy s = study(training("cs336-small"));
  ASSERT_EQ(s.cells.size(), 3U) << "none, attention and block recomputed";
  for (const MemoryCell& cell : s.cells) {
    EXPECT_EQ(std::accumulate(cell.held.begin(), cell.held.end(), std::int64_t{0}), cell.total_bytes);
    EXPECT_EQ(cell.persistent_bytes(), 4 * 4 * s.parameters) << "f32 weights, gradients and two moments";
    EXPECT_EQ(std::accumulate(cell.saved_by_block.begin(), cell.saved_by_block.end(), std::int64_t{0},
                              [](std::int64_t sum, const NamedBytes& block) { return sum + block.bytes; }),
              cell.saved_bytes);
    EXPECT_GT(cell.largest.bytes, 0);
  }
}

TEST(Memory, TheTimelinesPeakIsTheMostThatLivesInTheArenaAtOnce) {
  const MemoryStudy s = study(training("cs336-small"));
  const MachineFacts facts = facts_with(plenty);
  const TrainingPrograms programs =
      training_programs(open_model("cs336-small", {}).config,
                        whole_step(precision_choice("fp32", {}, facts), {}, open_model("cs336-small", {})));
  const Layout layout = lay_out(programs.step, {.extent = {2, 64}, .outputs = {"loss"}});
  std::int64_t most = 0;
  for (int step = 1; step <= static_cast<int>(layout.nodes.size()); ++step) {
    std::int64_t live = 0;
    for (const Placement& value : layout.values) {
      if (value.first_step <= step && step <= value.last_step) live += value.bytes;
    }
    most = std::max(most, live);
  }
  EXPECT_EQ(most_live(s.cells[0]), most);
  EXPECT_LE(most, layout.bytes);
}

MemoryRequest generating(const std::string& model) {
  MemoryRequest request;
  request.model = std::string(ASSAY_SOURCE_DIR "/tests/fixtures/models/") + model;
  request.mode = RunMode::generate;
  request.precisions = {"fp32", "bf16", "int8-weights"};
  request.batch = 2;
  return request;
}

/// A prompt with one token behind it fills the cache as the memory study has it.
TEST(Memory, OfGenerationIsWhatMeasuringItFinds) {
  for (const char* model : {"llama-tied", "gpt2", "gemma2"}) {
    MemoryRequest request = generating(model);
    GenerationBenchRequest measuring;
    measuring.bench.models = {request.model};
    measuring.bench.precisions = request.precisions;
    measuring.bench.batches = {request.batch};
    measuring.bench.rounds = 1;
    measuring.bench.seconds = 0.01;
    measuring.bench.quality = QualityMode::none;
    measuring.bench.energy.meters.name = "none";
    measuring.prompt_tokens = {15};
    measuring.new_tokens = {1};
    request.seqs = {16};
    const MachineFacts facts = facts_with(plenty);
    const MemoryStudy predicted = memory_study(request, facts);
    const Document measured = generation_bench(measuring, [&] { return facts; }, {});
    for (std::size_t i = 0; i < request.precisions.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} {}", model, request.precisions[i]));
      const MemoryCell& cell = predicted.cells[i];
      const Record& prefill = measured.records.at(2 * i);
      EXPECT_EQ(cell.held[static_cast<std::size_t>(Held::cache)], *prefill.generation->kv_bytes);
      EXPECT_EQ(cell.held[static_cast<std::size_t>(Held::weights)], *prefill.memory->model_bytes);
      EXPECT_EQ(cell.arena_bytes, *prefill.memory->arena_bytes);
      const std::int64_t page_ends = cell.total_bytes - *prefill.memory->peak_bytes;
      EXPECT_TRUE(0 <= page_ends && page_ends < 1 << 21) << page_ends << ": what packed weights leave of huge pages";
    }
  }
}

TEST(Memory, ACacheInEightBitsTakesAQuarterAndItsScales) {
  MemoryRequest request = generating("llama-tied");
  request.precisions = {"fp32"};
  request.seqs = {8, 16};
  const auto cache = [&](std::size_t cell) {
    return study(request).cells[cell].held[static_cast<std::size_t>(Held::cache)];
  };
  const std::int64_t in_f32 = cache(1);
  EXPECT_EQ(in_f32, 2 * cache(0)) << "twice the tokens";
  const ModelConfig config = open_model(request.model, {}).config;
  request.engine.overrides = "kv=s8";
  EXPECT_EQ(cache(1), in_f32 / 4 + in_f32 / config.head_dim) << "a scale of f32 a token and head";
}

TEST(Memory, ACacheIsInWhatTheRecipeSaysOfKeysAndValues) {
  MemoryRequest request = generating("llama-tied");
  request.seqs = {16};
  const Recipe recipe = {.name = "mix", .rest = &find_precision("fp32"), .kv = DType::s8};
  request.engine.recipes = {recipe};
  const auto cache = [&](const std::string& precision, const std::string& overrides) {
    request.precisions = {precision};
    request.engine.overrides = overrides;
    return study(request).cells.at(0).held[static_cast<std::size_t>(Held::cache)];
  };
  EXPECT_EQ(cache(precision_name(recipe), ""), cache("fp32", "kv=s8"));
  EXPECT_LT(cache(precision_name(recipe), ""), cache("fp32", ""));
  request.mode = RunMode::infer;
  EXPECT_EQ(cache(precision_name(recipe), ""), 0) << "nothing is kept of one run";
}

/// Mixed precisions keep a copy of the probabilities in 16 bits, which has as many elements.
TEST(Memory, NoMatrixOfAttentionsIsKeptWhereTheyAreComputedAgain) {
  MemoryRequest request = training("cs336-small");
  request.engine.fusion = Fusion::off;
  request.precisions = {"fp32", "mixed-bf16", "mixed-fp16", "bf16"};
  request.seqs = {256};
  const MemoryStudy s = study(request);
  ASSERT_EQ(s.cells.size(), 12U);
  for (std::size_t i = 0; i < s.cells.size(); i += 3) {
    const MemoryCell& kept = s.cells[i];
    const MemoryCell& again = s.cells[i + 1];
    constexpr std::int64_t one_matrix = std::int64_t{12} * 12 * 2 * 256 * 256 * 2;  // Layers, heads, B, T, T, 2 bytes.
    EXPECT_LE(again.saved_bytes, kept.saved_bytes - one_matrix) << kept.precision;
    EXPECT_LE(again.total_bytes, kept.total_bytes) << kept.precision;
  }
}

TEST(Memory, RecomputingBlocksSavesLessAndNeverCostsPeak) {
  const MemoryStudy s = study(training("cs336-small"));
  const MemoryCell& plain = s.cells[0];
  const MemoryCell& block = s.cells[2];
  ASSERT_EQ(block.step.recompute, Recompute::block);
  EXPECT_LT(block.saved_bytes, plain.saved_bytes / 2);
  EXPECT_LT(block.total_bytes, plain.total_bytes);
}

TEST(Memory, WhateverIsComputedAgainThePeakOfNoModelRises) {
  for (const char* model : {"gpt2", "distilbert-base"}) {
    for (const Fusion fusion : {Fusion::on, Fusion::off}) {
      MemoryRequest request = training(model);
      request.engine.fusion = fusion;
      request.precisions = {"fp32", "mixed-bf16", "bf16"};
      request.seqs = {8, 128};
      const std::vector<MemoryCell> cells = study(request).cells;
      std::map<std::pair<std::string, std::int64_t>, std::int64_t> kept;
      for (const MemoryCell& cell : cells) {
        std::int64_t& total = kept.try_emplace({cell.precision, cell.extent.seq}, cell.total_bytes).first->second;
        EXPECT_LE(cell.total_bytes, total) << model << " " << cell.precision << " " << name(cell.step.recompute);
      }
      EXPECT_EQ(cells.size(), 3 * kept.size()) << "none comes first, then attention and block";
    }
  }
}

TEST(Memory, ThePeakOfAStepIsWithinATenthOfItsFloor) {
  MemoryRequest request = training("cs336-small");
  request.precisions = {"fp32", "bf16", "mixed-bf16", "mixed-fp16"};
  request.batch = 4;
  request.seqs = {128, 512};
  request.step.recomputes = {Recompute::none};
  for (const MemoryCell& cell : study(request).cells) {
    EXPECT_LE(static_cast<double>(cell.peak_bytes()), 1.1 * static_cast<double>(cell.floor_bytes()))
        << cell.precision << " " << cell.extent.seq << " " << name(cell.step.recompute);
    EXPECT_GE(cell.peak_bytes(), cell.floor_bytes());
  }
}

TEST(Memory, WithoutFusionTheAttentionMatricesAreSavedUnlessTheyAreComputedAgain) {
  MemoryRequest request = training("cs336-small");
  request.engine.fusion = Fusion::off;
  request.step.recomputes = {Recompute::none, Recompute::attention};
  const MemoryStudy s = study(request);
  const auto saved_softmax = [](const MemoryCell& cell) {
    const auto found = std::find_if(cell.saved_by_operation.begin(), cell.saved_by_operation.end(),
                                    [](const NamedBytes& sum) { return sum.name == "softmax"; });
    return found == cell.saved_by_operation.end() ? std::int64_t{0} : found->bytes;
  };
  EXPECT_EQ(saved_softmax(s.cells[0]), 12 * 2 * 12 * 64 * 64 * 4) << "layers x batch x heads x T x T in f32";
  EXPECT_EQ(saved_softmax(s.cells[1]), 0);
}

TEST(Memory, AModelTooBigIsARowThatSaysWhatIsMissing) {
  const MemoryStudy s = memory_study(training("cs336-10b"), facts_with(24'000'000'000));
  for (const MemoryCell& cell : s.cells) {
    EXPECT_EQ(cell.fits, Fits::no);
    EXPECT_NE(cell.reason.find("are available"), std::string::npos);
    EXPECT_GT(cell.total_bytes, 16 * s.parameters);
  }
}

TEST(Memory, SixteenBitsHalveTheWeightsAndMixedKeepsThemBesideCopies) {
  MemoryRequest request;
  request.model = "gpt2";
  request.precisions = {"fp32", "bf16", "mixed-bf16"};
  const MemoryStudy s = study(request);
  const auto held = [&](std::size_t cell, Held kind) { return s.cells[cell].held[static_cast<std::size_t>(kind)]; };
  EXPECT_EQ(held(0, Held::weights), 4 * s.parameters);
  EXPECT_LT(held(1, Held::weights), held(0, Held::weights) * 6 / 10);
  EXPECT_EQ(held(2, Held::weights), held(0, Held::weights));
  EXPECT_GT(held(2, Held::packed), held(1, Held::weights) / 2);
  EXPECT_EQ(held(0, Held::gradients) + held(0, Held::optimizer) + held(0, Held::saved_for_backward), 0);
}

TEST(Memory, WhatCannotBeIsSaidInOneSentence) {
  MemoryRequest request = training("cs336-small");
  request.precisions = {"int8"};
  EXPECT_THROW(study(request), Error) << "nothing is trained in int8";
  request.precisions = {"fp33"};
  EXPECT_THROW(study(request), Error);
  request = training("cs336-small");
  request.seqs = {9000};
  EXPECT_THROW(study(request), Error) << "longer than the context";
}

}  // namespace
}  // namespace assay
