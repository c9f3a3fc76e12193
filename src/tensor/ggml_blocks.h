#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

/// What any block comes to, in the order of its elements; of GGUF's:
///
///   x[i] = scales[g] codes[i] - minima[g],   g = i / group_elements
///
/// where `scales` times a code is exact in f32.
struct GroupedCodes {
  std::array<std::int8_t, 256> codes;
  std::array<float, 16> scales;
  std::array<float, 16> minima;  ///< 0 where the type has none.
};

// Blocks as they lie in a file, little-endian, without gaps; d, m and minimum are f16. ggml (ggml-quants.c, MIT
// licence) defines them. "Halves": the low four bits of byte i are element i, the high ones element i + 16 (32 in the
// K types), so that a loop over bytes writes two stretches.
//
//   Q8_0    34 bytes,  32 elements   | d | q[32] s8 |                        scale d
//   Q4_0    18          32           | d | halves[16] |                      scale d, code q - 8
//   Q4_1    20          32           | d | m | halves[16] |                  scale d, minimum -m
//   Q5_0    22          32           | d | fifth bits[4] | halves[16] |      scale d, code q - 16
//   Q5_1    24          32           | d | m | fifth bits[4] | halves[16] |  scale d, minimum -m
//   IQ4_NL  18          32           | d | halves[16] |                      scale d, code from a table of 16
//   MXFP4   17          32           | exponent u8 | halves[16] |            scale 2^(exponent - 128), code 2 x e2m1
//   NVFP4   36          64           | scales[4] ue4m3 | halves[4][8] |      a scale for 16 elements, code 2 x e2m1
//
// The K types have 256 elements. Their scales are small integers times d, and so are their minima:
//
//   Q2_K    84    | scale, minimum nibbles[16] | quarters[64] | d | minimum |                  16 groups of 16
//   Q3_K   110    | third bits[32] | quarters[64] | 6-bit scales[12] | d |                     16 groups of 16
//   Q4_K   144    | d | minimum | 6-bit scales and minima[12] | halves[128] |                   8 groups of 32
//   Q5_K   176    | d | minimum | 6-bit scales and minima[12] | fifth bits[32] | halves[128] |  8 groups of 32
//   Q6_K   210    | halves[128] | upper two bits[64] | scales[16] s8 | d |                     16 groups of 16
//   IQ4_XS 136    | d | upper scale bits u16 | lower scale bits[4] | halves[128] |              8 groups of 32
//
// A "quarter" is two bits: byte i of 32 holds elements i, i + 32, i + 64, i + 96 of a stretch of 128.

void decode_q8_0(const std::byte* block, GroupedCodes& out);
void decode_q4_0(const std::byte* block, GroupedCodes& out);
void decode_q4_1(const std::byte* block, GroupedCodes& out);
void decode_q5_0(const std::byte* block, GroupedCodes& out);
void decode_q5_1(const std::byte* block, GroupedCodes& out);
void decode_iq4_nl(const std::byte* block, GroupedCodes& out);
void decode_mxfp4(const std::byte* block, GroupedCodes& out);
void decode_nvfp4(const std::byte* block, GroupedCodes& out);
void decode_q2_k(const std::byte* block, GroupedCodes& out);
void decode_q3_k(const std::byte* block, GroupedCodes& out);
void decode_q4_k(const std::byte* block, GroupedCodes& out);
void decode_q5_k(const std::byte* block, GroupedCodes& out);
void decode_q6_k(const std::byte* block, GroupedCodes& out);
void decode_iq4_xs(const std::byte* block, GroupedCodes& out);

}  // namespace assay
