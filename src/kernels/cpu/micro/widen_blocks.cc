#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")

namespace assay::cpu::micro {
namespace {

constexpr int lanes =
    16;  ///< Rows that are decoded together: their codes and the widened stretch stay in the first cache.
constexpr std::int64_t half_bytes = 64;
constexpr std::int64_t group_bytes = 2 * half_bytes;  ///< Of the widened panel.

/// Codes and scales of one block of each of 16 rows.
struct DecodedRows {
  GroupedCodes rows[lanes];

  /// The same four bytes of each, `offset` bytes into it.
  __m512i dwords(const void* of_first_row) const {
    constexpr int step = sizeof(GroupedCodes) / 4;
    const __m512i index = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                             _mm512_set1_epi32(step));
    return _mm512_i32gather_epi32(index, of_first_row, 4);
  }
};

// What the codes in byte `place` of each lane stand for.

struct CodesThemselves {
  explicit CodesThemselves(const BlockFormat&) {}
  template <int place>
  __m512 at(__m512i quads) const {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(quads, 24 - 8 * place), 24));
  }
};

struct OfSixteen {
  __m512 table;
  explicit OfSixteen(const BlockFormat& format) : table(_mm512_loadu_ps(format.table.data())) {}
  template <int place>
  __m512 at(__m512i quads) const {
    return _mm512_permutexvar_ps(_mm512_srli_epi32(quads, 8 * place), table);  // Looks at four bits.
  }
};

struct OfAll {
  const float* table;
  explicit OfAll(const BlockFormat& format) : table(format.table.data()) {}
  template <int place>
  __m512 at(__m512i quads) const {
    const __m512i code = _mm512_and_si512(_mm512_srli_epi32(quads, 8 * place), _mm512_set1_epi32(0xFF));
    return _mm512_i32gather_ps(code, table, 4);
  }
};

/// scale * value - minimum
template <int place, typename Values>
__m512 value_of(const Values& values, __m512i quads, __m512 scale, __m512 minimum) {
  return _mm512_fmsub_ps(values.template at<place>(quads), scale, minimum);
}

struct AsF32 {
  static constexpr std::int64_t values_a_group = 1;
  static void put(__m512 even, __m512 odd, std::byte* wide) {
    _mm512_store_ps(wide, even);
    _mm512_store_ps(wide + group_bytes, odd);
  }
};

struct AsBf16 {
  static constexpr std::int64_t values_a_group = 2;
  static void put(__m512 even, __m512 odd, std::byte* wide) {
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i narrow = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
    _mm512_store_si512(wide, _mm512_permutexvar_epi16(pairs, narrow));
  }
};

/// One block of 16 rows, to their half of the widened panel.
template <typename As, typename Values>
void widen_half(const BlockFormat& format, const std::byte* stored, std::byte* wide) {
  alignas(64) DecodedRows decoded;
  for (int row = 0; row < lanes; ++row) format.decode(stored + row * format.bytes, decoded.rows[row]);
  const GroupedCodes& first = decoded.rows[0];
  const Values values(format);
  for (std::int64_t begin = 0; begin < format.elements; begin += format.group) {
    const auto group = static_cast<std::size_t>(begin / format.group);
    const __m512 scale = _mm512_castsi512_ps(decoded.dwords(&first.scales[group]));
    const __m512 minimum = _mm512_castsi512_ps(decoded.dwords(&first.minima[group]));
    for (std::int64_t k = begin; k < begin + format.group; k += 4) {
      const __m512i quads = decoded.dwords(&first.codes[static_cast<std::size_t>(k)]);
      std::byte* const target = wide + k / As::values_a_group * group_bytes;
      As::put(value_of<0>(values, quads, scale, minimum), value_of<1>(values, quads, scale, minimum), target);
      As::put(value_of<2>(values, quads, scale, minimum), value_of<3>(values, quads, scale, minimum),
              target + 2 / As::values_a_group * group_bytes);
    }
  }
}

template <typename As, typename Values>
void widen_panel_by(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::byte* const target = wide + block * format.elements / As::values_a_group * group_bytes;
    for (int half = 0; half < 2; ++half)
      widen_half<As, Values>(format, panel + (block * panel_width + half * lanes) * format.bytes,
                             target + half * half_bytes);
  }
}

template <typename As>
void widen_panel(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  const auto by = format.table.empty()        ? widen_panel_by<As, CodesThemselves>
                  : format.table.size() == 16 ? widen_panel_by<As, OfSixteen>
                                              : widen_panel_by<As, OfAll>;
  by(format, panel, blocks, wide);
}

}  // namespace

void blocks_to_f32(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  widen_panel<AsF32>(format, panel, blocks, wide);
}

void blocks_to_bf16(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  widen_panel<AsBf16>(format, panel, blocks, wide);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
