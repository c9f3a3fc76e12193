#include "training/state_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

constexpr const char* as_weights = "weights";

// 8bit: block, threshold and embeddings are those of bitsandbytes' AdamW8bit (block_wise, min_8bit_size, and what its
// StableEmbedding and transformers' Trainer register for embeddings).
constexpr StateFormat state_format_rows[] = {
    // name      dtype         rounding              block small  embeddings
    {as_weights, std::nullopt, Rounding::nearest, 0, 0, false, "in the parameter's dtype, as torch.optim.AdamW"},
    {"f32", DType::f32, Rounding::nearest, 0, 0, false, "f32 whatever the parameter's dtype"},
    {"bf16", DType::bf16, Rounding::stochastic, 0, 0, false,
     "bf16, rounded up or down with the odds that keep the mean"},
    {"8bit", DType::u8, Rounding::nearest, 256, 4096, true,
     "codes of the dynamic map with a scale for 256 elements; embeddings and parameters below 4,096 elements in f32"},
};

std::vector<const char*> format_names() {
  std::vector<const char*> names;
  names.reserve(std::size(state_format_rows));
  for (const StateFormat& format : state_format_rows) names.push_back(format.name);
  return names;
}

}  // namespace

std::span<const StateFormat> state_formats() {
  return state_format_rows;
}

const StateFormat& find_state_format(std::string_view name, std::string_view option) {
  const auto* found = std::ranges::find(state_format_rows, name,
                                        [](const StateFormat& format) { return std::string_view(format.name); });
  if (found != std::end(state_format_rows)) return *found;
  if (name == "int8" || name == "8-bit" || name == "fp8")
    fail_user("{} '{}': moments of 8 bits are codes of a table, 8bit here", option, name);
  fail_user("{} '{}': {} are known", option, name, fmt::join(format_names(), ", "));
}

StateLayout state_layout(const StateFormat& format, DType parameter, std::int64_t elements,
                         std::span<const ParameterKind> kinds) {
  if (format.block == 0) return {format.dtype.value_or(parameter), format.rounding, 0};
  const bool is_table = std::ranges::find(kinds, ParameterKind::embeddings) != kinds.end();
  if (elements < format.least_elements || (format.embeddings_stay && is_table)) return {};
  return {*format.dtype, format.rounding, format.block};
}

std::string TrainingStorage::words() const {
  std::vector<std::string> parts;
  if (states != &state_formats().front()) parts.push_back(fmt::format("states {}", states->name));
  if (gradients) parts.push_back(fmt::format("gradients {}", name(*gradients)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<DType> parse_gradient_dtype(std::string_view text, std::string_view option) {
  if (text == as_weights) return std::nullopt;
  const std::optional<DType> dtype = parse_dtype(text);
  const bool known = dtype && (*dtype == DType::f32 || *dtype == DType::f16 || *dtype == DType::bf16);
  if (!known) fail_user("{} '{}': weights, f32, f16 and bf16 are known", option, text);
  return dtype;
}

std::vector<TrainingStorage> storages_of(const std::vector<std::string>& states,
                                         const std::vector<std::string>& gradients) {
  const std::vector<std::string> usual = {as_weights};
  std::vector<TrainingStorage> all;
  for (const std::string& format : states.empty() ? usual : states) {
    for (const std::string& dtype : gradients.empty() ? usual : gradients)
      all.push_back({&find_state_format(format, "--states"), parse_gradient_dtype(dtype, "--gradients")});
  }
  return all;
}

const char* gradient_word(const std::optional<DType>& dtype) {
  return dtype ? name(*dtype) : as_weights;
}

}  // namespace assay
