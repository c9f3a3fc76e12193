#pragma once

#include <cstdint>
#include <span>

/// What the `tokenizers` library (0.23) takes each code point for, as tools/generate_unicode_tables.py read it off.
namespace assay::unicode {

/// The code points first, ..., last have canonical combining class `combining_class`.
struct CombiningRun {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t combining_class;
};

/// The code points first, first + step, ..., last become lower case by adding `distance`.
struct LowerRun {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
  std::int32_t distance;
};

/// From `code_point` on: general category | grapheme break << 5 | Class flags << 9, until the next run.
struct KindRun {
  std::uint32_t code_point;
  std::uint32_t kind;
};

/// `first` followed by `second` is `composite` in NFC.
struct Composition {
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t composite;
};

extern const std::span<const std::uint32_t> property_changes;  ///< Code point << 11 | flags, ascending.
extern const std::span<const std::uint32_t> decompositions;    ///< Length << 24 | code point, then so many code points.
extern const std::span<const std::uint32_t> compatible_decompositions;  ///< As above: those of NFKD that NFD lacks.
extern const std::span<const Composition> compositions;
extern const std::span<const KindRun> kind_runs;            ///< Ascending.
extern const std::span<const CombiningRun> combining_runs;  ///< Ascending; code points between runs have class 0.
extern const std::span<const LowerRun> lower_runs;          ///< Ascending by `first`; runs of step 2 may interleave.

}  // namespace assay::unicode
