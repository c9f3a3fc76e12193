#include "rules/known_devices.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "rules/spellings.h"

namespace assay {
namespace {

constexpr const char* pascal = "NVIDIA Tesla P100 and P40 datasheets, Pascal whitepaper; CUDA C++ Programming Guide";
constexpr const char* volta = "NVIDIA V100 datasheet";
constexpr const char* turing = "NVIDIA Turing whitepaper (2018), T4 datasheet";
constexpr const char* ga102 =
    "NVIDIA GA102 whitepaper (2021); on GeForce fp16 with f16 accumulation, twice bf16's rate";
constexpr const char* ampere = "NVIDIA A100, A10, A6000 datasheets";
constexpr const char* ada = "NVIDIA Ada whitepaper (2023; GeForce as GA102), L4, L40 and L40S datasheets";
constexpr const char* hopper = "NVIDIA H100 and H200 datasheets, half of what they give with sparsity";
constexpr const char* jetson = "NVIDIA Jetson modules' data sheets, dense rates, power of the module's largest mode";
constexpr const char* blackwell = "NVIDIA HGX B200, RTX 5090 and RTX PRO 6000 datasheets, dense rates";

// Idle powers: the boards' nvidia-smi readings as commonly reported; the second with a CUDA context open. A Ti's and a
// Super's are those of the board without. "RTX 3080" is also sold with 12 GB, H100 as NVL, V100 as SXM3.
constexpr KnownDevice devices[] = {
    // name, spellings, capability, W: limit, idle, awake; GB/s, cache MB; Tops: fp32 tf32 fp16 bf16 int8 fp8
    {"K80", "", 3.7, 300, 25, 62, 480, 1.5, 8.7, 0, 0, 0, 0, 0, "NVIDIA Tesla K80 datasheet"},
    {"GTX 1080 Ti", "", 6.1, 250, 8, 58, 484, 2.75, 11.3, 0, 0.18, 0, 45, 0, pascal},
    {"P40", "", 6.1, 250, 9, 52, 347, 3, 12, 0, 0.19, 0, 47, 0, pascal},
    {"P4", "", 6.1, 75, 6, 24, 192, 2, 5.5, 0, 0.09, 0, 22, 0, pascal},
    {"P100", "", 6.0, 300, 25, 36, 732, 4, 10.6, 0, 21.2, 0, 0, 0, pascal},
    {"GTX 1060", "", 6.1, 120, 6, 30, 192, 1.5, 4.4, 0, 0.07, 0, 17, 0, pascal},
    {"GTX 1070", "", 6.1, 150, 7, 35, 256, 2, 6.5, 0, 0.1, 0, 26, 0, pascal},
    {"GTX 1080", "", 6.1, 180, 7, 40, 320, 2, 8.9, 0, 0.14, 0, 35.5, 0, pascal},
    {"V100", "", 7.0, 350, 22, 45, 900, 6, 15.7, 0, 125, 0, 62.8, 0, volta},
    {"Titan V", "", 7.0, 250, 22, 40, 653, 4.5, 14.9, 0, 110, 0, 59, 0, volta},
    {"T4", "", 7.5, 70, 8, 30, 320, 4, 8.1, 0, 65, 0, 130, 0, turing},
    {"RTX 2060", "", 7.5, 160, 8, 40, 336, 3, 6.5, 0, 51.6, 0, 103, 0, turing},
    {"RTX 2060 Super", "", 7.5, 175, 8, 40, 448, 4, 7.2, 0, 57.4, 0, 115, 0, turing},
    {"RTX 2070", "rtx 2070 super", 7.5, 215, 8, 42, 448, 4, 9.1, 0, 72.5, 0, 145, 0, turing},
    {"RTX 2080", "rtx 2080 super", 7.5, 250, 8, 45, 496, 4, 11.2, 0, 89.2, 0, 178, 0, turing},
    {"RTX 2080 Ti", "2080 ti", 7.5, 260, 8, 58, 616, 5.5, 14.2, 0, 114, 0, 228, 0, turing},
    {"RTX 3050", "", 8.6, 130, 7, 30, 224, 2, 9.1, 9.1, 36.4, 18.2, 73, 0, ga102},
    {"RTX 3060", "", 8.6, 170, 9, 38, 360, 3, 12.7, 12.7, 51, 25.4, 102, 0, ga102},
    {"RTX 3060 Ti", "", 8.6, 200, 9, 38, 448, 4, 16.2, 16.2, 64.8, 32.4, 129.6, 0, ga102},
    {"RTX 3070", "", 8.6, 220, 9, 42, 448, 4, 20.3, 20.3, 81.3, 40.6, 163, 0, ga102},
    {"RTX 3070 Ti", "", 8.6, 290, 9, 42, 608, 4, 21.7, 21.7, 86.8, 43.4, 173.6, 0, ga102},
    {"RTX 3080", "", 8.6, 350, 12, 85, 912, 6, 30.6, 30.6, 122.4, 61.2, 244.8, 0, ga102},
    {"RTX 3080 Ti", "", 8.6, 350, 12, 85, 912, 6, 34.1, 34.1, 136.4, 68.2, 272.8, 0, ga102},
    {"RTX 3090", "", 8.6, 350, 14, 110, 936, 6, 35.6, 35.6, 142, 71, 284, 0, ga102},
    {"RTX 3090 Ti", "", 8.6, 450, 14, 110, 1008, 6, 40, 40, 160, 80, 320, 0, ga102},
    {"RTX 4060", "", 8.9, 115, 6, 30, 272, 24, 15.1, 15.1, 60.5, 30.2, 121, 121, ada},
    {"RTX 4060 Ti", "", 8.9, 165, 6, 30, 288, 32, 22.1, 22.1, 88.4, 44.2, 176.8, 176.8, ada},
    {"RTX 4070", "", 8.9, 200, 8, 38, 504, 36, 29.1, 29.1, 117, 58.3, 233, 233, ada},
    {"RTX 4070 Super", "", 8.9, 220, 8, 38, 504, 48, 35.5, 35.5, 142, 71, 284, 284, ada},
    {"RTX 4070 Ti", "", 8.9, 285, 8, 38, 504, 48, 40.1, 40.1, 160.4, 80.2, 320.8, 320.8, ada},
    {"RTX 4070 Ti Super", "", 8.9, 285, 8, 38, 672, 48, 44.1, 44.1, 176.4, 88.2, 352.8, 352.8, ada},
    {"RTX 4080", "", 8.9, 320, 10, 45, 716.8, 64, 48.7, 48.7, 195, 97.5, 390, 390, ada},
    {"RTX 4080 Super", "", 8.9, 320, 10, 45, 736, 64, 52.2, 52.2, 208.8, 104.4, 417.6, 417.6, ada},
    {"RTX 4090", "", 8.9, 450, 12, 65, 1008, 72, 82.6, 82.6, 330.3, 165.2, 660.6, 660.6, ada},
    {"RTX 5090", "", 12.0, 575, 15, 75, 1792, 96, 104.8, 104.8, 419, 209.5, 838, 838, blackwell},
    {"RTX 5080", "", 12.0, 360, 12, 60, 960, 64, 56.3, 56.3, 225, 112.6, 450, 450, blackwell},
    {"NVIDIA A2", "", 8.6, 60, 5, 20, 200, 2, 4.5, 9, 18, 18, 36, 0, ampere},
    {"A30", "", 8.0, 165, 25, 45, 933, 24, 10.3, 82, 165, 165, 330, 0, ampere},
    {"A10", "", 8.6, 150, 15, 58, 600, 6, 31.2, 62.5, 125, 125, 250, 0, ampere},
    {"A10G", "", 8.6, 300, 10, 58, 600, 6, 35, 35, 70, 70, 140, 0, ampere},
    {"RTX A4000", "a4000", 8.6, 140, 10, 40, 448, 4, 19.2, 38.3, 76.7, 76.7, 153.4, 0, ampere},
    {"RTX A5000", "a5000", 8.6, 230, 15, 65, 768, 6, 27.8, 55.6, 111.1, 111.1, 222.2, 0, ampere},
    {"A40", "", 8.6, 300, 20, 78, 696, 6, 37.4, 74.8, 149.7, 149.7, 299.3, 0, ampere},
    {"RTX A6000", "a6000", 8.6, 300, 15, 75, 768, 6, 38.7, 77.4, 154.8, 154.8, 309.7, 0, ampere},
    {"A100", "", 8.0, 400, 35, 75, 2039, 40, 19.5, 156, 312, 312, 624, 0, ampere},
    {"L4", "", 8.9, 72, 11, 30, 300, 48, 30.3, 60, 121, 121, 242, 242, ada},
    {"L40", "", 8.9, 300, 25, 80, 864, 96, 90.5, 90.5, 181, 181, 362, 362, ada},
    {"L40S", "", 8.9, 350, 25, 90, 864, 96, 91.6, 183, 362, 362, 733, 733, ada},
    {"RTX 6000 Ada", "", 8.9, 300, 15, 75, 960, 96, 91.1, 182, 364, 364, 728.5, 728.5, ada},
    {"H100", "", 9.0, 700, 45, 125, 3938, 50, 66.9, 494.7, 989.4, 989.4, 1979, 1979, hopper},
    {"H200", "", 9.0, 700, 70, 130, 4800, 50, 66.9, 494.7, 989.4, 989.4, 1979, 1979, hopper},
    {"B200", "", 10.0, 1000, 100, 200, 8000, 126, 75, 1125, 2250, 2250, 4500, 4500, blackwell},
    {"Jetson Orin Nano", "orin nano", 8.7, 25, 2, 8, 102.4, 4, 2.1, 8.5, 17, 17, 34, 0, jetson},
    {"Jetson Orin NX", "orin nx", 8.7, 40, 2, 12, 102.4, 4, 3.8, 12.5, 25, 25, 50, 0, jetson},
    {"Jetson AGX Orin", "agx orin", 8.7, 60, 4, 18, 204.8, 4, 5.3, 21, 42.5, 42.5, 138, 0, jetson},
    {"Jetson AGX Xavier", "agx xavier", 7.2, 50, 3, 15, 137, 4, 1.4, 0, 11, 0, 22, 0, jetson},
    {"Jetson Xavier NX", "xavier nx", 7.2, 20, 2, 8, 59.7, 4, 0.9, 0, 6.8, 0, 13.6, 0, jetson},
    {"Jetson TX2", "", 6.2, 20, 1, 6, 59.7, 0.5, 0.75, 0, 1.5, 0, 0, 0, jetson},
    {"RTX PRO 6000", "rtx 6000 pro", 12.0, 600, 12, 90, 1792, 128, 126, 252, 504, 504, 1008, 1008, blackwell},
};

/// Lower case, words one blank apart.
std::string folded_device_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool is_blank = lower == '-' || lower == '_' || lower == ' ' || lower == '\t';
    if (!is_blank) {
      out += lower;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

bool is_letter(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

/// Where `name` ends in `text` if it starts at `at`, its blanks there or not ("RTX3060Ti"); npos where it does not.
std::size_t end_of(std::string_view text, std::size_t at, std::string_view name) {
  for (const char c : name) {
    const bool is_there = at < text.size() && text[at] == c;
    if (!is_there && c != ' ') return std::string_view::npos;
    at += is_there ? 1 : 0;
  }
  return at;
}

/// Whether "Ti" or "Super" follows, which makes it another board.
bool is_suffixed(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == ' ') ++at;
  const std::string_view rest = text.substr(at);
  return (rest.starts_with("ti") && !is_letter(rest, 2)) || rest.starts_with("ti super") ||
         (rest.starts_with("super") && !is_letter(rest, 5));
}

bool holds_name(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && is_letter(text, at - 1)) continue;
    const std::size_t end = end_of(text, at, name);
    if (end != std::string_view::npos && !is_letter(text, end) && !is_suffixed(text, end)) return true;
  }
  return false;
}

/// Words beside a name that tell its maker, form or memory and no other rates: "NVIDIA A100-SXM4-80GB".
bool is_byword(std::string_view word) {
  constexpr std::string_view words[] = {"nvidia", "tesla",  "geforce",     "quadro",  "pcie", "nvl",   "sxm",
                                        "gpu",    "server", "workstation", "edition", "hbm3", "hbm3e", "blackwell"};
  if (std::find(std::begin(words), std::end(words), word) != std::end(words)) return true;
  const bool has_digits = std::isdigit(static_cast<unsigned char>(word.empty() ? 'x' : word.front())) != 0;
  return (word.starts_with("sxm") && word.size() == 4) || (has_digits && word.ends_with("gb"));
}

/// The words of a folded name without such, run together.
std::string core_of(std::string_view folded_name) {
  std::string core;
  while (!folded_name.empty()) {
    const auto end = std::min(folded_name.find(' '), folded_name.size());
    if (!is_byword(folded_name.substr(0, end))) core += folded_name.substr(0, end);
    folded_name.remove_prefix(std::min(end + 1, folded_name.size()));
  }
  return core;
}

struct BoardMemory {
  std::string_view device;
  double gib;
};
// Makers' product pages; the largest board of a name.
constexpr BoardMemory memories[] = {
    {"K80", 12},
    {"GTX 1080 Ti", 11},
    {"P40", 24},
    {"P4", 8},
    {"P100", 16},
    {"GTX 1060", 6},
    {"GTX 1070", 8},
    {"GTX 1080", 8},
    {"V100", 32},
    {"Titan V", 12},
    {"T4", 16},
    {"RTX 2060", 12},
    {"RTX 2060 Super", 8},
    {"RTX 2070", 8},
    {"RTX 2080", 8},
    {"RTX 2080 Ti", 11},
    {"RTX 3050", 8},
    {"RTX 3060", 12},
    {"RTX 3060 Ti", 8},
    {"RTX 3070", 8},
    {"RTX 3070 Ti", 8},
    {"RTX 3080", 12},
    {"RTX 3080 Ti", 12},
    {"RTX 3090", 24},
    {"RTX 3090 Ti", 24},
    {"RTX 4060", 8},
    {"RTX 4060 Ti", 16},
    {"RTX 4070", 12},
    {"RTX 4070 Super", 12},
    {"RTX 4070 Ti", 12},
    {"RTX 4070 Ti Super", 16},
    {"RTX 4080", 16},
    {"RTX 4080 Super", 16},
    {"RTX 4090", 24},
    {"RTX 5090", 32},
    {"RTX 5080", 16},
    {"NVIDIA A2", 16},
    {"A30", 24},
    {"RTX A4000", 16},
    {"RTX A5000", 24},
    {"A10", 24},
    {"A10G", 24},
    {"A40", 48},
    {"RTX A6000", 48},
    {"A100", 80},
    {"L4", 24},
    {"L40", 48},
    {"L40S", 48},
    {"RTX 6000 Ada", 48},
    {"Jetson Orin Nano", 8},
    {"Jetson Orin NX", 16},
    {"Jetson AGX Orin", 64},
    {"Jetson AGX Xavier", 64},
    {"Jetson Xavier NX", 16},
    {"Jetson TX2", 8},
    {"H100", 96},
    {"H200", 141},
    {"B200", 192},
    {"RTX PRO 6000", 96},
};

}  // namespace

double memory_gb(const KnownDevice& device) {
  const auto found = std::find_if(std::begin(memories), std::end(memories),
                                  [&](const BoardMemory& one) { return one.device == device.name; });
  return found == std::end(memories) ? 0 : found->gib * 1.073741824;
}

std::span<const KnownDevice> known_devices() {
  return devices;
}

const KnownDevice* known_device_named_in(std::string_view text) {
  const std::string words = folded_device_name(text);
  const KnownDevice* found = nullptr;
  for (const KnownDevice& device : devices) {
    if (!any_spelling(device,
                      [&](std::string_view spelling) { return holds_name(words, folded_device_name(spelling)); }))
      continue;
    if (found) return nullptr;
    found = &device;
  }
  return found;
}

const KnownDevice* find_known_device(std::string_view name) {
  const std::string wanted = core_of(folded_device_name(name));
  const auto is_wanted = [&](std::string_view spelling) { return core_of(folded_device_name(spelling)) == wanted; };
  const auto found = std::find_if(std::begin(devices), std::end(devices),
                                  [&](const KnownDevice& device) { return any_spelling(device, is_wanted); });
  return found == std::end(devices) ? nullptr : found;
}

Support support(const KnownDevice& device, PrecisionName precision) {
  const auto lacks = [&](double rate) { return rate == 0 ? Support::emulated : Support::native; };
  switch (precision) {
    case PrecisionName::tf32:
      return lacks(device.tf32);
    case PrecisionName::bf16:
    case PrecisionName::mixed_bf16:
      return lacks(device.bf16);
    case PrecisionName::fp8:
      return lacks(device.fp8);
    case PrecisionName::fp4:
      return device.capability >= 10 ? Support::native : Support::emulated;
    case PrecisionName::int8:
      return lacks(device.int8);
    case PrecisionName::fp16:
    case PrecisionName::mixed_fp16:
    case PrecisionName::mixed:
      if (device.fp16 == 0) return Support::emulated;
      return device.fp16 < 0.5 * device.fp32 ? Support::slow : Support::native;
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
      return std::max(device.fp16, device.fp32);
    case PrecisionName::bf16:
    case PrecisionName::mixed_bf16:
      return std::max(device.bf16 > 0 ? device.bf16 : device.fp16, device.fp32);
    case PrecisionName::int8:
      return std::max({device.int8, device.fp16, device.fp32});
    case PrecisionName::fp4:
      return std::max({2 * device.fp8, device.int8, device.fp16, device.fp32});
    case PrecisionName::fp8:
    case PrecisionName::int6:
    case PrecisionName::int5:
    case PrecisionName::int4:
    case PrecisionName::int3:
    case PrecisionName::int2:
    case PrecisionName::unknown:
      return std::max({device.fp8, device.int8, device.fp16, device.fp32});
  }
  return device.fp32;
}

}  // namespace assay
