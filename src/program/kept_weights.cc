#include "program/kept_weights.h"

#include <algorithm>

#include "program/operation.h"

namespace assay {
namespace {

bool reads(const Node& node, ValueId value) {
  return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
}

bool quantises_weights(const Node& node) {
  return node.operation == &op::quantize_weight || node.operation == &op::quantize_blocks;
}

/// Follows a weight through casts and quantisation to whoever computes with it.
class KeptForms {
 public:
  explicit KeptForms(const Program& program) : program_(program) {}

  std::vector<KeptWeight> all() {
    for (std::size_t id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      if (value.source != Source::weight) continue;
      const auto weight = static_cast<ValueId>(id);
      follow(weight, {.name = value.name, .value = weight});
    }
    return std::move(kept_);
  }

 private:
  void follow(ValueId value, const KeptWeight& form) {
    for (const Node& node : program_.nodes) {
      if (!reads(node, value)) continue;
      if (node.operation == &op::cast && program_.value(node.outputs[0]).constant) {
        follow(node.outputs[0], narrowed(form, node.outputs[0]));
      } else if (quantises_weights(node)) {
        follow(node.outputs[0], {.name = form.name,
                                 .value = node.outputs[0],
                                 .scales = node.outputs.size() > 1 ? node.outputs[1] : no_value,
                                 .blocks = node.attributes.blocks});
      } else {
        add(form, node);
      }
    }
  }

  /// What was rounded and widened again is kept as it was rounded.
  KeptWeight narrowed(KeptWeight form, ValueId cast) const {
    if (size_of(program_.value(cast).dtype) < size_of(program_.value(form.value).dtype)) form.value = cast;
    return form;
  }

  void add(const KeptWeight& form, const Node& reader) {
    auto known =
        std::find_if(kept_.begin(), kept_.end(), [&](const KeptWeight& one) { return one.value == form.value; });
    if (known == kept_.end()) known = kept_.insert(kept_.end(), form);
    known->readers.push_back(&reader);
  }

  const Program& program_;
  std::vector<KeptWeight> kept_;
};

}  // namespace

std::vector<KeptWeight> kept_weights(const Program& program) {
  return KeptForms(program).all();
}

}  // namespace assay
