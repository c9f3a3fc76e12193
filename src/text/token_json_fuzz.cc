#include "formats/fuzzing.h"
#include "text/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const assay::TokenBatch batch = assay::parse_token_json(text, "fuzz");
    if (batch.input_ids.size() != static_cast<std::size_t>(batch.batch * batch.seq)) std::abort();
  });
}
