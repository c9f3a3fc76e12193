#include "studies/generation_bench/decoded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "quality/compare.h"
#include "quality/evaluate.h"
#include "results/derive.h"
#include "results/parts.h"
#include "results/states.h"
#include "studies/bench/score.h"
#include "studies/shared/cached.h"
#include "studies/shared/engine.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

/// Tokens of a prompt, and those behind it.
constexpr std::int64_t most_prompt = 128;
constexpr std::int64_t most_continued = 128;

/// Stretches of `length` ids inside the set's rows.
std::vector<std::vector<std::int32_t>> stretches(const QualitySet& set, std::int64_t length) {
  std::vector<std::vector<std::int32_t>> all;
  for (const QualityBatch& batch : set.batches) {
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      for (std::int64_t first = 0; first + length <= batch.extent.seq; first += length) {
        const auto begin = batch.ids.begin() + row * batch.extent.seq + first;
        all.emplace_back(begin, begin + length);
      }
    }
  }
  return all;
}

/// So many of them, spread over all.
std::vector<std::vector<std::int32_t>> spread(const std::vector<std::vector<std::int32_t>>& all, std::int64_t count) {
  std::vector<std::vector<std::int32_t>> some;
  count = std::min(count, std::ssize(all));
  for (std::int64_t i = 0; i < count; ++i) some.push_back(all[static_cast<std::size_t>(i * std::ssize(all) / count)]);
  return some;
}

void add_prompts(const Model& model, std::int64_t count, DecodedData& data) {
  const QualitySet& set = *data.quality.set;
  std::int64_t longest = 0;
  for (const QualityBatch& batch : set.batches) longest = std::max(longest, batch.extent.seq);
  const std::int64_t length = std::min({most_prompt, longest, model.config.context / 2});
  if (length < 1) return;
  data.prompts = spread(stretches(set, length), count);
  data.new_tokens = std::min(most_continued, model.config.context - length);
}

/// Told of what has its end after so many parts.
class ContinuationProgress {
 public:
  ContinuationProgress(const BenchGroup& group, std::size_t parts) : group_(group), parts_(parts) {}
  void tell(const std::string& precision) {
    if (!group_.callbacks().progress) return;
    const double left_s = done_ > 0 ? (now_s() - begin_s_) / done_ * (static_cast<double>(parts_) - done_) : 0;
    group_.callbacks().progress(fmt::format("{} {}: greedy continuations", group_.shown_name(), precision), left_s);
    ++done_;
  }

 private:
  const BenchGroup& group_;
  const std::size_t parts_;
  const double begin_s_ = now_s();
  double done_ = 0;
};

using Continuations = std::vector<std::vector<std::int32_t>>;

void record_continuations(const Continuations& baseline, const Continuations& mine, std::int64_t new_tokens,
                          DecodedDifference& decoded) {
  decoded.continued_tokens = new_tokens;
  for (std::size_t i = 0; i < mine.size(); ++i)
    decoded.equal_tokens.push_back(static_cast<double>(equal_tokens(baseline[i], mine[i])));
}

void record_positions(const QualitySet& set, const QualityRows& rows, DecodedDifference& decoded) {
  for (const PositionFigures& figures : figures_by_position(set, rows)) {
    decoded.position_from.push_back(static_cast<double>(figures.first));
    decoded.kl_by_position.push_back(figures.kl_mean);
    decoded.top1_by_position.push_back(figures.top1_agreement);
  }
  const WindowMean growth = divergence_growth(set, rows);
  if (!growth.interval) return;
  decoded.kl_growth = growth.value;
  decoded.kl_growth_low = growth.interval->low;
  decoded.kl_growth_high = growth.interval->high;
}

/// What each member adds to the prompts, the baseline first; shorter after an interrupt, or where memory ended.
std::vector<Continuations> continuations_of(const BenchGroup& group, const DecodedData& data, const Scores& scores) {
  std::vector<Continuations> all;
  if (data.prompts.empty()) return all;
  ContinuationProgress progress(group, scores.members.size());
  const EngineOptions& engine = group.request().engine;
  const DecodingOptions options = {
      .capacity = engine.cache->capacity,
      .graphs = engine.graphs,
      .evaluate = {
          .interrupted = group.callbacks().interrupted, .progress = nullptr, .free_bytes = group.free_bytes(0)}};
  const std::int64_t together = data.quality.set->batches.front().extent.batch;
  for (std::size_t i = 0; i < scores.members.size() && !is_set(options.evaluate.interrupted); ++i) {
    progress.tell(scores.members[i]->blank.setting.precision);
    Continuations mine;
    if (!scores.evaluation.qualities[i].non_finite)
      hindrance_of([&] {
        mine = greedy_continuations(*scores.members[i]->instance, data.prompts, data.new_tokens, together, options);
      });
    all.push_back(std::move(mine));
  }
  return all;
}

}  // namespace

DecodedData decoded_data(const Model& model, const GenerationBenchRequest& request) {
  DecodedData data;
  data.quality = quality_data(model, {request.bench.data, request.protocol, request.bench.model_options.seed});
  QualitySet& set = *data.quality.set;
  refuse_padding(set, request.bench.data.string());
  set.protocol += ", token by token through the cache";
  if (!model.random_weights()) add_prompts(model, request.continuations, data);
  return data;
}

CacheSize with_room_for(const DecodedData& data, CacheSize size) {
  if (!data.quality.set) return size;
  for (const QualityBatch& batch : data.quality.set->batches) size.capacity = std::max(size.capacity, batch.extent.seq);
  if (data.prompts.empty()) return size;
  const std::int64_t prompt = std::ssize(data.prompts.front());
  return {.capacity = std::max(size.capacity, prompt + data.new_tokens), .chunk = std::max(size.chunk, prompt)};
}

void score_decoding(const BenchGroup& group, const DecodedData& data, std::vector<Record>& records) {
  const Scores scores = score(group, data.quality, records);
  if (scores.baseline == nullptr || scores.baseline->non_finite || scores.evaluation.tokens == 0) return;
  const std::vector<Continuations> continued = continuations_of(group, data, scores);
  for (Record& record : records) {
    if (record.setting.mode != Mode::decode || !record.difference) continue;
    const auto found = std::find_if(scores.members.begin(), scores.members.end(), [&](const auto* member) {
      return member->blank.setting.precision == record.setting.precision;
    });
    const auto index = static_cast<std::size_t>(found - scores.members.begin());
    DecodedDifference& decoded = record.decoded.made();
    record_positions(*data.quality.set, scores.evaluation.qualities[index], decoded);
    if (index < continued.size() && !continued[index].empty() && !continued[0].empty())
      record_continuations(continued[0], continued[index], data.new_tokens, decoded);
  }
  records = with_derived(std::move(records));
}

}  // namespace assay
