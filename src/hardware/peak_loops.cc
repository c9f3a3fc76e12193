#include "hardware/peak_loops.h"

#include <immintrin.h>

namespace assay {
namespace {

// Accumulators: latency times instructions a cycle is at most 10 (vpdpbusd: 5 cycles, two a cycle), so 12 hide it and
// fit into the 16 registers of AVX2.
constexpr int accumulators = 12;
constexpr int fma = 2;  // Operations of a multiply-add.

#define ASSAY_TWELVE_TIMES(do_it) \
  do_it(0) do_it(1) do_it(2) do_it(3) do_it(4) do_it(5) do_it(6) do_it(7) do_it(8) do_it(9) do_it(10) do_it(11)
#define ASSAY_CLOBBERS \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "cc"
#define ASSAY_ZERO_YMM(i) "vpxor %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define ASSAY_ZERO_ZMM(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"

/// Defines a loop over `issue(i)`, which names accumulator i as %%zmm<i> (or ymm) and the operands as %1 and %2.
#define ASSAY_PEAK_LOOP(function, sets, zero, issue, fill, a_bits, b_bits)   \
  __attribute__((target(sets))) void function(std::int64_t rounds) {         \
    const auto a = fill(a_bits);                                             \
    const auto b = fill(b_bits);                                             \
    asm volatile(ASSAY_TWELVE_TIMES(zero)                                  \
                 "1:\n\t" ASSAY_TWELVE_TIMES(issue)                        \
                 "dec %0\n\t"                                              \
                 "jnz 1b\n\t"                                              \
                 : "+r"(rounds)                                            \
                 : "v"(a), "v"(b)                                          \
                 : ASSAY_CLOBBERS); \
    _mm256_zeroupper();                                                      \
  }

// The operands are ordinary numbers near 1 and near 0.001: no subnormals, no infinities, and bits enough in use that
// the multipliers draw the power (and hold the clock) that they do in a matmul.
constexpr int f32_a = 0x3f7f1234;
constexpr int f32_b = 0x3a83126f;
constexpr int bf16_a = 0x3f7f3f7d;
constexpr int bf16_b = 0x3a833a85;
constexpr int f16_a = 0x3bf13be3;
constexpr int f16_b = 0x14191427;
constexpr int s8_a = 0x5b375b39;
constexpr int s8_b = 0x374d2b35;

#define ASSAY_FMA_YMM(i) "vfmadd231ps %2, %1, %%ymm" #i "\n\t"
#define ASSAY_FMA_ZMM(i) "vfmadd231ps %2, %1, %%zmm" #i "\n\t"
#define ASSAY_FMA_PH(i) "vfmadd231ph %2, %1, %%zmm" #i "\n\t"
#define ASSAY_DOT_BF16(i) "vdpbf16ps %2, %1, %%zmm" #i "\n\t"
#define ASSAY_PAIRS_S8(i) "vpmaddubsw %2, %1, %%ymm" #i "\n\t"
#define ASSAY_DOT_S8_YMM(i) "%{vex%} vpdpbusd %2, %1, %%ymm" #i "\n\t"
#define ASSAY_DOT_S8(i) "vpdpbusd %2, %1, %%zmm" #i "\n\t"

ASSAY_PEAK_LOOP(run_fma_ymm, "avx2,fma", ASSAY_ZERO_YMM, ASSAY_FMA_YMM, _mm256_set1_epi32, f32_a, f32_b)
ASSAY_PEAK_LOOP(run_fma_zmm, "avx512f", ASSAY_ZERO_ZMM, ASSAY_FMA_ZMM, _mm512_set1_epi32, f32_a, f32_b)
ASSAY_PEAK_LOOP(run_fma_ph, "avx512f,avx512fp16", ASSAY_ZERO_ZMM, ASSAY_FMA_PH, _mm512_set1_epi32, f16_a, f16_b)
ASSAY_PEAK_LOOP(run_dot_bf16, "avx512f,avx512bf16", ASSAY_ZERO_ZMM, ASSAY_DOT_BF16, _mm512_set1_epi32, bf16_a, bf16_b)
// The products of bytes alone: what adds them in 32 bits takes two instructions more.
ASSAY_PEAK_LOOP(run_pairs_s8, "avx2", ASSAY_ZERO_YMM, ASSAY_PAIRS_S8, _mm256_set1_epi32, s8_a, s8_b)
ASSAY_PEAK_LOOP(run_dot_s8_ymm, "avx2,avxvnni", ASSAY_ZERO_YMM, ASSAY_DOT_S8_YMM, _mm256_set1_epi32, s8_a, s8_b)
ASSAY_PEAK_LOOP(run_dot_s8, "avx512f,avx512vnni", ASSAY_ZERO_ZMM, ASSAY_DOT_S8, _mm512_set1_epi32, s8_a, s8_b)

#define ASSAY_ZERO_XMM(i) "xorps %%xmm" #i ", %%xmm" #i "\n\t"
#define ASSAY_MUL_OR_ADD(m, a) "mulps %1, %%xmm" #m "\n\taddps %2, %%xmm" #a "\n\t"

/// Without FMA a multiplication and an addition are two instructions: six accumulators of each kind.
void run_sse(std::int64_t rounds) {
  const __m128 a = _mm_castsi128_ps(_mm_set1_epi32(f32_a));
  const __m128 b = _mm_castsi128_ps(_mm_set1_epi32(f32_b));
  asm volatile(ASSAY_TWELVE_TIMES(ASSAY_ZERO_XMM)                                             //
               "1:\n\t" ASSAY_MUL_OR_ADD(0, 1) ASSAY_MUL_OR_ADD(2, 3) ASSAY_MUL_OR_ADD(4, 5)  //
               ASSAY_MUL_OR_ADD(6, 7) ASSAY_MUL_OR_ADD(8, 9) ASSAY_MUL_OR_ADD(10, 11)         //
               "dec %0\n\t"
               "jnz 1b\n\t"
               : "+r"(rounds)
               : "x"(a), "x"(b)
               : ASSAY_CLOBBERS);
}

constexpr int tile_instructions = 16;
constexpr double tile_bf16_operations = fma * 16.0 * 16.0 * 32.0;
constexpr double tile_s8_operations = fma * 16.0 * 16.0 * 64.0;

constexpr PeakLoop loops[] = {
    {DType::f32, "mulps, addps xmm", "sse2", nullptr, accumulators * 4, run_sse},
    {DType::f32, "vfmadd231ps ymm", "avx2", &InstructionSets::avx2, accumulators* fma * 8, run_fma_ymm},
    {DType::f32, "vfmadd231ps zmm", "avx512", &InstructionSets::avx512, accumulators* fma * 16, run_fma_zmm},
    {DType::f16, "vfmadd231ph zmm", "avx512_fp16", &InstructionSets::avx512_fp16, accumulators* fma * 32, run_fma_ph},
    {DType::bf16, "vdpbf16ps zmm", "avx512_bf16", &InstructionSets::avx512_bf16, accumulators* fma * 32, run_dot_bf16},
    {DType::bf16, "tdpbf16ps", "amx_bf16", &InstructionSets::amx_bf16, tile_instructions* tile_bf16_operations,
     run_tdpbf16ps},
    {DType::s8, "vpmaddubsw ymm", "avx2", &InstructionSets::avx2, accumulators* fma * 32, run_pairs_s8},
    {DType::s8, "vpdpbusd ymm", "avx_vnni", &InstructionSets::avx_vnni, accumulators* fma * 32, run_dot_s8_ymm},
    {DType::s8, "vpdpbusd zmm", "avx512_vnni", &InstructionSets::avx512_vnni, accumulators* fma * 64, run_dot_s8},
    {DType::s8, "tdpbusd", "amx_int8", &InstructionSets::amx_int8, tile_instructions* tile_s8_operations, run_tdpbusd},
};

}  // namespace

std::span<const PeakLoop> peak_loops() {
  return loops;
}

}  // namespace assay
