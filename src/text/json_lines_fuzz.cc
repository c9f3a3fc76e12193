#include "formats/fuzzing.h"
#include "text/json_lines.h"

namespace {

void read_lines(std::string_view content) {
  if (!assay::has_labels(content, "fuzz")) {
    const std::string text = assay::parse_json_lines_text(content, "fuzz");
    return assay::touch(std::as_bytes(std::span<const char>(text)));
  }
  const assay::LabelledSet set = assay::parse_labelled_json_lines(content, "fuzz");
  if (set.sentences.empty() || set.sentences.size() != set.labels.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    read_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}
