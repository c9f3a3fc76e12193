#include "studies/tune/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "base/interrupt.h"
#include "generation/session.h"
#include "program/operation.h"
#include "runtime/trace.h"
#include "statistics/statistics.h"
#include "studies/shared/cached.h"
#include "studies/shared/random_ids.h"
#include "tensor/baseline_precision.h"

namespace assay {
namespace {

Recipe recipe_of_cache(DType kv) {
  return {.name = "cache", .rest = &baseline_precision(), .kv = kv};
}

/// One new token of every row, in its place behind a prompt.
class CachedToken {
 public:
  CachedToken(const StudiedModel& subject, const TuneRequest& request, DType kv)
      : instance_(instance_with(subject, request, kv)),
        session_(*instance_,
                 {.batch = request.batch, .capacity = request.seq + 1, .graphs = subject.request.engine.graphs}) {
    const auto ids = random_ids(subject.model, {request.batch, request.seq}, {request.model_options.seed});
    if (!read_prompt(ids, request.seq, subject.callbacks.interrupted)) return;
    NewTokens token{.seq = 1};
    token.ids = random_ids(subject.model, {request.batch, 1}, {request.model_options.seed});
    token.positions.assign(token.ids.size(), static_cast<std::int32_t>(request.seq));
    plan_ = &session_.prepare(token);
    plan_->run();
  }

  /// False after an interrupt: then it has no rounds.
  bool is_ready() const { return plan_ != nullptr; }

  /// Runs it once more: it is never counted as kept.
  void add_round() {
    std::vector<StepTime> times(plan_->steps().size());
    run_traced(*plan_, times);
    double ms = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (is_of_cache(plan_->program().nodes[plan_->steps()[i].node])) ms += times[i].ms();
    }
    ms_.push_back(ms);
  }

  double median_ms() const { return median(ms_); }

 private:
  static std::unique_ptr<Instance> instance_with(const StudiedModel& subject, const TuneRequest& request, DType kv) {
    EngineOptions engine = engine_with_cache(subject.request.engine, request.seq + 1);
    engine.fusion = Fusion::off;
    return subject.instance(choose_precision(recipe_of_cache(kv), native_16bit(subject.facts)), engine);
  }

  static bool is_of_cache(const Node& node) {
    return node.operation == &op::append_cache || node.operation == &op::cached_attention;
  }

  /// False after an interrupt.
  bool read_prompt(const std::vector<std::int32_t>& ids, std::int64_t seq, InterruptFlag interrupted) {
    const std::int64_t batch = session_.batch();
    for (std::int64_t begin = 0; begin < seq; begin += prefill_chunk) {
      NewTokens tokens{.seq = std::min(prefill_chunk, seq - begin)};
      for (std::int64_t row = 0; row < batch; ++row) {
        const auto first = ids.begin() + row * seq + begin;
        tokens.ids.insert(tokens.ids.end(), first, first + tokens.seq);
        for (std::int64_t t = 0; t < tokens.seq; ++t) tokens.positions.push_back(static_cast<std::int32_t>(begin + t));
      }
      if (is_set(interrupted)) return false;
      session_.run(tokens);
    }
    return true;
  }

  std::unique_ptr<Instance> instance_;
  Session session_;
  Plan* plan_ = nullptr;
  std::vector<double> ms_;
};

/// Of each dtype, in rounds of all of them. None after an interrupt.
std::vector<double> cache_costs(const TuneRequest& request, const StudiedModel& subject) {
  std::vector<std::unique_ptr<CachedToken>> tokens;
  tokens.reserve(std::size(kept_dtypes));
  for (const DType kv : kept_dtypes) {
    tokens.push_back(std::make_unique<CachedToken>(subject, request, kv));
    if (!tokens.back()->is_ready()) return {};
  }
  const double end_s = now_s() + subject.request.layer_seconds * static_cast<double>(tokens.size());
  for (std::size_t round = 0; round < fewest_for_interval || now_s() < end_s; ++round) {
    if (is_set(subject.callbacks.interrupted)) return {};
    if (subject.callbacks.progress)
      subject.callbacks.progress(fmt::format("{}: costs of the cache, round {}", subject.model.name, round + 1),
                                 std::max(0.0, end_s - now_s()));
    for (const auto& token : tokens) token->add_round();
  }
  std::vector<double> costs;
  costs.reserve(tokens.size());
  for (const auto& token : tokens) costs.push_back(token->median_ms());
  return costs;
}

}  // namespace

std::optional<std::vector<CacheOption>> cache_options(const TuneRequest& request, const Scoring& scoring,
                                                      const LossStore& store) {
  const std::vector<double> costs = cache_costs(request, scoring.subject());
  if (costs.empty()) return std::nullopt;
  std::vector<Recipe> recipes;
  std::transform(std::begin(kept_dtypes), std::end(kept_dtypes), std::back_inserter(recipes), recipe_of_cache);
  const auto losses = losses_of(scoring, recipes, {}, store);
  if (!losses) return std::nullopt;
  std::vector<CacheOption> options;
  options.reserve(costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if ((*losses)[i].failure.empty())
      options.push_back({kept_dtypes[i], {.cost = costs[i], .loss = (*losses)[i].kl.value}});
  }
  return options;
}

}  // namespace assay
