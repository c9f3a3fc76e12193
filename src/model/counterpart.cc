#include "model/counterpart.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/gguf_names.h"
#include "model/stored_values.h"

namespace assay {
namespace {

constexpr std::string_view layers = "layers.";

std::string other_name(std::string_view own, std::span<const Counterpart::Name> names) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const Counterpart::Name& n) { return n.own == own; });
  ASSAY_ASSERT(found != names.end());
  return found->other;
}

/// "layers.3.ln1.weight" -> "layers.3.input_layernorm.weight"
std::string other_name(const std::string& own, const Counterpart& counterpart) {
  if (!own.starts_with(layers)) return other_name(own, counterpart.whole);
  const std::size_t behind_number = own.find('.', layers.size()) + 1;
  return own.substr(0, behind_number) + other_name(std::string_view(own).substr(behind_number), counterpart.layer);
}

Weight as_other(const Weight& own, const ModelConfig& config, const Counterpart& counterpart) {
  Weight other = own;
  other.name = other_name(own.name, counterpart);
  other.checkpoint_name = published_name(other.name, *config.family);
  other.order = StoredOrder::same;
  if (!ends_with_any(own.name, counterpart.paired_rows)) return other;
  other.bytes = {};
  other.blocks = nullptr;
  other.load_blocks = nullptr;
  other.load = [load = own.load, head_dim = config.head_dim] { return owning(rows_in_halves(load().view, head_dim)); };
  return other;
}

}  // namespace

Model as_counterpart(const Model& model) {
  ASSAY_ASSERT(model.config.family->counterpart != nullptr && model.config.adapters.empty());
  const Counterpart& counterpart = *model.config.family->counterpart;
  Model other;
  other.name = model.name;
  other.origin = model.origin;
  other.config = model.config;
  other.config.family = find_family(counterpart.family);
  other.weights.identity = model.weights.identity;
  for (const auto& [name, weight] : model.weights.by_name) {
    Weight renamed = as_other(weight, other.config, counterpart);
    other.weights.by_name.emplace(renamed.name, std::move(renamed));
  }
  return other;
}

}  // namespace assay
