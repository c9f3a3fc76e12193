#include "kernels/linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/onednn.h"

namespace assay::cpu {

Offer linear_onednn_packed(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  const Packing panels = onednn_panels(linear.weight, linear.in);
  if (panels.kind == Packing::Kind::plain) return Declined{"the input width does not fill whole blocks"};
  return prepare_onednn(linear, facts, panels);
}

Offer linear_onednn(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  return prepare_onednn(linear, facts, {.kind = Packing::Kind::plain, .dtype = linear.weight});
}

}  // namespace assay::cpu
