#include "base/error.h"

#include "base/units.h"

namespace assay {

void fail_formatted(ExitCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

void fail_memory(const std::string& what, std::size_t bytes) {
  const auto needed = static_cast<double>(bytes);
  throw OutOfMemory(fmt::format("{}: {} were asked for, the system refuses", what, format_bytes(needed)), needed, 0);
}

void fail_assertion(const char* condition, const char* file, int line) {
  throw Error(ExitCode::defect, fmt::format("{}:{}: this should hold and does not: {}", file, line, condition));
}

}  // namespace assay
