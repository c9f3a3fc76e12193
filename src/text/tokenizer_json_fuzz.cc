#include "formats/fuzzing.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const assay::Tokenizer tokenizer = assay::parse_tokenizer_json(text, "fuzz");
    // What the file itself says is a text too: it holds the tokenizer's own tokens.
    for (const std::string_view sample : {text, std::string_view("abc [CLS] Éa 12  the\n<|x|>")}) {
      for (const std::int32_t id : tokenizer.encode(sample)) {
        if (id < 0 || id >= tokenizer.vocabulary_size()) std::abort();
      }
    }
  });
}
