#pragma once

/// Lets the rest of the file use those instruction sets: ASSAY_TARGET("avx512f,avx512bw"). Goes after every #include,
/// so that nothing from a header is compiled for them (its one copy in the program might be that one). GCC 12 also
/// takes the undefined operand inside its own intrinsics for a mistake (GCC bug 105593).
#define ASSAY_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define ASSAY_TARGET(list) ASSAY_PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define ASSAY_TARGET_END ASSAY_PRAGMA(clang attribute pop)
#else
#define ASSAY_TARGET(list)                               \
  ASSAY_PRAGMA(GCC target(list))                         \
  ASSAY_PRAGMA(GCC diagnostic ignored "-Wuninitialized") \
  ASSAY_PRAGMA(GCC diagnostic ignored "-Wmaybe-uninitialized")
#define ASSAY_TARGET_END
#endif
