#include "rules/physics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/units.h"
#include "tensor/block_format.h"

namespace assay {
namespace {

constexpr SizeShare size_shares[] = {
    {32, "the same", {1.0, 1.0}, {0.9, 1.12}},          {16, "half", {0.495, 0.505}, {0.45, 0.62}},
    {8, "about a quarter", {0.25, 0.30}, {0.2, 0.62}},  {6, "about a fifth", {0.1875, 0.27}, {0.15, 0.6}},
    {5, "about a sixth", {0.156, 0.235}, {0.125, 0.6}}, {4, "about an eighth", {0.125, 0.20}, {0.1, 0.6}},
};

}  // namespace

bool is_impossible(Range value, double most) {
  return value.low > gate_tolerance * most;
}

double bytes_from_memory(double bytes, double cache_bytes) {
  return std::max(0.0, bytes - cache_bytes);
}

Range rate_from_memory(double bytes, double cache_bytes, Range ms) {
  return exactly(bytes_from_memory(bytes, cache_bytes)) / scaled(ms, 1e-3);
}

Range items_of_run(Range items_per_s, Range latency_ms) {
  return scaled(items_per_s * latency_ms, 1e-3);
}

double most_speedup(double peak_ratio, double byte_ratio) {
  return std::max({1.0, peak_ratio, byte_ratio});
}

int stored_bits(const Precision& precision) {
  if (precision.blocks == nullptr) return static_cast<int>(8 * size_of(precision.weights));
  return static_cast<int>(8 * precision.blocks->bytes / precision.blocks->elements);
}

const SizeShare* size_share(int bits) {
  const auto known = std::find_if(std::begin(size_shares), std::end(size_shares),
                                  [bits](const SizeShare& share) { return share.bits == bits; });
  return known == std::end(size_shares) ? nullptr : known;
}

bool is_usual_perplexity(Range perplexity, const KnownModel& model) {
  if (model.perplexity_high == 0) return true;
  return perplexity.low <= model.perplexity_high && perplexity.high >= model.perplexity_low;
}

std::string usual_perplexity_words(const KnownModel& model) {
  return fmt::format("{} to {}, which {} reaches on English text in windows of 64 tokens or more",
                     format_significant(model.perplexity_low), format_significant(model.perplexity_high), model.name);
}

}  // namespace assay
