#include "runtime/layout.h"

#include <algorithm>

#include "base/error.h"
#include "program/operation.h"
#include "runtime/arena.h"

namespace assay {
namespace {

/// Nodes whose results somebody wants, in order; constants are made elsewhere, and what is written to state is wanted.
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
      if (id == no_value || program.value(id).constant) return false;
      return wanted[static_cast<std::size_t>(id)] || program.value(id).source == Source::state;
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

/// The value whose memory another one lies in, and where in it.
struct Window {
  ValueId root = no_value;
  std::int64_t offset_bytes = 0;
};

/// Which values share memory: windows into others, and results that take over the memory of an input that nobody needs
/// any more.
class Sharing {
 public:
  Sharing(const Program& program, const std::vector<std::size_t>& live, const std::vector<std::string>& outputs)
      : program_(program), last_reader_(program.values.size(), nowhere) {
    for (std::size_t id = 0; id < program.values.size(); ++id) windows_.push_back({static_cast<ValueId>(id), 0});
    for (const std::size_t index : live) {
      if (program.nodes[index].operation->alias) add_window(program.nodes[index]);
    }
    for (const std::size_t index : live) {
      for (const ValueId id : program.nodes[index].inputs) {
        if (id != no_value) last_reader_[place(root(id))] = index;
      }
    }
    for (const std::string& name : outputs) last_reader_[place(root(program.output(name)))] = nowhere;
    for (const std::size_t index : live) take_over(index);
  }

  std::vector<Window> windows() const { return windows_; }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  static std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
  ValueId root(ValueId id) const { return windows_[place(id)].root; }

  void add_window(const Node& node) {
    const Window& from = windows_[place(node.inputs[0])];
    const auto element = static_cast<std::int64_t>(size_of(program_.value(node.outputs[0]).dtype));
    windows_[place(node.outputs[0])] = {from.root, from.offset_bytes + node.attributes.offset * element};
  }

  void take_over(std::size_t index) {
    const Node& node = program_.nodes[index];
    const int from = node.operation->in_place;
    if (from < 0 || !has_input(node, static_cast<std::size_t>(from)) || node.outputs[0] == no_value) return;
    const ValueId in = node.inputs[static_cast<std::size_t>(from)];
    const ValueId out = node.outputs[0];
    const bool computed = program_.value(in).source == Source::computed && !program_.value(in).constant;
    const bool alone = windows_[place(in)].offset_bytes == 0 && alike(root(in), out);
    if (!computed || !alone || root(out) != out || last_reader_[place(root(in))] != index) return;
    if (readings(node, root(in)) > 1) return;  // A product would read what it has overwritten.
    join(in, out);
  }

  std::ptrdiff_t readings(const Node& node, ValueId of) const {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId id) { return id != no_value && root(id) == of; });
  }

  bool alike(ValueId a, ValueId b) const {
    const Value& x = program_.value(a);
    const Value& y = program_.value(b);
    return x.shape == y.shape && size_of(x.dtype) == size_of(y.dtype);
  }

  /// Every value that lay in in's root or in `out` lies in one of them now: in the state tensor, where one is.
  void join(ValueId in, ValueId out) {
    const bool out_is_state = program_.value(out).source == Source::state;
    const ValueId kept = out_is_state ? out : root(in);
    const ValueId gone = out_is_state ? root(in) : out;
    if (out_is_state && program_.value(gone).source == Source::state) return;
    for (Window& window : windows_) {
      if (window.root == gone) window.root = kept;
    }
    last_reader_[place(kept)] = last_reader_[place(out)];
  }

  const Program& program_;
  std::vector<std::size_t> last_reader_;  ///< By root; nowhere: never read, or needed to the end.
  std::vector<Window> windows_;
};

/// Lifetimes from first to last use, the inputs and the wanted outputs living throughout. State lives elsewhere.
class Lifetimes {
 public:
  Lifetimes(const Program& program, const std::vector<Window>& windows, Extent extent)
      : program_(program), windows_(windows), extent_(extent), values_(program.values.size()) {}

  void touch(ValueId id, int step) {
    if (id == no_value || program_.value(id).constant) return;
    const ValueId root = windows_[static_cast<std::size_t>(id)].root;
    if (program_.value(root).source == Source::state) return;
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
    const bool in_state = program.value(window.root).source == Source::state;
    const std::int64_t start = in_state ? 0 : values[static_cast<std::size_t>(window.root)].offset;
    if (start < 0) continue;
    if (in_state) values[id].state = window.root;
    values[id].row_stride = program.value(window.root).shape.back().at(extent);
    values[id].offset = start + window.offset_bytes;
  }
}

}  // namespace

Layout lay_out(const Program& program, const PlanOptions& options) {
  const std::vector<std::size_t> live = live_nodes(program, options.outputs);
  const std::vector<Window> windows = Sharing(program, live, options.outputs).windows();
  Lifetimes lifetimes(program, windows, options.extent);
  Layout layout;
  for (const NamedValue& in : program.inputs) lifetimes.touch(in.value, 0);
  int step = 0;
  for (const std::size_t index : live) {
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
