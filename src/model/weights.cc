#include "model/weights.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/stored_values.h"

namespace assay {

const Weight& Weights::at(const std::string& name) const {
  const auto found = by_name.find(name);
  ASSAY_ASSERT(found != by_name.end());
  return found->second;
}

std::int64_t Weights::parameters() const {
  std::int64_t total = 0;
  for (const auto& [name, weight] : by_name) total += element_count(weight.shape);
  return total;
}

std::string Weights::stored_dtypes() const {
  std::map<std::string, int> counts;
  for (const auto& [name, weight] : by_name) ++counts[weight.stored];
  if (counts.size() == 1) return counts.begin()->first;
  std::string text;
  for (const auto& [stored, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stored, count);
  return text;
}

WeightFormats Weights::formats() const {
  WeightFormats formats;
  for (const auto& [name, weight] : by_name) {
    WeightFormat& format = formats[name];
    format.blocks = weight.blocks;
    format.dtype = read_dtype(weight);
  }
  return formats;
}

}  // namespace assay
