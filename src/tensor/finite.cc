#include "tensor/finite.h"

#include <atomic>

#include "base/threads.h"

namespace assay {
namespace {

/// In every dtype but e4m3 a full exponent says infinity or NaN; in e4m3, which has no infinity, a pattern of ones says
/// NaN. A plain loop without an exit, so that it vectorises.
template <typename Bits>
bool none_has_all_of(const TensorView& view, Bits mask) {
  const Bits* bits = view.as<Bits>();
  std::atomic<bool> none = true;
  parallel_for(view.count(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    Bits found = 0;
    for (std::int64_t i = begin; i < end; ++i) found |= static_cast<Bits>((bits[i] & mask) == mask);
    if (found != 0) none = false;
  });
  return none;
}

}  // namespace

bool all_finite(const TensorView& view) {
  switch (view.dtype) {
    case DType::f64:
      return none_has_all_of<std::uint64_t>(view, 0x7ff0000000000000U);
    case DType::f32:
    case DType::tf32:
      return none_has_all_of<std::uint32_t>(view, 0x7f800000U);
    case DType::f16:
      return none_has_all_of<std::uint16_t>(view, 0x7c00U);
    case DType::bf16:
      return none_has_all_of<std::uint16_t>(view, 0x7f80U);
    case DType::e4m3:
      return none_has_all_of<std::uint8_t>(view, 0x7fU);
    case DType::e5m2:
      return none_has_all_of<std::uint8_t>(view, 0x7cU);
    case DType::s32:
    case DType::s8:
    case DType::u8:
      return true;
  }
  return true;
}

}  // namespace assay
