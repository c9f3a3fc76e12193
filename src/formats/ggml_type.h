#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tensor/block_format.h"
#include "tensor/dtype.h"

namespace assay {

/// The tensor types that are read, under the numbers that files use. How a block of each lies in a file:
/// tensor/ggml_blocks.h.
enum class GgmlType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  iq4_xs = 23,
  bf16 = 30,
  mxfp4 = 39,
  nvfp4 = 40
};

/// Elements of a GGUF tensor lie in blocks along the innermost axis.
struct GgmlLayout {
  GgmlType type;
  const char* name;  ///< "Q4_1".
  std::size_t block_elements;
  std::size_t block_bytes;
  std::optional<DType> dtype;  ///< Where elements are plain: a block of one.
  const BlockFormat* format;   ///< Null where elements are plain.
};
const GgmlLayout& layout_of(GgmlType type);
/// Null for a number that is not in GgmlType.
const GgmlLayout* find_ggml_layout(std::uint32_t number);
/// All of them: "F32, F16, ...", for an error.
std::string ggml_type_names();
/// "IQ1_S (type 19)", "type 99": any number, for an error.
std::string describe_ggml_type(std::uint32_t number);

/// Expands `blocks` to f32, on all threads. `out` holds exactly the blocks' elements (a defect where it does not).
/// Bit-equal to ggml's own definition: every product is exact, and what has a minimum is rounded once.
void dequantise(GgmlType type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace assay
