#include "formats/fuzzing.h"
#include "formats/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    const assay::NpyArray array = assay::parse_npy(bytes, "fuzz");
    if (array.numbers().size() != static_cast<std::size_t>(array.count())) std::abort();
  });
}
