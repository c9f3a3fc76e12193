#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> values_and_scales(const Program& program, const Node& node) {
  const SymbolicShape& x = input(program, node, 0).shape;
  return {x, {rows(x)}};
}

std::vector<SymbolicShape> values_and_group_scales(const Program& program, const Node& node) {
  const SymbolicShape& x = input(program, node, 0).shape;
  SymbolicShape scales = x;
  scales.back() = dim(activation_groups(x.back().factor));
  return {x, scales};
}

std::vector<SymbolicShape> rows_in_blocks(const Program& program, const Node& node) {
  const SymbolicShape& weight = input(program, node, 0).shape;
  ASSAY_ASSERT(weight.size() == 2 && node.attributes.blocks != nullptr && node.attributes.blocks->can_be_made());
  return {{weight[0], dim(node.attributes.blocks->bytes_of(weight[1].factor))}};
}

void cast_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::cast, {g.of_output(0)});
}

}  // namespace

// The same values in the output's dtype
const Operation op::cast = {
    .name = "cast",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = no_work,
    .bytes = read_once_write_once,
    .gradient = cast_rule,
};

// scale[r] = max |x[r]| / limit, q[r] = round(x[r] * (limit / max |x[r]|))    x: (.., d), q: s8 or e4m3 (.., d), scale:
// f32 (rows) limit: 127 for s8, 448 for e4m3
const Operation op::quantize_rows = {
    .name = "quantize_rows",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = values_and_scales,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
};

// The same for a constant weight: one scale an output channel
const Operation op::quantize_weight = {
    .name = "quantize_weight",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = values_and_scales,
    .flops = no_work,
    .bytes = read_once_write_once,
};

// quantize_rows, but with a scale for every 32 neighbours of a row    x: (.., d), q: s8 (.., d), scale: f32 (..,
// groups); the last group may be shorter
const Operation op::quantize_groups = {
    .name = "quantize_groups",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = values_and_group_scales,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
};

// A constant weight in blocks of attributes.blocks, as tensor/make_blocks.h makes them    W: (out, in), y: u8 (out,
// bytes of a row)
const Operation op::quantize_blocks = {
    .name = "quantize_blocks",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = rows_in_blocks,
    .flops = no_work,
    .bytes = read_once_write_once,
};

}  // namespace assay
