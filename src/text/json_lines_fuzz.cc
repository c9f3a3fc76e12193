#include "formats/fuzzing.h"
#include "text/json_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return assay::expect_sound_or_refused(data, size, [&](std::span<const std::byte>) {
    if (!assay::has_labels(text, "fuzz"))
      return assay::touch(std::as_bytes(std::span(assay::parse_json_lines_text(text, "fuzz"))));
    const assay::LabelledSet set = assay::parse_labelled_json_lines(text, "fuzz");
    if (set.sentences.empty() || set.sentences.size() != set.labels.size()) std::abort();
  });
}
