#include "formats/fuzzing.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    std::size_t held = 0;
    for (const assay::StoredTensor& tensor : assay::parse_safetensors(bytes, "fuzz").tensors) {
      assay::touch(tensor.bytes);
      if (tensor.dtype && tensor.view().bytes() != tensor.bytes.size()) std::abort();
      held += tensor.bytes.size();
    }
    if (held > bytes.size()) std::abort();
  });
}
