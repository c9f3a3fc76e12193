#include "studies/generation_bench/timed_generation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/clock.h"
#include "base/team.h"
#include "generation/sampling.h"
#include "program/operation.h"
#include "program/program.h"
#include "runtime/trace.h"
#include "statistics/statistics.h"
#include "studies/shared/cached.h"

namespace assay {
namespace {

/// Lengths of pieces in which so many tokens are read, the last one shorter.
std::vector<std::int64_t> pieces_of(std::int64_t tokens) {
  std::vector<std::int64_t> pieces(static_cast<std::size_t>(tokens / prefill_chunk), prefill_chunk);
  if (tokens % prefill_chunk > 0) pieces.push_back(tokens % prefill_chunk);
  return pieces;
}

}  // namespace

TimedGeneration::TimedGeneration(Instance& instance, const GenerationCell& cell, const std::vector<std::int32_t>& ids,
                                 const SessionOptions& options)
    : cell_(cell), ids_(ids), session_(instance, options) {
  next_.ids.resize(static_cast<std::size_t>(cell.batch));
  next_.positions.resize(next_.ids.size());
  token_ms_.reserve(static_cast<std::size_t>(cell.new_tokens));
  choice_ms_.reserve(static_cast<std::size_t>(cell.new_tokens));
  const Program& program = instance.program();
  logits_.resize(static_cast<std::size_t>(program.value(program.output("logits")).shape.back().factor));
  make_plans();
}

/// The longest first, whose arena the others use; each counts its work in the middle of where it stands.
void TimedGeneration::make_plans() {
  const std::int64_t mean_past = cell_.depth + (cell_.prompt_tokens - std::min(cell_.prompt_tokens, prefill_chunk)) / 2;
  std::vector<std::int64_t> lengths = pieces_of(cell_.prompt_tokens);
  for (const std::int64_t length : pieces_of(cell_.depth)) lengths.push_back(length);
  std::sort(lengths.rbegin(), lengths.rend());
  for (const std::int64_t length : lengths) session_.plan_for(length, length == 1 ? cell_.behind_prompt() : mean_past);
  decode_plan();
}

Plan& TimedGeneration::decode_plan() {
  return session_.plan_for(1, cell_.behind_prompt() + (cell_.new_tokens - 1) / 2);
}

std::vector<TimedGeneration::Piece> TimedGeneration::prefill_pieces() {
  std::vector<Piece> pieces;
  const std::int64_t whole = cell_.prompt_tokens / prefill_chunk;
  const std::int64_t rest = cell_.prompt_tokens % prefill_chunk;
  if (whole > 0) pieces.push_back({&session_.plan_for(prefill_chunk), whole});
  if (rest > 0) pieces.push_back({&session_.plan_for(rest), 1});
  return pieces;
}

/// Columns [first, first + count) of every row.
const Plan& TimedGeneration::read(std::int64_t first, std::int64_t count) {
  NewTokens tokens = {.seq = count, .ids = {}, .mask = {}, .positions = {}};
  for (std::int64_t row = 0; row < cell_.batch; ++row) {
    const auto begin = ids_.begin() + row * cell_.behind_prompt() + first;
    tokens.ids.insert(tokens.ids.end(), begin, begin + count);
    for (std::int64_t t = 0; t < count; ++t) tokens.positions.push_back(static_cast<std::int32_t>(first + t));
  }
  return session_.run(tokens);
}

void TimedGeneration::keep_first(std::int64_t tokens) {
  session_.keep_first(
      std::vector<std::int32_t>(static_cast<std::size_t>(cell_.batch), static_cast<std::int32_t>(tokens)));
}

void TimedGeneration::choose(const Plan& plan) {
  const ValueId logits = plan.program().output("logits");
  for (std::size_t row = 0; row < next_.ids.size(); ++row) {
    plan.read_rows(logits, {.first = static_cast<std::int64_t>(row), .count = 1}, logits_.data());
    next_.ids[row] = most_probable(logits_);
  }
}

bool TimedGeneration::read_depth(InterruptFlag interrupted) {
  std::int64_t first = 0;
  for (const std::int64_t count : pieces_of(cell_.depth)) {
    if (is_set(interrupted)) return false;
    read(first, count);
    first += count;
  }
  return true;
}

void TimedGeneration::prefill() {
  keep_first(cell_.depth);
  std::int64_t first = cell_.depth;
  const Plan* last = nullptr;
  for (const std::int64_t count : pieces_of(cell_.prompt_tokens)) {
    last = &read(first, count);
    first += count;
  }
  choose(*last);
  first_ids_ = next_.ids;
}

void TimedGeneration::begin_decoding() {
  keep_first(cell_.behind_prompt());
  next_.ids = first_ids_;
}

void TimedGeneration::place_token(std::int64_t index) {
  std::fill(next_.positions.begin(), next_.positions.end(), static_cast<std::int32_t>(cell_.behind_prompt() + index));
}

void TimedGeneration::decode() {
  begin_decoding();
  token_ms_.clear();
  choice_ms_.clear();
  for (std::int64_t i = 0; i < cell_.new_tokens; ++i) {
    const double begin_s = now_s();
    place_token(i);
    const Plan& plan = session_.run(next_);
    const double ran_s = now_s();
    choose(plan);
    const double end_s = now_s();
    choice_ms_.push_back((end_s - ran_s) * 1e3);
    token_ms_.push_back((end_s - begin_s) * 1e3);
  }
}

namespace {

bool is_attention(const Operation* operation) {
  return operation == &op::cached_attention;
}

/// What the steps of one token took, by kind.
TimedGeneration::TokenParts parts_of_token(const Plan& plan, const std::vector<StepTime>& times) {
  TimedGeneration::TokenParts parts;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Operation* const operation = plan.program().nodes[plan.steps()[i].node].operation;
    double& part = is_attention(operation)                     ? parts.attention
                   : operation->products != ProductShare::none ? parts.products
                                                               : parts.other_kernels;
    part += times[i].ms();
  }
  return parts;
}

double median_ms_of(const std::vector<TimedGeneration::TokenParts>& tokens, double TimedGeneration::TokenParts::*part) {
  std::vector<double> values;
  values.reserve(tokens.size());
  for (const TimedGeneration::TokenParts& one : tokens) values.push_back(one.*part);
  return median(values);
}

}  // namespace

TimedGeneration::TokenParts TimedGeneration::trace_tokens() {
  constexpr std::int64_t most_tokens = 16;
  begin_decoding();
  std::vector<StepTime> times(decode_plan().steps().size());
  const double clock_ms = static_cast<double>(times.size()) * clock_cost_s() * 1e3;
  std::vector<TokenParts> tokens;
  for (std::int64_t i = 0; i < std::min(cell_.new_tokens, most_tokens); ++i) {
    const double begin_s = now_s();
    place_token(i);
    const Plan& plan = session_.prepare(next_);
    Team::gather(plan.team_threads(), [&] { run_traced(plan, times); });
    session_.advance(next_);
    choose(plan);
    const double token_ms = (now_s() - begin_s) * 1e3;
    TokenParts parts = parts_of_token(plan, times);
    parts.outside = std::max(0.0, token_ms - parts.products - parts.attention - parts.other_kernels - clock_ms);
    tokens.push_back(parts);
  }
  return {.products = median_ms_of(tokens, &TokenParts::products),
          .attention = median_ms_of(tokens, &TokenParts::attention),
          .other_kernels = median_ms_of(tokens, &TokenParts::other_kernels),
          .outside = median_ms_of(tokens, &TokenParts::outside)};
}

std::int32_t TimedGeneration::read_id() {
  const auto is_number = [](float logit) { return std::isfinite(logit); };
  is_finite_ = is_finite_ && std::all_of(logits_.begin(), logits_.end(), is_number);
  return next_.ids.front();
}

double TimedGeneration::steady_s() const {
  return std::accumulate(token_ms_.begin() + cell_.first_tokens(), token_ms_.end(), 0.0) * 1e-3;
}

}  // namespace assay
