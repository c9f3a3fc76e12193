#include "results/known_devices.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace assay {
namespace {

constexpr const char* pascal = "NVIDIA Tesla P100 and P40 datasheets, Pascal whitepaper; CUDA C++ Programming Guide";
constexpr const char* volta = "NVIDIA V100 datasheet";
constexpr const char* turing = "NVIDIA Turing whitepaper (2018), T4 datasheet";
constexpr const char* ga102 = "NVIDIA GA102 whitepaper (2021), f16 accumulation, which doubles the rate on GeForce";
constexpr const char* ampere = "NVIDIA A100, A10, A6000 datasheets";
constexpr const char* ada = "NVIDIA Ada whitepaper (2023; f16 accumulation on GeForce), L4, L40 and L40S datasheets";
constexpr const char* hopper = "NVIDIA H100 and H200 datasheets, half of what they give with sparsity";
constexpr const char* blackwell = "NVIDIA HGX B200, RTX 5090 and RTX PRO 6000 datasheets, dense rates";

// Idle powers: the boards' nvidia-smi readings as commonly reported; the second with a CUDA context open.
constexpr KnownDevice devices[] = {
    // name, spellings, capability, W: limit, idle, awake; GB/s, cache MB; Tops: fp32 tf32 fp16 bf16 int8 fp8
    {"K80", "", 3.7, 300, 25, 62, 480, 1.5, 8.7, 0, 0, 0, 0, 0, "NVIDIA Tesla K80 datasheet"},
    {"GTX 1080 Ti", "gtx1080ti", 6.1, 250, 8, 58, 484, 2.75, 11.3, 0, 0.18, 0, 45, 0, pascal},
    {"P40", "", 6.1, 250, 9, 52, 347, 3, 12, 0, 0.19, 0, 47, 0, pascal},
    {"P4", "", 6.1, 75, 6, 24, 192, 2, 5.5, 0, 0.09, 0, 22, 0, pascal},
    {"P100", "", 6.0, 300, 25, 36, 732, 4, 10.6, 0, 21.2, 0, 0, 0, pascal},
    {"V100", "", 7.0, 300, 22, 45, 900, 6, 15.7, 0, 125, 0, 62.8, 0, volta},
    {"Titan V", "", 7.0, 250, 22, 40, 653, 4.5, 14.9, 0, 110, 0, 59, 0, volta},
    {"T4", "", 7.5, 70, 8, 30, 320, 4, 8.1, 0, 65, 0, 130, 0, turing},
    {"RTX 2060", "rtx2060", 7.5, 160, 8, 40, 336, 3, 6.5, 0, 51.6, 0, 103, 0, turing},
    {"RTX 2070", "rtx2070|rtx 2070 super", 7.5, 215, 8, 42, 448, 4, 9.1, 0, 72.5, 0, 145, 0, turing},
    {"RTX 2080", "rtx2080|rtx 2080 super", 7.5, 250, 8, 45, 496, 4, 11.2, 0, 89.2, 0, 178, 0, turing},
    {"RTX 2080 Ti", "rtx2080ti|rtx 2080ti|2080ti|2080 ti", 7.5, 260, 8, 58, 616, 5.5, 14.2, 0, 114, 0, 228, 0, turing},
    {"RTX 3060", "rtx3060", 8.6, 170, 9, 38, 360, 3, 12.7, 12.7, 51, 51, 102, 0, ga102},
    {"RTX 3070", "rtx3070", 8.6, 220, 9, 42, 448, 4, 20.3, 20.3, 81.3, 81.3, 163, 0, ga102},
    {"RTX 3080", "rtx3080", 8.6, 320, 12, 85, 760, 5, 29.8, 29.8, 119, 119, 238, 0, ga102},
    {"RTX 3090", "rtx3090", 8.6, 350, 14, 110, 936, 6, 35.6, 35.6, 142, 142, 284, 0, ga102},
    {"RTX 4060", "rtx4060", 8.9, 115, 6, 30, 272, 24, 15.1, 15.1, 60.5, 60.5, 121, 121, ada},
    {"RTX 4070", "rtx4070", 8.9, 200, 8, 38, 504, 36, 29.1, 29.1, 117, 117, 233, 233, ada},
    {"RTX 4080", "rtx4080", 8.9, 320, 10, 45, 736, 64, 48.7, 48.7, 195, 195, 390, 390, ada},
    {"RTX 4090", "rtx4090", 8.9, 450, 12, 65, 1008, 72, 82.6, 82.6, 330.3, 330.3, 660.6, 660.6, ada},
    {"RTX 5090", "rtx5090", 12.0, 575, 15, 75, 1792, 96, 104.8, 104.8, 419, 419, 838, 838, blackwell},
    {"A10", "", 8.6, 150, 15, 58, 600, 6, 31.2, 62.5, 125, 125, 250, 0, ampere},
    {"A10G", "", 8.6, 300, 10, 58, 600, 6, 35, 70, 140, 140, 280, 0, ampere},
    {"A40", "", 8.6, 300, 20, 78, 696, 6, 37.4, 74.8, 149.7, 149.7, 299.3, 0, ampere},
    {"RTX A6000", "a6000", 8.6, 300, 15, 75, 768, 6, 38.7, 77.4, 154.8, 154.8, 309.7, 0, ampere},
    {"A100", "", 8.0, 400, 35, 75, 2039, 40, 19.5, 156, 312, 312, 624, 0, ampere},
    {"L4", "", 8.9, 72, 11, 30, 300, 48, 30.3, 60, 121, 121, 242, 242, ada},
    {"L40", "", 8.9, 300, 25, 80, 864, 96, 90.5, 90.5, 181, 181, 362, 362, ada},
    {"L40S", "", 8.9, 350, 25, 90, 864, 96, 91.6, 183, 362, 362, 733, 733, ada},
    {"H100", "", 9.0, 700, 45, 125, 3350, 50, 66.9, 494.7, 989.4, 989.4, 1979, 1979, hopper},
    {"H200", "", 9.0, 700, 70, 130, 4800, 50, 66.9, 494.7, 989.4, 989.4, 1979, 1979, hopper},
    {"B200", "", 10.0, 1000, 100, 200, 8000, 126, 80, 1100, 2250, 2250, 4500, 4500, blackwell},
    {"RTX PRO 6000", "rtx pro 6000 blackwell|rtx6000 pro", 12.0, 600, 12, 90, 1792, 128, 126, 252, 504, 504, 1008, 1008,
     blackwell},
};

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out += lower == '-' || lower == '_' ? ' ' : lower;
  }
  return out;
}

bool holds_word(const std::string& text, std::string_view word) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  }
  return false;
}

/// Length of the longest spelling of the device that stands in `text` as a word; 0 for none.
std::size_t longest_in(const KnownDevice& device, const std::string& text) {
  const std::string name = folded(device.name);
  std::size_t longest = holds_word(text, name) ? name.size() : 0;
  std::string_view rest = device.spellings;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('|'), rest.size());
    if (holds_word(text, rest.substr(0, end))) longest = std::max(longest, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return longest;
}

}  // namespace

std::span<const KnownDevice> known_devices() {
  return devices;
}

const KnownDevice* known_device_named_in(std::string_view text) {
  const std::string words = folded(text);
  const KnownDevice* best = nullptr;
  std::size_t longest = 0;
  for (const KnownDevice& device : devices) {
    const std::size_t length = longest_in(device, words);
    if (length <= longest) continue;
    longest = length;
    best = &device;
  }
  for (const KnownDevice& device : devices) {
    if (&device == best || longest_in(device, words) == 0) continue;
    // "RTX 2080 Ti" holds "RTX 2080"; any other second name is another device.
    if (folded(best->name).find(folded(device.name)) == std::string::npos) return nullptr;
  }
  return best;
}

const KnownDevice* find_known_device(std::string_view name) {
  return known_device_named_in(name);
}

Support support(const KnownDevice& device, PrecisionName precision) {
  const double peak = peak_tops(device, precision);
  const auto lacks = [&](double rate) { return rate == 0 ? Support::emulated : Support::native; };
  switch (precision) {
    case PrecisionName::tf32:
      return lacks(device.tf32);
    case PrecisionName::bf16:
    case PrecisionName::mixed_bf16:
      return lacks(device.bf16);
    case PrecisionName::fp8:
      return lacks(device.fp8);
    case PrecisionName::int8:
      return lacks(device.int8);
    case PrecisionName::fp16:
    case PrecisionName::mixed_fp16:
    case PrecisionName::mixed:
      if (device.fp16 == 0) return Support::emulated;
      return peak < 0.5 * device.fp32 ? Support::slow : Support::native;
    default:
      return Support::native;
  }
}

double peak_tops(const KnownDevice& device, PrecisionName precision) {
  switch (precision) {
    case PrecisionName::fp32:
      return device.fp32;
    case PrecisionName::tf32:
      return std::max(device.tf32, device.fp32);
    case PrecisionName::fp16:
    case PrecisionName::mixed:
    case PrecisionName::mixed_fp16:
      return device.fp16;
    case PrecisionName::bf16:
    case PrecisionName::mixed_bf16:
      return std::max({device.bf16, device.fp16, device.fp32});
    case PrecisionName::int8:
      return std::max({device.int8, device.fp16, device.fp32});
    case PrecisionName::fp8:
    case PrecisionName::int4:
    case PrecisionName::unknown:
      return std::max({device.fp8, device.int8, device.fp16, device.fp32});
  }
  return device.fp32;
}

}  // namespace assay
