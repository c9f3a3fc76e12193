#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace assay {

/// What a run reads of a weight: in the narrowest dtype in which it stood on its way there, rows of s8 or e4m3 with
/// their scales, or blocks.
struct KeptWeight {
  std::string name;                       ///< Of the weight.
  ValueId value = no_value;               ///< (out, in), or u8 (out, bytes of a row)
  ValueId scales = no_value;              ///< f32 (out); of s8 and e4m3
  const BlockFormat* blocks = nullptr;    ///< What `value` is rows of.
  std::vector<const Node*> readers = {};  ///< That compute with it.
};

/// All of them, in the order of the program's values. A weight that is read in two forms stands twice. `program`: of
/// assign_dtypes, not fused; it must outlive the result.
std::vector<KeptWeight> kept_weights(const Program& program);

}  // namespace assay
