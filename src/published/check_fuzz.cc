#include "published/check.h"

#include <cstdlib>

#include "base/error.h"
#include "base/json.h"

// Any text as a page, with every rule applied to what is read from it: never a crash, and a document
// that can be written and read back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto format = data[0] % 2 == 0 ? assay::TextFormat::csv : assay::TextFormat::markdown;
  try {
    assay::TableContext context;
    if (data[0] % 4 > 1) context.device = assay::find_known_device("T4");
    if (data[0] % 8 > 3) context.model = assay::find_known_model("gpt2");
    const auto tables = assay::read_tables(assay::parse_tables(text, format, "fuzz"), "fuzz", context);
    const assay::OrderedJson json = assay::to_json(assay::to_document(assay::check_tables(tables)));
    const assay::Json read = assay::Json::parse(json.dump());
    if (assay::to_json(assay::document_from_json(read, "fuzz")) != json) std::abort();
  } catch (const assay::Error& error) {
    if (error.code() != assay::ExitCode::user) std::abort();
  }
  return 0;
}
