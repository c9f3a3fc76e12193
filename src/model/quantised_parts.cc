#include "model/quantised_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "model/stored_values.h"

namespace assay {

Parts::Parts(const std::map<std::string, Weight>& tensors, const std::string& base, const PartEndings& endings)
    : base_(base), endings_(endings) {
  for (std::size_t i = 0; i < part_count; ++i) {
    if (endings[i] == nullptr) continue;
    const auto found = tensors.find(base + endings[i]);
    if (found == tensors.end()) continue;
    parts_[i] = found->second;
    parts_[i]->shape = stored_shape(found->second.shape, found->second.order);  // As the file has it.
  }
}

const Weight* Parts::find(Part part) const {
  const std::optional<Weight>& found = parts_[static_cast<std::size_t>(part)];
  return found ? &*found : nullptr;
}

const Weight& Parts::need(Part part) const {
  if (const Weight* found = find(part)) return *found;
  const auto beside = std::find_if(parts_.begin(), parts_.end(), [](const auto& one) { return one.has_value(); });
  fail_part(**beside, fmt::format("lacks '{}{}' beside it", base_, endings_[static_cast<std::size_t>(part)]));
}

std::function<void(std::int64_t, std::int64_t, std::uint8_t*)> codes_as_bytes(const KeptParts& parts, std::int64_t in) {
  return [parts, in](std::int64_t first, std::int64_t rows, std::uint8_t* to) {
    std::memcpy(to, parts->need(Part::codes).bytes.data() + first * in, static_cast<std::size_t>(rows * in));
  };
}

void fail_part(const Weight& weight, const std::string& what) {
  fail_user("{}: tensor '{}' {}", weight.file, weight.checkpoint_name, what);
}

void check_shape(const Weight& weight, const Shape& wanted, const char* stored) {
  if (weight.shape != wanted || (stored != nullptr && weight.stored != stored))
    fail_part(weight, fmt::format("is {} {}, its quantisation asks for {} {}", weight.stored, to_string(weight.shape),
                                  stored == nullptr ? "" : stored, to_string(wanted)));
}

std::vector<float> floats_of(const Weight& weight) {
  const WeightData data = in_f32(weight.load());
  const auto* values = data.view.as<float>();
  std::vector<float> all(values, values + data.view.count());
  if (!std::all_of(all.begin(), all.end(), [](float value) { return std::isfinite(value); }))
    fail_part(weight, "holds NaN or infinite scales");
  return all;
}

std::vector<std::uint8_t> bytes_of(const Weight& weight) {
  std::vector<std::uint8_t> all(weight.bytes.size());
  std::memcpy(all.data(), weight.bytes.data(), all.size());
  return all;
}

std::string title_of(const std::string& kind, std::int64_t group) {
  return group > 0 ? fmt::format("{} g{}", kind, group) : kind;
}

DType scale_dtype(const Weight& scales) {
  return scales.stored == "F16" ? DType::f16 : DType::f32;
}

}  // namespace assay
