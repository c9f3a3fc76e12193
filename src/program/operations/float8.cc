#include "program/float8_history.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> rounded_and_history(const Program& program, const Node& node) {
  return {input(program, node, 0).shape, {dim(float8_history_size)}};
}

}  // namespace

// y = clamp(round(s x), +-limit) / s in e4m3 or e5m2 (attributes.operand), stored in the output's dtype, which holds it
// exactly: s is the largest power of two with s a <= limit, limit 448 or 57,344. a is the largest magnitude of what
// shares the scale: a tile of attributes.rows x attributes.width, where these are not 0; else of the whole tensor in
// the steps before (history), or of the tensor itself where there was none. s is 1 where a is 0. A value that is
// not finite gives NaN. history: f32 (float8_history_size), written over.
const Operation op::round_float8 = {
    .name = "round_float8",
    .kind = OperationKind::casts,
    .autocast = Autocast::widest,
    .shapes = rounded_and_history,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
};

}  // namespace assay
