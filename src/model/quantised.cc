#include "model/quantised.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/quantised_layouts.h"

namespace assay {
namespace {

using Tensors = std::map<std::string, Weight>;

/// Beside weights: of activations and caches, which run in the precision that is asked for.
constexpr const char* of_activations[] = {".input_scale", ".input_zero_point", ".input_global_scale", ".k_scale",
                                          ".v_scale",     ".output_scale",     ".activation_scale"};

bool is_of_activations(const std::string& name) {
  return std::any_of(std::begin(of_activations), std::end(of_activations),
                     [&](const char* ending) { return name.ends_with(ending); });
}

const char* key_ending(const StoredLayout& layout) {
  return layout.endings[static_cast<std::size_t>(layout.key)];
}

/// The names of weights that the layout keeps, without their endings.
std::vector<std::string> bases_of(const Tensors& tensors, const StoredLayout& layout) {
  const std::string_view ending = key_ending(layout);
  std::vector<std::string> bases;
  for (const auto& [name, weight] : tensors) {
    if (name.ends_with(ending)) bases.push_back(name.substr(0, name.size() - ending.size()));
  }
  return bases;
}

Weight joined_weight(const Tensors& tensors, const std::string& base, const StoredLayout& layout,
                     const StoredQuantisation& q) {
  const auto parts = std::make_shared<const Parts>(tensors, base, layout.endings);
  Weight weight = parts->need(Part::codes);
  const Joined joined = layout.join(parts, q);
  weight.name = base + ".weight";
  weight.shape = joined.shape;
  weight.stored = joined.title;
  weight.is_coded = false;
  weight.order = StoredOrder::same;
  weight.load = [matrix = joined.matrix] { return widened(matrix()); };
  if (joined.format == nullptr) return weight;
  weight.blocks = joined.format->blocks;
  weight.rows_moved = true;
  weight.load_blocks = [matrix = joined.matrix, format = joined.format] { return laid(matrix(), *format); };
  return weight;
}

/// Of the module that the tensor is a part of, whose name the file has with the family's prefix.
const StoredQuantisation& quantisation_of(const Weight& part, const StoredLayout& layout,
                                          const StoredQuantisation& all) {
  const std::string& name = part.checkpoint_name;
  const auto found = all.by_module.find(name.substr(0, name.size() - std::strlen(key_ending(layout))));
  if (found != all.by_module.end()) return found->second;
  if (!all.by_module.empty()) fail_part(part, "is in none of the 'config_groups'");
  return all;
}

void erase_parts(Tensors& tensors, const std::string& base, const StoredLayout& layout) {
  for (const char* ending : layout.endings) {
    if (ending != nullptr) tensors.erase(base + ending);
  }
}

}  // namespace

std::vector<std::string> join_quantised(Tensors& tensors, const StoredQuantisation& quantisation) {
  std::vector<std::string> names;
  for (auto at = tensors.begin(); at != tensors.end();)
    at = is_of_activations(at->first) ? tensors.erase(at) : std::next(at);
  for (const StoredLayout& layout : stored_layouts()) {
    if (layout.method != quantisation.method) continue;
    for (const std::string& base : bases_of(tensors, layout)) {
      const StoredQuantisation& q = quantisation_of(tensors.at(base + key_ending(layout)), layout, quantisation);
      if (!q.format.empty() && q.format != layout.format) continue;
      Weight weight = joined_weight(tensors, base, layout, q);
      erase_parts(tensors, base, layout);
      names.push_back(weight.name);
      tensors[weight.name] = std::move(weight);
    }
  }
  return names;
}

}  // namespace assay
