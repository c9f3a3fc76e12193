#include <immintrin.h>

#include <utility>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512vnni")
#include "kernels/cpu/micro/stripe_codes.h"

namespace assay::cpu::micro {
namespace {

inline __m512i four_codes(const std::byte* x) {
  int quad;
  __builtin_memcpy(&quad, x, sizeof(quad));
  return _mm512_set1_epi32(quad);
}

/// Unsigned codes by signed x: a stretch starts at what its codes' zero takes off. One of 8 bits stays below 2^20.
template <int bits, bool has_offset, int rows>
struct IntegerStripes {
  using Sums = __m512i[rows][2];

  static void add(Sums& sums, int half, __m512i codes, const StripeBlock& block, const std::byte* x) {
#pragma GCC unroll 6
    for (int row = 0; row < rows; ++row)
      sums[row][half] = _mm512_dpbusd_epi32(sums[row][half], codes, four_codes(x + row * block.x_stride));
  }

  static void run(const StripeBlock& block) {
    __m512 total[rows][2];
    for (auto& row : total) row[0] = row[1] = _mm512_setzero_ps();
    StripeHeader header;
    for_stretches(block, header, [&](std::int64_t part, const std::byte* codes, std::int64_t place) {
      fetch_codes<rows>(codes, block.shape.layout.code_bytes());
      const std::int64_t stretch = block.parts == 1 ? part : part / 2;
      const std::byte* const x = block.x + stretch * stretch_values;
      Sums sums;
#pragma GCC unroll 6
      for (int row = 0; row < rows; ++row)
        sums[row][0] = sums[row][1] = _mm512_set1_epi32(block.starts[row * block.side_stride + stretch]);
      const __m512i low = _mm512_set1_epi8(0x0F);
#pragma GCC unroll 16
      for (int vector = 0; vector < 2 * bits; ++vector) {
        const __m512i loaded = load_codes(codes, vector);
        if constexpr (bits == 8) {
          add(sums, vector % 2, loaded, block, x + vector / 2 * 4);
        } else {
          add(sums, vector % 2, _mm512_and_si512(loaded, low), block, x + vector / 2 * 8);
          add(sums, vector % 2, _mm512_and_si512(_mm512_srli_epi16(loaded, 4), low), block, x + vector / 2 * 8 + 4);
        }
      }
#pragma GCC unroll 6
      for (int row = 0; row < rows; ++row) {
        const std::int64_t side = row * block.side_stride + stretch;
        const __m512 x_scale = _mm512_set1_ps(block.x_scale[side]);
        const __m512 group[2] = {_mm512_mul_ps(_mm512_cvtepi32_ps(sums[row][0]), x_scale),
                                 _mm512_mul_ps(_mm512_cvtepi32_ps(sums[row][1]), x_scale)};
        add_stretch<has_offset>(total[row], group, header, place,
                                has_offset ? block.x_sums[row * block.side_stride * block.parts + part] : 0);
      }
    });
    store_stripe_sums<rows>(block, total);
  }
};

}  // namespace

void multiply_stripes_vnni(const StripeBlock& block, int rows) {
  run_stripes<IntegerStripes, integer_stripe_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
