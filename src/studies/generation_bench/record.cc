#include "studies/generation_bench/record.h"

#include <cstdint>
#include <optional>

#include "hardware/facts.h"
#include "measure/energy.h"
#include "program/operation.h"
#include "program/program.h"
#include "results/parts.h"
#include "runtime/plan.h"
#include "runtime/state.h"
#include "statistics/statistics.h"
#include "studies/shared/engine.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/series_record.h"

namespace assay {
namespace {

/// Keys and values that the cell's rows keep: those of a cache of its own, whatever larger one it ran in.
std::int64_t kv_bytes_of(const BenchGroup& group, const Instance& instance, const GenerationCell& cell) {
  EngineOptions engine = group.request().engine;
  engine.cache = cache_of(cell);
  const Program program = prepared_program(group.model(), instance.precision(), engine);
  return missing_state_bytes(program, State(instance.device()), {.batch = cell.batch});
}

/// What attention reads of the cache.
double kv_bytes_read(const Plan& plan) {
  double total = 0;
  for (const Step& step : plan.steps()) {
    const Node& node = plan.program().nodes[step.node];
    if (node.operation != &op::cached_attention) continue;
    // Queries and results lie in the arena.
    total +=
        step.bytes - 2.0 * static_cast<double>(storage_bytes(plan.program(), node.inputs[0], plan.options().extent));
  }
  return total;
}

void add_to(std::optional<double>& sum, const std::optional<double>& value, double times) {
  if (value) sum = sum.value_or(0) + times * *value;
}

/// Of a plan that runs several times: work and bytes add up, weights are the same ones.
void add_piece(const TimedGeneration::Piece& piece, const Instance& instance, const MachineFacts& facts,
               Evidence& evidence) {
  const Evidence one = evidence_of(*piece.plan, instance, facts);
  const auto times = static_cast<double>(piece.times);
  if (evidence.ledger.empty()) {
    evidence = one;
    evidence.flops = evidence.moved_bytes = evidence.instruction_ms = evidence.matmul_ms = std::nullopt;
  }
  add_to(evidence.flops, product_flops(*piece.plan), times);
  add_to(evidence.moved_bytes, one.moved_bytes, times);
  add_to(evidence.instruction_ms, one.instruction_ms, times);
  add_to(evidence.matmul_ms, one.matmul_ms, times);
}

/// The same of one token of every row.
Series of_a_token(Series series, const GenerationCell& cell) {
  const auto counted = static_cast<double>(cell.new_tokens - cell.first_tokens());
  series.first_ms.reset();
  for (auto* times : {&series.raw_ms, &series.warm_up_ms}) {
    for (double& ms : *times) ms /= counted;
  }
  series.timed_runs *= cell.new_tokens - cell.first_tokens();
  const auto runs_to_tokens = [&](std::optional<EnergySum>& energy) {
    if (energy) energy->runs *= cell.new_tokens;
  };
  runs_to_tokens(series.energy);
  for (std::optional<EnergySum>& other : series.other_energy) runs_to_tokens(other);
  return series;
}

void record_tokens(const GeneratedSeries& generated, GenerationCosts& generation) {
  for (const std::vector<double>& round : generated.token_ms)
    generation.raw_token_ms.insert(generation.raw_token_ms.end(), round.begin(), round.end());
  generation.first_tokens = generated.cell.first_tokens();
  if (generated.rows != nullptr && !generated.rows->choice_ms().empty())
    generation.choice_ms = median(generated.rows->choice_ms());
}

/// A time says nothing where what was timed is no number.
void refuse_non_finite(const TimedGeneration& rows, Record& record) {
  if (record.latency->samples == 0 || rows.is_finite()) return;
  record.outcome.status = Status::not_finite;
  record.outcome.reason = "on the ids that were timed, the logits hold NaN or infinity";
}

/// Where a device could not make a graph of what was timed.
void note_graphs(TimedGeneration& rows, Record& record) {
  const Plan& plan = record.setting.mode == Mode::decode ? rows.decode_plan() : *rows.prefill_pieces().front().plan;
  if (record.setting.graphs == Switch::on && !plan.is_recorded()) record.setting.graphs = Switch::off;
}

}  // namespace

Record blank_of(const Record& blank, const GenerationCell& cell, Mode mode) {
  Record record = blank;
  Setting& setting = record.setting;
  setting.mode = mode;
  setting.batch = cell.batch;
  setting.seq = mode == Mode::prefill ? cell.prompt_tokens : 1;
  setting.depth = cell.depth;
  setting.prompt_tokens = cell.prompt_tokens;
  setting.new_tokens = cell.new_tokens;
  return record;
}

void record_plans(const BenchGroup& group, const Instance& instance, const GenerationCell& cell, TimedGeneration& rows,
                  Record& record) {
  const std::vector<TimedGeneration::Piece> pieces = rows.prefill_pieces();
  GenerationCosts& generation = record.generation.made();
  generation.kv_bytes = kv_bytes_of(group, instance, cell);
  record.memory = memory_of(*pieces.front().plan, instance);
  record.memory.made().peak_bytes = *record.memory->peak_bytes + *generation.kv_bytes;
  if (record.setting.mode == Mode::decode) {
    add_piece({&rows.decode_plan(), 1}, instance, group.facts(), record.evidence);
    generation.kv_bytes_read = kv_bytes_read(rows.decode_plan());
    return;
  }
  for (const TimedGeneration::Piece& piece : pieces) add_piece(piece, instance, group.facts(), record.evidence);
}

void record_parts(const TimedGeneration::TokenParts& parts, Record& record) {
  GenerationCosts& generation = record.generation.made();
  generation.products_ms = parts.products;
  generation.attention_ms = parts.attention;
  generation.other_kernels_ms = parts.other_kernels;
  generation.outside_kernels_ms = parts.outside;
}

void record_generated(const BenchGroup& group, const GeneratedSeries& generated, Record& record) {
  const bool decodes = record.setting.mode == Mode::decode;
  const Series series = decodes ? of_a_token(generated.series, generated.cell) : generated.series;
  const Series baseline = decodes ? of_a_token(generated.baseline, generated.cell) : generated.baseline;
  record_series(
      series,
      {baseline, group.power(), group.request().model_options.seed, group.request().width, record.latency->prepare_ms},
      record);
  if (decodes) record_tokens(generated, record.generation.made());
  if (generated.rows == nullptr) return;
  refuse_non_finite(*generated.rows, record);
  note_graphs(*generated.rows, record);
}

}  // namespace assay
