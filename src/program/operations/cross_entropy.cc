#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> mean_loss_shape(const Program& program, const Node& node) {
  const SymbolicShape& labels = input(program, node, 1).shape;
  ASSAY_ASSERT(rows(input(program, node, 0).shape) == rows(labels) * labels.back());
  return {{dim(1)}};
}

void cross_entropy_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::cross_entropy_gradient, {g.saved(node.inputs[0]), node.inputs[1], g.of_output(0)});
}

}  // namespace

// loss = mean over the rows whose label is not negative of logsumexp(logits[row]) - logits[row, label]; 0 without any.
// logits: (.., V), labels: s32, one a row (-100 and other negative ones are ignored), loss: f32 (1); f32 inside
const Operation op::cross_entropy = {
    .name = "cross_entropy",
    .kind = OperationKind::loss,
    .autocast = Autocast::full_precision,
    .shapes = mean_loss_shape,
    .flops = per_element<4>,
    .bytes = read_once_write_once,
    .gradient = cross_entropy_rule,
};

// dlogits[row] = dloss / count * (softmax(logits[row]) - one at the label), zeros where the row is ignored
// logits, dlogits: (.., V), labels: s32, dloss: f32 (1)
const Operation op::cross_entropy_gradient = {
    .name = "cross_entropy_gradient",
    .kind = OperationKind::loss,
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<6>,
    .bytes = read_once_write_once,
    .in_place = 0,
};

}  // namespace assay
