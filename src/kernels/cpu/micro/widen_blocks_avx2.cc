#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma")

namespace assay::cpu::micro {
namespace {

constexpr int few_lanes = 8;  ///< Rows that are decoded together.

/// The same four bytes of each of 8 rows.
__m256i dwords_of_rows(const void* of_first_row) {
  constexpr int step = sizeof(GroupedCodes) / 4;
  const __m256i index = _mm256_mullo_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(step));
  return _mm256_i32gather_epi32(static_cast<const int*>(of_first_row), index, 4);
}

/// What the code in the lowest byte of each lane stands for.
__m256 low_values(const BlockFormat& format, __m256i quads) {
  if (format.table.empty()) return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(quads, 24), 24));
  return _mm256_i32gather_ps(format.table.data(), _mm256_and_si256(quads, _mm256_set1_epi32(0xFF)), 4);
}

/// One block of 8 rows, to their quarter of the widened panel.
void widen_quarter(const BlockFormat& format, const std::byte* stored, std::byte* wide) {
  GroupedCodes rows[few_lanes];
  for (int row = 0; row < few_lanes; ++row) format.decode(stored + row * format.bytes, rows[row]);
  for (std::int64_t k = 0; k < format.elements; k += 4) {
    const auto group = static_cast<std::size_t>(k / format.group);
    const __m256 scale = _mm256_castsi256_ps(dwords_of_rows(&rows[0].scales[group]));
    const __m256 minimum = _mm256_castsi256_ps(dwords_of_rows(&rows[0].minima[group]));
    __m256i quads = dwords_of_rows(&rows[0].codes[static_cast<std::size_t>(k)]);
    for (std::int64_t place = 0; place < 4; ++place, quads = _mm256_srli_epi32(quads, 8)) {
      _mm256_store_ps(reinterpret_cast<float*>(wide) + (k + place) * panel_width,
                      _mm256_fmsub_ps(low_values(format, quads), scale, minimum));
    }
  }
}

}  // namespace

void blocks_to_f32_avx2(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  constexpr std::int64_t value_bytes = 4;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t row = 0; row < panel_width; row += few_lanes)
      widen_quarter(format, panel + (block * panel_width + row) * format.bytes,
                    wide + (block * format.elements * panel_width + row) * value_bytes);
  }
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
