#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

/// Text is either refused with a user error of one line, or reads the same after it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const assay::Json json = assay::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (assay::parse_json(json.dump(), "fuzz") != json) std::abort();
  } catch (const assay::Error& error) {
    const std::string_view message = error.what();
    if (error.code() != assay::ExitCode::user || message.find_first_of("\n\r") != std::string_view::npos) std::abort();
  }
  return 0;
}
