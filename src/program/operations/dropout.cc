#include "base/random.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// The same elements are dropped again: nothing is kept for the backward.
void dropout_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::dropout, {g.of_output(0), node.inputs[1], node.inputs[2]}, node.attributes);
}

}  // namespace

std::uint32_t random_bits(const std::int32_t* seed, std::int64_t stream, std::int64_t index) {
  const auto word = [&](int i) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(seed[i])); };
  const auto element = static_cast<std::uint64_t>(index);
  return philox(word(1) << 32 | word(0), static_cast<std::uint64_t>(stream), element / 4)[element % 4];
}

// y[i] = x[i] / (1 - rate) where uniform(random_bits(seed, stream, first * n + i)) >= rate, else 0
// x: (B, ...) with n elements a row, rows first .. first + B - 1 of a step's: a batch in parts drops what it drops
// whole seed: s32 (2), first: s32 (1)
const Operation op::dropout = {
    .name = "dropout",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<2>,
    .bytes = read_once_write_once,
    .gradient = dropout_rule,
};

}  // namespace assay
