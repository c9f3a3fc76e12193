#include "kernels/float8_scale.h"

#include <fmt/format.h>

namespace assay {

Prepared emulating_float8(const Call& call, Prepared prepared) {
  const Attributes& a = call.attributes;
  const std::string scale = a.width == 0 ? std::string(call.in(1).present ? "delayed, a tensor" : "a tensor")
                                         : fmt::format("{} x {}", a.rows, a.width);
  prepared.verdict = Verdict::emulated;
  prepared.description = fmt::format("{}, rounds to {} (scale: {})", prepared.description, name(a.operand), scale);
  prepared.evidence = fmt::format("emulated: {} is rounded to and widened again; what follows multiplies {}",
                                  name(a.operand), name(call.out(0).dtype));
  return prepared;
}

}  // namespace assay
