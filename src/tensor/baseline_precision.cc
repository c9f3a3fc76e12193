#include "tensor/baseline_precision.h"

namespace assay {

const Precision& baseline_precision() {
  static const Precision& row = find_precision("fp32");
  return row;
}

}  // namespace assay
