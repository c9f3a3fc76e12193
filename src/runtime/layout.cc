#include "runtime/layout.h"

#include <algorithm>

#include "base/error.h"
#include "program/operation.h"
#include "runtime/arena.h"

namespace assay {
namespace {

/// Nodes whose results somebody wants, in order; constants are made elsewhere.
std::vector<std::size_t> live_nodes(const Program& program, const std::vector<std::string>& outputs) {
  std::vector<bool> wanted(program.values.size(), false);
  for (const std::string& name : outputs) {
    const ValueId id = program.output(name);
    if (id == no_value) fail_user("output '{}': this model has none of that name", name);
    wanted[static_cast<std::size_t>(id)] = true;
  }
  std::vector<std::size_t> live;
  for (std::size_t index = program.nodes.size(); index-- > 0;) {
    const Node& node = program.nodes[index];
    const auto is_wanted = [&](ValueId id) {
      return id != no_value && !program.value(id).constant && wanted[static_cast<std::size_t>(id)];
    };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_wanted)) continue;
    for (const ValueId id : node.inputs) {
      if (id != no_value) wanted[static_cast<std::size_t>(id)] = true;
    }
    live.push_back(index);
  }
  std::reverse(live.begin(), live.end());
  return live;
}

/// The value whose memory another one is a window into, and where in it the window begins.
struct Window {
  ValueId root = no_value;
  std::int64_t offset_bytes = 0;
};

std::vector<Window> find_windows(const Program& program) {
  std::vector<Window> windows;
  for (std::size_t id = 0; id < program.values.size(); ++id) windows.push_back({static_cast<ValueId>(id), 0});
  for (const Node& node : program.nodes) {
    if (!node.operation->alias) continue;
    const Window& from = windows[static_cast<std::size_t>(node.inputs[0])];
    const auto element = static_cast<std::int64_t>(size_of(program.value(node.outputs[0]).dtype));
    windows[static_cast<std::size_t>(node.outputs[0])] = {from.root,
                                                          from.offset_bytes + node.attributes.offset * element};
  }
  return windows;
}

/// Lifetimes from first to last use, the inputs and the wanted outputs living throughout.
class Lifetimes {
 public:
  Lifetimes(const Program& program, const std::vector<Window>& windows, Extent extent)
      : program_(program), windows_(windows), extent_(extent), values_(program.values.size()) {}

  void touch(ValueId id, int step) {
    if (id == no_value || program_.value(id).constant) return;
    const ValueId root = windows_[static_cast<std::size_t>(id)].root;
    Placement& placement = values_[static_cast<std::size_t>(root)];
    if (placement.bytes == 0) {
      placement.bytes = storage_bytes(program_, root, extent_);
      placement.first_step = step;
    }
    placement.last_step = std::max(placement.last_step, step);
  }

  std::vector<Placement> take() { return std::move(values_); }

 private:
  const Program& program_;
  const std::vector<Window>& windows_;
  Extent extent_;
  std::vector<Placement> values_;
};

/// Offsets of all values that own memory; returns the arena's bytes.
std::int64_t arrange_roots(std::vector<Placement>& values) {
  std::vector<Lifetime> lifetimes;
  std::vector<Placement*> roots;
  for (Placement& placement : values) {
    if (placement.bytes == 0) continue;
    lifetimes.push_back({placement.bytes, placement.first_step, placement.last_step, -1});
    roots.push_back(&placement);
  }
  const std::int64_t bytes = arrange(lifetimes);
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i]->offset = lifetimes[i].offset;
  return bytes;
}

void place_windows(const Program& program, const std::vector<Window>& windows, Extent extent,
                   std::vector<Placement>& values) {
  for (std::size_t id = 0; id < values.size(); ++id) {
    const Window& window = windows[id];
    const Placement& root = values[static_cast<std::size_t>(window.root)];
    if (root.offset < 0) continue;
    values[id].row_stride = program.value(window.root).shape.back().at(extent);
    values[id].offset = root.offset + window.offset_bytes;
  }
}

}  // namespace

Layout lay_out(const Program& program, const PlanOptions& options) {
  const std::vector<Window> windows = find_windows(program);
  Lifetimes lifetimes(program, windows, options.extent);
  Layout layout;
  for (const NamedValue& in : program.inputs) lifetimes.touch(in.value, 0);
  int step = 0;
  for (const std::size_t index : live_nodes(program, options.outputs)) {
    const Node& node = program.nodes[index];
    if (!node.operation->alias) {
      layout.nodes.push_back(index);
      ++step;
    }
    for (const ValueId id : node.inputs) lifetimes.touch(id, step);
    for (const ValueId id : node.outputs) lifetimes.touch(id, step);
  }
  for (const NamedValue& in : program.inputs) lifetimes.touch(in.value, step + 1);
  for (const std::string& name : options.outputs) lifetimes.touch(program.output(name), step + 1);
  layout.values = lifetimes.take();
  layout.bytes = arrange_roots(layout.values);
  place_windows(program, windows, options.extent, layout.values);
  return layout;
}

}  // namespace assay
