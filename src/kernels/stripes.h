#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor/block_format.h"

/// Panels of blocks: a stripe is what 32 rows have of one column of blocks, and the stripes of a panel lie one behind
/// the other.
namespace assay {

/// Rows of a stripe.
constexpr std::int64_t stripe_rows = 32;
/// Inputs that a stripe holds together, whatever its groups are.
constexpr std::int64_t stretch_values = 32;

/// How scales lie at the head of a stripe, for 32 rows each:
///
///   f16, f32     | scale[32] |, one a block
///   f16_pair     | scale[32] | -minimum[32] |, one a block (Q4_1)
///   f32_minimum  | scale[32] | minimum[32] |, one of 32 inputs: what any format comes to (stretch_of_codes)
///   six_bits     | d f16[32] | m f16[32] | scale u8[groups][32] | minimum u8[groups][32] |: scale d, minimum m (Q4_K)
enum class StripeScales : std::uint8_t { f16, f32, f16_pair, f32_minimum, six_bits };

/// Of formats whose codes have 4 or 8 bits and a scale for 32 values or more, a stripe is re-laid in the order in which
/// loops read it:
///
///   | scales | zero u8[32], where blocks have one | padding to 64 bytes | codes of 32 inputs | of the next 32 | ..
///
/// Codes are unsigned: the block's plus `zero`. Those of 32 inputs are vectors of 64 bytes, 16 rows by 4 bytes, of rows
/// 0 to 15 and 16 to 31 in turn. Byte b of vector i holds, of 8 bits, input 4 i + b; of 4 bits input 8 i + b in its low
/// half and 8 i + 4 + b in its high one. So a dot product of four bytes finds its operands in place.
///
/// Other formats' stripes are their 32 blocks as they are.
struct StripeLayout {
  int bits = 0;
  StripeScales scales = StripeScales::f16;
  bool has_zero = false;  ///< Of each block; else all have this one:
  int zero = 0;

  /// Whether values are a scale times a code less a minimum.
  constexpr bool has_minimum() const { return scales != StripeScales::f16 && scales != StripeScales::f32; }
  /// Whether a sum of codes meets more than its scale.
  constexpr bool has_offset() const { return has_zero || has_minimum(); }

  std::int64_t scale_bytes(const BlockFormat& format) const;
  std::int64_t header_bytes(const BlockFormat& format) const;
  /// Of 32 inputs.
  constexpr std::int64_t code_bytes() const { return stripe_rows * stretch_values * bits / 8; }
};
std::optional<StripeLayout> stripe_layout(const BlockFormat& format);

std::int64_t stripe_bytes(const BlockFormat& format);
/// Writes the stripe of `rows` blocks that lie row_bytes apart; rows behind them are zeros.
void write_stripe(const BlockFormat& format, const std::byte* blocks, std::int64_t row_bytes, std::int64_t rows,
                  std::byte* stripe);
/// The block of one row of a stripe.
void decode_from_stripe(const BlockFormat& format, const std::byte* stripe, std::int64_t row, GroupedCodes& out);

}  // namespace assay
