#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "base/lower_case.h"
#include "tensor/small_float.h"

namespace assay {
namespace {

struct DTypeRow {
  DType dtype;
  const char* name;
  bool is_float;
  std::array<std::string_view, 6> aliases;  ///< PyTorch, NumPy, safetensors and ONNX spellings, in lower case.
};

constexpr DTypeRow rows[] = {
    {DType::f64, "f64", true, {"float64", "double", "fp64"}},
    {DType::f32, "f32", true, {"float32", "float", "fp32", "single"}},
    {DType::tf32, "tf32", true, {"tensorfloat32", "tfloat32"}},
    {DType::f16, "f16", true, {"float16", "half", "fp16"}},
    {DType::bf16, "bf16", true, {"bfloat16"}},
    {DType::e4m3, "e4m3", true, {"float8_e4m3fn", "float8_e4m3", "f8_e4m3", "fp8_e4m3", "e4m3fn"}},
    {DType::e5m2, "e5m2", true, {"float8_e5m2", "f8_e5m2", "fp8_e5m2"}},
    {DType::s32, "s32", false, {"int32", "i32", "int"}},
    {DType::s8, "s8", false, {"int8", "i8"}},
    {DType::u8, "u8", false, {"uint8", "byte"}},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    if (rows[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(in_enum_order(), "rows are found by their place");
static_assert(size_of(DType::f64) == 8 && size_of(DType::bf16) == 2 && size_of(rows[std::size(rows) - 1].dtype) == 1,
              "so are the sizes");

const DTypeRow& row_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  ASSAY_ASSERT(index < std::size(rows));
  return rows[index];
}

}  // namespace

const char* name(DType dtype) {
  return row_of(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::string wanted = lower_case(text);
  for (const DTypeRow& row : rows) {
    if (wanted == row.name || std::ranges::find(row.aliases, wanted) != row.aliases.end()) return row.dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) {
  return row_of(dtype).is_float;
}

f16 to_f16(float value) {
  return {static_cast<std::uint16_t>(encode(value, f16_format))};
}

bf16 to_bf16(float value) {
  return {static_cast<std::uint16_t>(encode(value, bf16_format))};
}

e4m3 to_e4m3(float value) {
  return {static_cast<std::uint8_t>(encode(value, e4m3_format))};
}

e5m2 to_e5m2(float value) {
  return {static_cast<std::uint8_t>(encode(value, e5m2_format))};
}

float to_f32(f16 value) {
  return decode(value.bits, f16_format);
}

float to_f32(bf16 value) {
  return decode(value.bits, bf16_format);
}

float to_f32(e4m3 value) {
  return decode(value.bits, e4m3_format);
}

float to_f32(e5m2 value) {
  return decode(value.bits, e5m2_format);
}

float round_to(DType dtype, float value) {
  ASSAY_ASSERT(is_float(dtype));
  switch (dtype) {
    case DType::tf32:
      return decode(encode(value, tf32_format), tf32_format);
    case DType::f16:
      return to_f32(to_f16(value));
    case DType::bf16:
      return to_f32(to_bf16(value));
    case DType::e4m3:
      return to_f32(to_e4m3(value));
    case DType::e5m2:
      return to_f32(to_e5m2(value));
    default:
      return value;
  }
}

}  // namespace assay
