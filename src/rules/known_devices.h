#pragma once

#include <span>
#include <string_view>

#include "rules/precision_name.h"

namespace assay {

/// What is public of a GPU. Rates are dense peaks in 10^12 operations a second (multiply and add are two); where a name
/// covers several boards, the fastest one's, so that nothing possible is called impossible.
struct KnownDevice {
  const char* name;
  const char* spellings;  ///< Others, separated by '|', in lower case.
  double capability;      ///< CUDA compute capability, 7.5.
  double limit_w;
  double idle_w;   ///< Asleep, without a CUDA context: the least that is reported.
  double awake_w;  ///< Idle, with a CUDA context and memory clocks up: the most that is usual.
  double bandwidth_gb_s;
  double cache_mb;  ///< Last level.
  double fp32;      ///< Vector units: strict f32.
  double tf32;      ///< 0: no such instruction; likewise below.
  double fp16;
  double bf16;
  double int8;
  double fp8;
  const char* source;
};

std::span<const KnownDevice> known_devices();
/// The device of exactly that name or spelling, whatever its case and blanks, with or without its maker, form and
/// memory
/// ("NVIDIA A100-SXM4-80GB"); or null.
const KnownDevice* find_known_device(std::string_view name);
/// The one known device that `text` names as a whole word; null for none, or for several. "RTX 3060 Ti" is never an RTX
/// 3060.
const KnownDevice* known_device_named_in(std::string_view text);

/// Memory of the largest board of that name in 10^9 bytes, as its maker sells it; 0 where it is not known.
double memory_gb(const KnownDevice& device);

/// How a device computes in a precision.
enum class Support : std::uint8_t {
  native,
  slow,     ///< An instruction far below fp32's rate (fp16 on compute capability 6.1).
  emulated  ///< No instruction: computed in another dtype.
};
Support support(const KnownDevice& device, PrecisionName precision);
/// Peak of that precision's products in 10^12 operations a second; of a slow or emulated one, the fastest of what may
/// stand in: libraries compute in f32 what f16 would only slow down.
double peak_tops(const KnownDevice& device, PrecisionName precision);

}  // namespace assay
