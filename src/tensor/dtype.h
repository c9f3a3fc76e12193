#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// Element types. `tf32` exists as a matmul operand only: it is stored as f32 and multiplied with 10 mantissa bits.
enum class DType : std::uint8_t { f64, f32, tf32, f16, bf16, e4m3, e5m2, s32, s8, u8 };

/// Lower-case name as users type and read it: "bf16".
const char* name(DType dtype);
/// The dtype of that name (also "float32", "bfloat16", "int8", ... as the field spells them), if there is one.
std::optional<DType> parse_dtype(std::string_view text);
/// Bytes of one stored element. Kernels ask inside their loops.
constexpr std::size_t size_of(DType dtype) {
  constexpr std::uint8_t bytes[] = {8, 4, 4, 2, 2, 1, 1, 4, 1, 1};
  return bytes[static_cast<std::size_t>(dtype)];
}
/// f64, f32, tf32, f16, bf16, e4m3 or e5m2.
bool is_float(DType dtype);

/// The small floats are bit patterns of their own type; arithmetic happens in f32 after conversion.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};
/// OCP 8-bit float E4M3: 1.4.3, bias 7, no infinity, one NaN pattern (0x7f), largest finite 448.
struct e4m3 {
  std::uint8_t bits;
};
/// OCP 8-bit float E5M2: 1.5.2, bias 15, infinities and NaN as in IEEE 754, largest finite 57344.
struct e5m2 {
  std::uint8_t bits;
};

/// Conversions round to nearest, ties to even, subnormals included. NaN stays NaN (quiet), its payload's top bits kept.
/// Beyond the largest finite value: f16, bf16 and e5m2 round to infinity as IEEE 754 says; e4m3 gives NaN (it has no
/// infinity; OCP calls this the non-saturating mode).
f16 to_f16(float value);
bf16 to_bf16(float value);
e4m3 to_e4m3(float value);
e5m2 to_e5m2(float value);
float to_f32(f16 value);
float to_f32(bf16 value);
float to_f32(e4m3 value);
float to_f32(e5m2 value);

/// `value` rounded to the dtype and widened again; f32 and f64 pass through (f64 is cut to f32 by the argument), tf32
/// keeps 10 mantissa bits. Integers are not floats: asserts is_float.
float round_to(DType dtype, float value);

/// Converts `count` contiguous elements. Float to float in any pair; to s8/u8/s32: rounds to nearest even and
/// saturates (NaN gives 0); from integers: one rounding at most. Uses AVX2 and F16C where the machine has them.
/// `from` and `to` must not overlap.
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::size_t count);

}  // namespace assay
