#pragma once

/// The instruction sets for which Highway compiles vector code: AVX-512 (its AVX3), AVX2 and the baseline. Those
/// between them, and the variants of AVX-512 whose additions f32 code does not use, would cost build time and no
/// machine runs faster by them. Bits as Highway numbers its x86 targets: AVX3_SPR, AVX3_ZEN4, AVX3_DL, SSE4, SSSE3.
/// Comes before every include of Highway.
#define HWY_DISABLED_TARGETS ((1 << 4) | (1 << 6) | (1 << 7) | (1 << 11) | (1 << 12))
