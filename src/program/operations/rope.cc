#include "program/operation.h"

namespace assay {

// Rotary position embedding (Su et al. 2021): the pair (a, b) of head h at position t turns by t * theta^(-2i/D).
// x, y: (B, T, heads * head_dim); attributes: heads, head_dim, rope_theta, pairs
const Operation op::rope = {
    .name = "rope",
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
};

}  // namespace assay
