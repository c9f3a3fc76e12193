#include "formats/fuzzing.h"
#include "formats/table_text.h"

// The first byte picks the format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const auto format = static_cast<unsigned>(bytes[0]) % 2 == 0 ? assay::TextFormat::csv : assay::TextFormat::markdown;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
    const assay::TextDocument document = assay::parse_tables(text, format, "fuzz");
    for (const assay::ParsedTable& table : document.tables) {
      if (table.header.empty()) std::abort();
    }
  });
}
