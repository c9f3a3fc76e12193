#include "studies/sensitivity/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/error.h"
#include "program/operation.h"
#include "program/passes.h"

namespace assay {
namespace {

constexpr std::array unit_kind_names = {"layer", "block", "role", "whole"};

/// Roles that hold what a precision can be chosen for; the loss is none of inference.
constexpr std::array unit_roles = {Role::embedding, Role::attention, Role::mlp, Role::norm, Role::softmax, Role::head};

std::optional<std::int64_t> block_in(std::string_view path) {
  constexpr std::string_view start = "layers.";
  if (!path.starts_with(start)) return std::nullopt;
  std::int64_t block = 0;
  const char* const begin = path.data() + start.size();
  const auto [end, error] = std::from_chars(begin, path.data() + path.size(), block);
  if (error != std::errc() || end == begin) return std::nullopt;
  return block;
}

double depth_of(const Program& program, std::size_t node) {
  return program.nodes.size() < 2 ? 0 : static_cast<double>(node) / static_cast<double>(program.nodes.size() - 1);
}

std::vector<std::string> layer_weights(const Program& program, const Node& node) {
  std::vector<std::string> names;
  for (const std::size_t place : weight_places(node)) names.push_back(program.value(node.inputs[place]).name);
  return names;
}

void add_layers(const Program& program, std::vector<ModelUnit>& units) {
  std::set<std::string> known;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    std::vector<std::string> weights = layer_weights(program, node);
    if ((weights.empty() && node.operation != &op::embedding) || !known.insert(node.path).second) continue;
    if (program.value(node.outputs[0]).constant) weights.clear();  // Made once, of weights alone: no run computes it.
    units.push_back({UnitKind::layer,
                     node.path,
                     name(node.role),
                     block_in(node.path),
                     depth_of(program, i),
                     std::move(weights),
                     {node.path}});
  }
}

bool is_matched(const Program& program, const std::string& pattern) {
  const LayerOverride layer{pattern, precision_table().front()};
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [&](const Node& node) { return matches(layer, node); });
}

void add_blocks(const Program& program, std::vector<ModelUnit>& units) {
  std::set<std::int64_t> known;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const auto block = block_in(program.nodes[i].path);
    if (!block || !known.insert(*block).second) continue;
    const std::string path = fmt::format("layers.{}", *block);
    ModelUnit unit{UnitKind::block, path, {}, block, depth_of(program, i), {}, {path + ".*"}};
    if (is_matched(program, path)) unit.patterns.push_back(path);
    units.push_back(std::move(unit));
  }
}

void add_roles(const Program& program, std::vector<ModelUnit>& units) {
  for (const Role role : unit_roles) {
    const std::string pattern = fmt::format("@{}", name(role));
    const LayerOverride layer{pattern, precision_table().front()};
    const auto found = std::find_if(program.nodes.begin(), program.nodes.end(),
                                    [&](const Node& node) { return matches(layer, node); });
    if (found == program.nodes.end()) continue;
    const auto place = static_cast<std::size_t>(found - program.nodes.begin());
    units.push_back({UnitKind::role, pattern, name(role), {}, depth_of(program, place), {}, {pattern}});
  }
}

}  // namespace

const char* name(UnitKind kind) {
  return unit_kind_names[static_cast<std::size_t>(kind)];
}

UnitKind parse_unit_kind(const std::string& word) {
  for (const UnitKind kind : {UnitKind::layer, UnitKind::block, UnitKind::role}) {
    if (word == name(kind)) return kind;
  }
  fail_user("--by {}: layer, block and role are known", word);
}

std::vector<ModelUnit> units_of(const Program& built, const std::vector<UnitKind>& kinds) {
  constexpr std::array<void (*)(const Program&, std::vector<ModelUnit>&), 3> adders = {add_layers, add_blocks,
                                                                                       add_roles};
  std::vector<ModelUnit> units;
  for (const UnitKind kind : {UnitKind::layer, UnitKind::block, UnitKind::role}) {
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
      adders[static_cast<std::size_t>(kind)](built, units);
  }
  units.push_back({UnitKind::whole, "everything", {}, {}, 0, {}, {"*"}});
  return units;
}

PrecisionChoice with_unit(const PrecisionChoice& rest, const ModelUnit& unit, const Precision& row) {
  PrecisionChoice choice = rest;
  for (const std::string& pattern : unit.patterns) choice.layers.push_back({pattern, row});
  return choice;
}

bool belongs(const ModelUnit& unit, const Node& node) {
  return std::any_of(unit.patterns.begin(), unit.patterns.end(), [&](const std::string& pattern) {
    return matches(LayerOverride{pattern, precision_table().front()}, node);
  });
}

double bytes_of_constants(const Program& program, const ModelUnit* unit) {
  std::set<ValueId> constants;
  for (const Node& node : program.nodes) {
    const bool is_made_before = std::all_of(node.outputs.begin(), node.outputs.end(),
                                            [&](ValueId id) { return id != no_value && program.value(id).constant; });
    if (is_made_before || (unit != nullptr && !belongs(*unit, node))) continue;
    for (const ValueId id : node.inputs) {
      if (id != no_value && program.value(id).constant) constants.insert(id);
    }
  }
  double total = 0;
  for (const ValueId id : constants) total += static_cast<double>(storage_bytes(program, id, {1, 1}));
  return total;
}

}  // namespace assay
