#include <vector>

#include "formats/fuzzing.h"
#include "formats/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    const assay::Gguf gguf = assay::parse_gguf(bytes, "fuzz");
    for (const assay::GgufValue& value : gguf.metadata) {
      assay::touch(value.bytes);
      if (value.type != assay::GgufType::array || value.element != assay::GgufType::text) continue;
      for (const std::string_view text : gguf.texts(value.key)) assay::touch(std::as_bytes(std::span(text)));
    }
    for (const assay::GgufTensor& tensor : gguf.tensors) {
      std::vector<float> out(static_cast<std::size_t>(assay::element_count(tensor.shape)));
      assay::dequantise(tensor, out);
    }
  });
}
