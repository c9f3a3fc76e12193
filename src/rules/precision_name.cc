#include "rules/precision_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace assay {
namespace {

struct Spelling {
  std::string_view text;
  PrecisionName precision;
};

// Longer spellings of one start come first.
constexpr Spelling spellings[] = {
    {"bfloat16", PrecisionName::bf16},
    {"bf16", PrecisionName::bf16},
    {"brainfloat16", PrecisionName::bf16},
    {"tf32", PrecisionName::tf32},
    {"tfloat32", PrecisionName::tf32},
    {"tensorfloat32", PrecisionName::tf32},
    {"float32", PrecisionName::fp32},
    {"fp32", PrecisionName::fp32},
    {"f32", PrecisionName::fp32},
    {"singleprecision", PrecisionName::fp32},
    {"fullprecision", PrecisionName::fp32},
    {"float16", PrecisionName::fp16},
    {"fp16", PrecisionName::fp16},
    {"f16", PrecisionName::fp16},
    {"half", PrecisionName::fp16},
    {"halfprecision", PrecisionName::fp16},
    {"int8", PrecisionName::int8},
    {"w8a8", PrecisionName::int8},
    {"q80", PrecisionName::int8},
    {"8bit", PrecisionName::int8},
    {"float8", PrecisionName::fp8},
    {"fp8", PrecisionName::fp8},
    {"e4m3", PrecisionName::fp8},
    {"q0f32", PrecisionName::fp32},
    {"q0f16", PrecisionName::fp16},
    {"q4f16", PrecisionName::int4},
    {"q4f32", PrecisionName::int4},
    {"q3f16", PrecisionName::int3},
    {"q8f16", PrecisionName::int8},
    {"int4", PrecisionName::int4},
    {"4bit", PrecisionName::int4},
    {"nf4", PrecisionName::int4},
    {"w4a16", PrecisionName::int4},
    {"w4a8", PrecisionName::int4},
    {"w8a16", PrecisionName::int8},
    {"i8", PrecisionName::int8},
    {"q4", PrecisionName::int4},
    {"q8", PrecisionName::int8},
    {"w16a16", PrecisionName::fp16},
    {"fp4", PrecisionName::fp4},
    {"nvfp4", PrecisionName::fp4},
    {"mxfp4", PrecisionName::fp4},
    {"float4", PrecisionName::fp4},
    {"fp4e2m1", PrecisionName::fp4},
    {"mxfp8", PrecisionName::fp8},
    {"e5m2", PrecisionName::fp8},
    {"qint8", PrecisionName::int8},
    {"uint8", PrecisionName::int8},
    {"8bits", PrecisionName::int8},
    {"w8", PrecisionName::int8},
    {"w8a8int8", PrecisionName::int8},
    {"q6", PrecisionName::int6},
    {"int6", PrecisionName::int6},
    {"6bit", PrecisionName::int6},
    {"q5", PrecisionName::int5},
    {"int5", PrecisionName::int5},
    {"5bit", PrecisionName::int5},
    {"uint4", PrecisionName::int4},
    {"4bits", PrecisionName::int4},
    {"w4", PrecisionName::int4},
    {"w4a4", PrecisionName::int4},
    {"iq4", PrecisionName::int4},
    {"q3", PrecisionName::int3},
    {"iq3", PrecisionName::int3},
    {"int3", PrecisionName::int3},
    {"3bit", PrecisionName::int3},
    {"3bits", PrecisionName::int3},
    {"w3a16", PrecisionName::int3},
    {"q2", PrecisionName::int2},
    {"iq2", PrecisionName::int2},
    {"int2", PrecisionName::int2},
    {"2bit", PrecisionName::int2},
    {"2bits", PrecisionName::int2},
    {"w2a16", PrecisionName::int2},
};

/// Lower-case words; "FP-16", "fp 16" and "int_8" become one.
std::vector<std::string> precision_words_of(std::string_view text) {
  std::vector<std::string> words = {""};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

PrecisionName spelled(std::string_view word) {
  for (const Spelling& one : spellings) {
    if (word == one.text) return one.precision;
  }
  return PrecisionName::unknown;
}

bool is_mixed_word(const std::string& word) {
  return word == "mixed" || word == "amp" || word == "autocast" || word == "mixedprecision";
}

/// "FP-16" is one name over two words.
PrecisionName spelled_at(const std::vector<std::string>& words, std::size_t at) {
  const PrecisionName alone = spelled(words[at]);
  if (alone != PrecisionName::unknown || at + 1 >= words.size()) return alone;
  return spelled(words[at] + words[at + 1]);
}

PrecisionName mixed_of(PrecisionName narrow) {
  if (narrow == PrecisionName::fp16) return PrecisionName::mixed_fp16;
  return narrow == PrecisionName::bf16 ? PrecisionName::mixed_bf16 : PrecisionName::mixed;
}

bool says_stand_in(const std::string& word) {
  return word == "as" || word == "proxy" || word == "simulated" || word == "simulating" || word == "approximating";
}

}  // namespace

const char* name(PrecisionName precision) {
  constexpr std::array names = {"an unnamed precision",
                                "fp32",
                                "tf32",
                                "fp16",
                                "bf16",
                                "mixed",
                                "mixed-fp16",
                                "mixed-bf16",
                                "int8",
                                "fp8",
                                "int4",
                                "fp4",
                                "int6",
                                "int5",
                                "int3",
                                "int2"};
  return names[static_cast<std::size_t>(precision)];
}

int stored_bits(PrecisionName precision) {
  constexpr std::array bits = {0, 32, 32, 16, 16, 32, 32, 32, 8, 8, 4, 4, 6, 5, 3, 2};
  return bits[static_cast<std::size_t>(precision)];
}

int operand_bits(PrecisionName precision) {
  return is_mixed(precision) ? 16 : stored_bits(precision);
}

bool is_mixed(PrecisionName precision) {
  return precision == PrecisionName::mixed || precision == PrecisionName::mixed_fp16 ||
         precision == PrecisionName::mixed_bf16;
}

PrecisionWords read_precision(std::string_view text) {
  constexpr std::size_t longest = 200;
  const std::vector<std::string> words = precision_words_of(text.substr(0, longest));
  PrecisionWords out;
  bool mixed = false;
  bool stand_in = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out.is_on_cpu = out.is_on_cpu || words[i] == "cpu";
    mixed = mixed || is_mixed_word(words[i]);
    stand_in = stand_in || (says_stand_in(words[i]) && out.precision != PrecisionName::unknown);
    const PrecisionName here = spelled_at(words, i);
    if (here == PrecisionName::unknown) continue;
    if (out.precision == PrecisionName::unknown) {
      out.precision = here;
    } else if (stand_in && here != out.precision && out.stands_in == PrecisionName::unknown) {
      out.stands_in = here;
    }
  }
  if (mixed) out.precision = mixed_of(out.precision);
  return out;
}

}  // namespace assay
