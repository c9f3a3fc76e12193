#include "base/error.h"

namespace assay {

void fail_assertion(const char* condition, const char* file, int line) {
  throw Error(ExitCode::defect, fmt::format("{}:{}: this should hold and does not: {}", file, line, condition));
}

}  // namespace assay
