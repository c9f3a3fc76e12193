#include "kernels/cpu/micro/stripes.h"

namespace assay::cpu::micro {

StripeShape stripe_shape(const BlockFormat& format, const StripeLayout& layout) {
  return {.layout = layout,
          .stretches = format.elements / stretch_values,
          .groups = format.elements / format.group,
          .zero_at = layout.scale_bytes(format),
          .header_bytes = layout.header_bytes(format),
          .bytes = stripe_bytes(format)};
}

}  // namespace assay::cpu::micro
