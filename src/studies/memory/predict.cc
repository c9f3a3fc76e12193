#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "runtime/forecast.h"
#include "studies/memory/run.h"
#include "studies/shared/cached.h"

namespace assay {
namespace {

/// A program of the step with what its plan would hold.
struct Part {
  const Program& program;
  Extent extent;
  Forecast forecast;
};

/// A value that owns memory in the arena, and what made it.
struct Root {
  ValueId id = no_value;
  const Placement* placement = nullptr;
  const Node* producer = nullptr;  ///< Null: an input.
  bool saved = false;
};

/// Steps count from 1, as Layout's lifetimes do.
int first_backward_step(const Part& part) {
  const std::vector<std::size_t>& nodes = part.forecast.layout.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (part.program.nodes[nodes[i]].phase == Phase::backward) return static_cast<int>(i) + 1;
  }
  return std::numeric_limits<int>::max();
}

/// The root in whose memory a value written in `step` lies; null for state.
Root* root_at(std::vector<Root>& roots, const Placement& value, int step) {
  if (value.offset < 0 || value.state != no_value) return nullptr;
  for (Root& root : roots) {
    const Placement& there = *root.placement;
    const bool alive = there.first_step <= step && step <= there.last_step;
    if (alive && there.offset <= value.offset && value.offset < there.offset + there.bytes) return &root;
  }
  return nullptr;
}

/// Memory that the forward writes more than once, in place, is that of its last value.
void find_producers(const Part& part, int backward, std::vector<Root>& roots) {
  const std::vector<std::size_t>& nodes = part.forecast.layout.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = part.program.nodes[nodes[i]];
    const int step = static_cast<int>(i) + 1;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      Root* root = root_at(roots, part.forecast.layout.values[static_cast<std::size_t>(id)], step);
      if (root == nullptr || (step >= backward && root->producer != nullptr)) continue;
      root->producer = &node;
      root->id = id;
    }
  }
}

std::vector<Root> roots_of(const Part& part) {
  const int backward = first_backward_step(part);
  std::vector<Root> roots;
  for (std::size_t id = 0; id < part.program.values.size(); ++id) {
    const Placement& placement = part.forecast.layout.values[id];
    if (placement.bytes > 0) roots.push_back({static_cast<ValueId>(id), &placement, nullptr, false});
  }
  find_producers(part, backward, roots);
  for (Root& root : roots) {
    root.saved =
        root.producer != nullptr && root.placement->first_step < backward && root.placement->last_step >= backward;
  }
  return roots;
}

/// Bytes that live in each step.
std::vector<std::int64_t> live_bytes_of(const std::vector<Root>& roots, std::size_t steps,
                                        bool (*counts)(const Root&)) {
  std::vector<std::int64_t> change(steps + 2, 0);
  for (const Root& root : roots) {
    if (!counts(root)) continue;
    const auto place = [&](int step) { return std::min(static_cast<std::size_t>(std::max(step, 1)), steps + 1); };
    change[place(root.placement->first_step)] += root.placement->bytes;
    if (place(root.placement->last_step) <= steps)
      change[place(root.placement->last_step) + 1] -= root.placement->bytes;
  }
  std::vector<std::int64_t> live;
  std::int64_t now = 0;
  for (std::size_t step = 1; step <= steps; ++step) live.push_back(now += change[step]);
  return live;
}

void append_timeline(const Part& part, std::vector<MemoryMoment>& timeline) {
  const std::vector<Root> roots = roots_of(part);
  const std::vector<std::size_t>& nodes = part.forecast.layout.nodes;
  const auto live = live_bytes_of(roots, nodes.size(), [](const Root&) { return true; });
  const auto saved = live_bytes_of(roots, nodes.size(), [](const Root& root) { return root.saved; });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = part.program.nodes[nodes[i]];
    timeline.push_back(
        {name(node.phase), node.operation->name, node.path, live[i], saved[i], part.forecast.workspace_bytes[i]});
  }
}

std::string block_of(const std::string& path) {
  constexpr std::string_view prefix = "layers.";
  if (!path.starts_with(prefix)) return path.substr(0, path.find('.'));
  return path.substr(0, path.find('.', prefix.size()));
}

std::vector<NamedBytes> sorted(const std::map<std::string, NamedBytes>& sums) {
  std::vector<NamedBytes> list;
  list.reserve(sums.size());
  for (const auto& [name, sum] : sums) list.push_back(sum);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return list;
}

void count_saved(const Part& part, MemoryCell& cell) {
  std::map<std::string, NamedBytes> operations;
  const auto add = [](NamedBytes& sum, const std::string& name, const Root& root) {
    sum.name = name;
    sum.bytes += root.placement->bytes;
    ++sum.values;
  };
  std::vector<Root> saved = roots_of(part);
  std::erase_if(saved, [](const Root& root) { return !root.saved; });
  std::stable_sort(saved.begin(), saved.end(),
                   [](const Root& a, const Root& b) { return a.placement->first_step < b.placement->first_step; });
  for (const Root& root : saved) {
    const std::string block = block_of(root.producer->path);
    if (cell.saved_by_block.empty() || cell.saved_by_block.back().name != block) cell.saved_by_block.emplace_back();
    add(cell.saved_by_block.back(), block, root);
    add(operations[root.producer->operation->name], root.producer->operation->name, root);
    cell.saved_bytes += root.placement->bytes;
  }
  // Only one of a training's plans saves anything.
  if (!operations.empty()) cell.saved_by_operation = sorted(operations);
}

void consider(Allocation& largest, Allocation candidate) {
  if (candidate.bytes > largest.bytes) largest = std::move(candidate);
}

std::string kind_of_state(const std::string& name) {
  if (name.starts_with("grad.")) return "gradient";
  if (name.starts_with("cache.")) return "keys and values";
  return name.starts_with("optimizer.") ? "moment" : "parameter";
}

void find_largest(const Part& part, Allocation& largest) {
  for (const Root& root : roots_of(part)) {
    const std::string& name = part.program.value(root.id).name;
    const bool made = root.producer != nullptr;
    consider(largest, {name, made ? root.producer->operation->name : "input", made ? root.producer->path : name,
                       root.placement->bytes});
  }
  for (std::size_t id = 0; id < part.program.values.size(); ++id) {
    const Value& value = part.program.values[id];
    if (value.source != Source::state) continue;
    consider(largest, {value.name, kind_of_state(value.name), value.name,
                       storage_bytes(part.program, static_cast<ValueId>(id), part.extent)});
  }
  for (const ForecastConstant& constant : part.forecast.constants) {
    const std::string& name = part.program.value(constant.value).name;
    consider(largest, {name, "weight, " + to_string(constant.packing), name, constant.bytes});
  }
  for (std::size_t i = 0; i < part.forecast.layout.nodes.size(); ++i) {
    const Node& node = part.program.nodes[part.forecast.layout.nodes[i]];
    consider(largest, {"workspace", "workspace of " + std::string(node.operation->name), node.path,
                       part.forecast.workspace_bytes[i]});
  }
}

Held held_as(const std::string& kind) {
  static const std::map<std::string, Held> kinds = {
      {"gradient", Held::gradients}, {"moment", Held::optimizer}, {"keys and values", Held::cache}};
  const auto known = kinds.find(kind);
  return known == kinds.end() ? Held::weights : known->second;
}

/// Parameters, gradients, moments, keys and values, each tensor once.
void count_state(const std::vector<Part>& parts, HeldBytes& held) {
  std::set<std::string> counted;
  for (const Part& part : parts) {
    for (std::size_t id = 0; id < part.program.values.size(); ++id) {
      const Value& value = part.program.values[id];
      if (value.source != Source::state || !counted.insert(value.name).second) continue;
      held[static_cast<std::size_t>(held_as(kind_of_state(value.name)))] +=
          storage_bytes(part.program, static_cast<ValueId>(id), part.extent);
    }
  }
}

/// Constants: what the precision stores, and everything beyond that.
void count_constants(const Part& part, HeldBytes& held) {
  const Forecast& forecast = part.forecast;
  std::int64_t stored = forecast.master_bytes;
  if (stored == 0) {
    std::set<ValueId> counted;
    for (const ForecastConstant& constant : forecast.constants) {
      if (counted.insert(constant.value).second) stored += storage_bytes(part.program, constant.value, {1, 1});
    }
  }
  held[static_cast<std::size_t>(Held::weights)] += stored;
  held[static_cast<std::size_t>(Held::packed)] += forecast.constant_bytes() + forecast.slab_gap_bytes - stored;
}

/// Buffers of all plans exist together; what lives in them is that of the moment with the most.
void count_buffers(const std::vector<Part>& parts, MemoryCell& cell) {
  const auto at = [&](Held kind) -> std::int64_t& { return cell.held[static_cast<std::size_t>(kind)]; };
  const MemoryMoment* peak = nullptr;
  for (const MemoryMoment& moment : cell.timeline) {
    if (peak == nullptr || moment.live_bytes > peak->live_bytes) peak = &moment;
  }
  std::int64_t arenas = 0;
  for (const Part& part : parts) {
    arenas += part.forecast.layout.bytes;
    at(Held::workspace) += part.forecast.most_workspace_bytes();
  }
  if (peak == nullptr) return;
  at(Held::saved_for_backward) = peak->saved_bytes;
  at(Held::temporaries) = peak->live_bytes - peak->saved_bytes;
  at(Held::gaps) = arenas - peak->live_bytes;
  cell.arena_bytes = arenas + at(Held::workspace);
}

/// What the embedding writes, which every block adds to; 0 where there is none.
std::int64_t residual_bytes(const Program& program, Extent extent) {
  for (const Node& node : program.nodes) {
    if (node.operation == &op::embedding) return storage_bytes(program, node.outputs[0], extent);
  }
  return 0;
}

MemoryCell account(const std::vector<Part>& parts, MemoryCell cell) {
  for (const Part& part : parts) {
    append_timeline(part, cell.timeline);
    count_saved(part, cell);
    count_constants(part, cell.held);
    find_largest(part, cell.largest);
    cell.loading_bytes += part.forecast.loading_bytes;
  }
  cell.residual_bytes = residual_bytes(parts.front().program, parts.front().extent);
  count_state(parts, cell.held);
  count_buffers(parts, cell);
  for (const std::int64_t bytes : cell.held) cell.total_bytes += bytes;
  return cell;
}

/// Constants of the other one that are not in `forecast`: what a second plan of the instance adds.
void add_constants(const Forecast& other, Forecast& forecast) {
  for (const ForecastConstant& constant : other.constants) {
    const bool is_known =
        std::any_of(forecast.constants.begin(), forecast.constants.end(), [&](const ForecastConstant& known) {
          return known.value == constant.value && to_string(known.packing) == to_string(constant.packing);
        });
    if (!is_known) forecast.constants.push_back(constant);
  }
}

/// A plan for a piece of the prompt and one for a token, which lies in the other's arena unless that is too small.
MemoryCell account_generation(const Model& model, const MemoryCell& blank, const ForecastInputs& inputs,
                              const EngineOptions& asked) {
  const EngineOptions engine = engine_with_cache(asked, blank.extent.seq);
  const Program program = prepared_program(model, inputs.precision, engine);
  const auto part = [&](std::int64_t tokens) {
    const Extent extent = {blank.extent.batch, tokens};
    return Part{program, extent, forecast(program, inputs, {.extent = extent, .mask = AttentionMask::given})};
  };
  std::vector<Part> parts = {part(engine.cache->chunk)};
  Part decode = part(1);
  add_constants(decode.forecast, parts.front().forecast);
  if (decode.forecast.arena_bytes() > parts.front().forecast.arena_bytes()) {
    decode.forecast.constants.clear();
    decode.forecast.loading_bytes = 0;
    parts.push_back(std::move(decode));
  }
  return account(parts, blank);
}

}  // namespace

MemoryCell predict_memory(const Model& model, const PrecisionChoice& precision, const MemoryCell& blank,
                          const MemoryRequest& request, const MachineFacts& facts) {
  const ForecastInputs inputs{precision, model.weights, find_backend(request.engine.device), facts};
  if (request.mode == RunMode::generate) return account_generation(model, blank, inputs, request.engine);
  const auto part = [&](const Program& program, Extent extent, std::vector<std::string> outputs) {
    return Part{program, extent, forecast(program, inputs, {.extent = extent, .outputs = std::move(outputs)})};
  };
  if (request.mode == RunMode::infer) {
    const Program program = prepared_program(model, precision, request.engine);
    return account({part(program, blank.extent, {"logits"})}, blank);
  }
  const TrainingPrograms programs =
      training_programs(model.config, whole_step(precision, request.engine, blank.recompute, blank.storage));
  std::vector<Part> parts = {part(programs.step, blank.extent, {"loss"})};
  for (const Program* segment : {&programs.norms, &programs.update}) {
    if (!segment->nodes.empty()) parts.push_back(part(*segment, {}, output_names(*segment)));
  }
  return account(parts, blank);
}

}  // namespace assay
