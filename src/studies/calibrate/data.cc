#include "studies/calibrate/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/random_ids.h"

namespace assay {
namespace {

std::string hash_of_ids(const QualitySet& set) {
  std::vector<std::int32_t> ids;
  for (const QualityBatch& batch : set.batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  return sha256_hex(std::as_bytes(std::span(ids))).substr(0, 16);
}

}  // namespace

QualitySet calibration_rows(const Model& model, const CalibrationData& asked) {
  QualityRequest quality;
  quality.data = asked.data;
  quality.protocol.window = std::min(asked.window, model.config.context);
  quality.protocol.batch = 1;
  if (labels_tokens(model.config.task)) quality.protocol.most_tokens = asked.samples * quality.protocol.window;
  QualityData data = quality_data(model, quality);
  auto& batches = data.set->batches;
  batches.resize(std::min(batches.size(), static_cast<std::size_t>(asked.samples)));
  return std::move(*data.set);
}

QualitySet random_calibration_rows(const Model& model, std::int64_t rows, std::uint64_t seed) {
  const std::int64_t length = std::min<std::int64_t>(CalibrationData{}.window, model.config.context);
  const std::vector<std::int32_t> ids = random_ids(model, {rows, length}, {seed, IdsFor::calibration});
  QualitySet set;
  set.data = "random ids";
  set.batches.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = ids.begin() + row * length;
    set.batches.push_back({.extent = {1, length}, .ids = {begin, begin + length}, .mask = {}, .targets = {}});
  }
  return set;
}

std::string calibration_words(const QualitySet& set) {
  return fmt::format("{}, {} rows, sha256:{}", set.data, set.batches.size(), hash_of_ids(set));
}

}  // namespace assay
