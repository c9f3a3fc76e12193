#include "program/gradient.h"
#include "program/operation.h"

#include <cmath>

namespace assay {

float rotary_frequency(const Attributes& attributes, std::int64_t pair) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(attributes.head_dim);
  return 1.0F / std::pow(static_cast<float>(attributes.rope_theta), exponent);
}

namespace {

/// A rotation's gradient turns back.
void rope_rule(GradientBuilder& g, const Node& node) {
  Attributes back = node.attributes;
  back.inverse = !back.inverse;
  give_result(g, node, 0, op::rope, {g.of_output(0)}, back);
}

}  // namespace

// Rotary position embedding (Su et al. 2021): the pair (a, b) of head h at position t turns by t * theta^(-2i/D),
// or by as much the other way round where attributes.inverse is set.
// x, y: (B, T, heads * head_dim); attributes: heads, head_dim, rope_theta, pairs
const Operation op::rope = {
    .name = "rope",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
    .gradient = rope_rule,
};

}  // namespace assay
