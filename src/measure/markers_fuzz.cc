#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/markers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::MarkerReader reader(0);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  reader.take(bytes.substr(0, size / 2));
  reader.take(bytes.substr(size / 2));
  reader.finish(1e9);
  return 0;
}
