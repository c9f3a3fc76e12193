#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace assay {

// Elements of a GGUF tensor lie in blocks along the innermost axis; d and m are f16, q are small integers:
//
//   Q8_0   34 bytes, 32 elements   | d | q[32] s8 |             x[i] = d q[i]
//   Q4_0   18 bytes, 32 elements   | d | q[16] nibble pairs |   x[i] = d (low(q[i]) - 8),  x[i+16] = d (high(q[i]) - 8)
//   Q4_1   20 bytes, 32 elements   | d | m | q[16] pairs |      x[i] = d low(q[i]) + m,    x[i+16] = d high(q[i]) + m
//   F32, F16, BF16                 plain elements: a block of one

/// The tensor types that are read, under the numbers that files use.
enum class GgmlType : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30 };

struct GgmlLayout {
  GgmlType type;
  const char* name;  ///< "Q4_1".
  std::size_t block_elements;
  std::size_t block_bytes;
  std::optional<DType> dtype;  ///< Where elements are plain.
};
const GgmlLayout& layout_of(GgmlType type);
/// Null for a number that is not in GgmlType.
const GgmlLayout* find_ggml_layout(std::uint32_t number);
/// "Q4_K (type 12)", "type 99": any number, for an error.
std::string describe_ggml_type(std::uint32_t number);

/// Expands `blocks` to f32, on all threads. `out` holds exactly the blocks' elements (a defect where it does not).
/// Exact: every product d q has at most 19 significant bits, and Q4_1's sum is rounded once.
void dequantise(GgmlType type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace assay
