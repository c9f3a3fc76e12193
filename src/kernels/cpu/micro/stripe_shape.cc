#include <algorithm>

#include "kernels/cpu/micro/stripes.h"

namespace assay::cpu::micro {
namespace {

struct SmallCodes {
  const BlockFormat* format;
  int zero;  ///< Minus the least code.
};
constexpr SmallCodes small_codes[] = {
    {&blocks::q6_k, 32}, {&blocks::q5_k, 0}, {&blocks::q5_0, 16},  {&blocks::q5_1, 0},
    {&blocks::q3_k, 4},  {&blocks::q2_k, 0}, {&blocks::mxfp4, 12}, {&blocks::nvfp4, 12},
};

}  // namespace

std::optional<int> zero_of_small_codes(const BlockFormat& format) {
  const auto* found = std::find_if(std::begin(small_codes), std::end(small_codes),
                                   [&](const SmallCodes& one) { return one.format == &format; });
  if (found == std::end(small_codes)) return std::nullopt;
  return found->zero;
}

StripeShape stripe_shape(const BlockFormat& format, const StripeLayout& layout) {
  return {.layout = layout,
          .stretches = format.elements / stretch_values,
          .groups = format.elements / format.group,
          .zero_at = layout.scale_bytes(format),
          .header_bytes = layout.header_bytes(format),
          .bytes = stripe_bytes(format)};
}

}  // namespace assay::cpu::micro
