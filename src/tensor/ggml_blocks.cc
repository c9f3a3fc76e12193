#include "tensor/ggml_blocks.h"

#include <bit>
#include <cstring>

#include "tensor/f16_scale.h"

namespace assay {
namespace {

using CodePointer = std::int8_t*;
using Bytes = const std::uint8_t*;

// Loops are told that codes do not lie on the block, which a compiler cannot know: kernels decode in their loops.

/// Of a K type.
constexpr std::size_t super_elements = 256;

Bytes bytes_at(const std::byte* block, std::size_t offset) {
  return reinterpret_cast<Bytes>(block) + offset;
}

/// Low halves of `count` bytes to codes[0..count), high halves to those behind.
void split_halves(Bytes halves, std::size_t count, CodePointer codes) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::int8_t>(halves[i] & 0x0F);
    codes[i + count] = static_cast<std::int8_t>(halves[i] >> 4);
  }
}

/// Four stretches of 32 from each 32 bytes, as a "quarter" lies.
void split_quarters(Bytes quarters, std::size_t count, CodePointer codes) {
  for (std::size_t at = 0; at < count; at += 32) {
    for (std::size_t part = 0; part < 4; ++part) {
#pragma omp simd
      for (std::size_t i = 0; i < 32; ++i)
        codes[4 * at + 32 * part + i] = static_cast<std::int8_t>((quarters[at + i] >> (2 * part)) & 3);
    }
  }
}

void subtract(int zero, std::size_t count, CodePointer codes) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::int8_t>(codes[i] - zero);
}

void replace_by(const std::array<std::int8_t, 16>& table, std::size_t count, CodePointer codes) {
  for (std::size_t i = 0; i < count; ++i) codes[i] = table[static_cast<std::size_t>(codes[i])];
}

void add_fifth_bits(Bytes bits, CodePointer codes) {
  for (std::size_t byte = 0; byte < 4; ++byte) {
    // Each bit of the byte to a byte of its own, as 0 or 16.
    const std::uint64_t apart = (bits[byte] * 0x0101010101010101ULL) & 0x8040201008040201ULL;
    const std::uint64_t spread = (apart + 0x7F7F7F7F7F7F7F7FULL) & 0x8080808080808080ULL;
    std::uint64_t eight;
    std::memcpy(&eight, codes + 8 * byte, sizeof(eight));
    eight |= spread >> 3;
    std::memcpy(codes + 8 * byte, &eight, sizeof(eight));
  }
}

void one_scale(float scale, float minimum, GroupedCodes& out) {
  out.scales[0] = scale;
  out.minima[0] = minimum;
}

/// Non-linear four bits: dense where weights of a normal distribution are.
constexpr std::array<std::int8_t, 16> iq4_codes = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};
/// e2m1 times 2, so that they are whole: the sign, two bits of exponent, one of mantissa.
constexpr std::array<std::int8_t, 16> e2m1_codes = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(exponent - 128): half of what e8m0 says, since codes are doubled. The two smallest are subnormal.
float half_e8m0(std::uint8_t exponent) {
  const std::uint32_t bits = exponent < 2 ? 0x0020'0000U << exponent : (exponent - 1U) << 23;
  return std::bit_cast<float>(bits);
}

/// Half of an e4m3 without sign, whose number for "no number" counts as 0.
float half_ue4m3(std::uint8_t bits) {
  if (bits == 0x7F) return 0;
  const int exponent = (bits >> 3) & 0x0F;
  const auto mantissa = static_cast<float>(bits & 7);
  const float value =
      exponent == 0 ? mantissa * 0x1p-9F : (1 + mantissa / 8) * std::bit_cast<float>((exponent - 7U + 127U) << 23);
  return value * 0.5F;
}

/// The 8 scales and 8 minima of six bits that Q4_K and Q5_K pack into 12 bytes: the low six bits of bytes 0 to 3 are
/// the first four scales, of 4 to 7 the first four minima; the others have four bits in bytes 8 to 11 and two on top of
/// the first.
void set_packed_groups(const std::byte* block, GroupedCodes& out) {
  const float d = f16_at(block, 0);
  const float minimum = f16_at(block, 2);
  const Bytes packed = bytes_at(block, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    out.scales[i] = d * static_cast<float>(packed[i] & 0x3F);
    out.minima[i] = minimum * static_cast<float>(packed[i + 4] & 0x3F);
    out.scales[i + 4] = d * static_cast<float>((packed[i + 8] & 0x0F) | ((packed[i] >> 2) & 0x30));
    out.minima[i + 4] = minimum * static_cast<float>((packed[i + 8] >> 4) | ((packed[i + 4] >> 2) & 0x30));
  }
}

/// Halves of the K types: each 32 bytes hold two groups of 32.
void split_super_halves(Bytes halves, CodePointer codes) {
  for (std::size_t at = 0; at < super_elements / 2; at += 32) split_halves(halves + at, 32, codes + 2 * at);
}

}  // namespace

void decode_q8_0(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), 0, out);
  std::memcpy(out.codes.data(), block + 2, 32);
}

void decode_q4_0(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), 0, out);
  split_halves(bytes_at(block, 2), 16, out.codes.data());
  subtract(8, 32, out.codes.data());
}

void decode_q4_1(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), -f16_at(block, 2), out);
  split_halves(bytes_at(block, 4), 16, out.codes.data());
}

void decode_q5_0(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), 0, out);
  split_halves(bytes_at(block, 6), 16, out.codes.data());
  add_fifth_bits(bytes_at(block, 2), out.codes.data());
  subtract(16, 32, out.codes.data());
}

void decode_q5_1(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), -f16_at(block, 2), out);
  split_halves(bytes_at(block, 8), 16, out.codes.data());
  add_fifth_bits(bytes_at(block, 4), out.codes.data());
}

void decode_iq4_nl(const std::byte* block, GroupedCodes& out) {
  one_scale(f16_at(block, 0), 0, out);
  split_halves(bytes_at(block, 2), 16, out.codes.data());
  replace_by(iq4_codes, 32, out.codes.data());
}

void decode_mxfp4(const std::byte* block, GroupedCodes& out) {
  one_scale(half_e8m0(*bytes_at(block, 0)), 0, out);
  split_halves(bytes_at(block, 1), 16, out.codes.data());
  replace_by(e2m1_codes, 32, out.codes.data());
}

void decode_nvfp4(const std::byte* block, GroupedCodes& out) {
  for (std::size_t group = 0; group < 4; ++group) {
    out.scales[group] = half_ue4m3(*bytes_at(block, group));
    out.minima[group] = 0;
    split_halves(bytes_at(block, 4 + 8 * group), 8, out.codes.data() + 16 * group);
  }
  replace_by(e2m1_codes, 64, out.codes.data());
}

void decode_q2_k(const std::byte* block, GroupedCodes& out) {
  const float d = f16_at(block, 80);
  const float minimum = f16_at(block, 82);
  const Bytes nibbles = bytes_at(block, 0);
  for (std::size_t group = 0; group < 16; ++group) {
    out.scales[group] = d * static_cast<float>(nibbles[group] & 0x0F);
    out.minima[group] = minimum * static_cast<float>(nibbles[group] >> 4);
  }
  split_quarters(bytes_at(block, 16), 64, out.codes.data());
}

void decode_q3_k(const std::byte* block, GroupedCodes& out) {
  const float d = f16_at(block, 108);
  const Bytes packed = bytes_at(block, 96);
  for (std::size_t group = 0; group < 16; ++group) {
    const int low = (packed[group % 8] >> (group < 8 ? 0 : 4)) & 0x0F;
    const int high = (packed[8 + group % 4] >> (2 * (group / 4))) & 3;
    out.scales[group] = d * static_cast<float>((low | (high << 4)) - 32);
    out.minima[group] = 0;
  }
  split_quarters(bytes_at(block, 32), 64, out.codes.data());
  const Bytes third_bits =
      bytes_at(block, 0);  // Bit j of byte i is of element 32 j + i; where it is 0, 4 is taken off.
  for (std::size_t part = 0; part < 8; ++part) {
    const CodePointer codes = out.codes.data() + 32 * part;
#pragma omp simd
    for (std::size_t i = 0; i < 32; ++i)
      codes[i] = static_cast<std::int8_t>(codes[i] - 4 + (((third_bits[i] >> part) & 1) << 2));
  }
}

void decode_q4_k(const std::byte* block, GroupedCodes& out) {
  set_packed_groups(block, out);
  split_super_halves(bytes_at(block, 16), out.codes.data());
}

void decode_q5_k(const std::byte* block, GroupedCodes& out) {
  set_packed_groups(block, out);
  split_super_halves(bytes_at(block, 48), out.codes.data());
  const Bytes fifth_bits = bytes_at(block, 16);  // Bit j of byte i is of element 32 j + i.
  for (std::size_t part = 0; part < 8; ++part) {
    const CodePointer codes = out.codes.data() + 32 * part;
#pragma omp simd
    for (std::size_t i = 0; i < 32; ++i)
      codes[i] = static_cast<std::int8_t>(codes[i] | (((fifth_bits[i] >> part) & 1) << 4));
  }
}

/// Halves here are 64 bytes for a stretch of 128: low ones are elements 0 to 63, high ones 64 to 127.
void decode_q6_k(const std::byte* block, GroupedCodes& out) {
  const float d = f16_at(block, 208);
  for (std::size_t group = 0; group < 16; ++group) {
    out.scales[group] = d * static_cast<float>(static_cast<std::int8_t>(*bytes_at(block, 192 + group)));
    out.minima[group] = 0;
  }
  for (std::size_t at = 0; at < super_elements; at += 128)
    split_halves(bytes_at(block, at / 2), 64, out.codes.data() + at);
  std::array<std::int8_t, super_elements> upper{};
  split_quarters(bytes_at(block, 128), 64, upper.data());
#pragma omp simd
  for (std::size_t i = 0; i < super_elements; ++i)
    out.codes[i] = static_cast<std::int8_t>((out.codes[i] | (upper[i] << 4)) - 32);
}

void decode_iq4_xs(const std::byte* block, GroupedCodes& out) {
  const float d = f16_at(block, 0);
  const Bytes upper = bytes_at(block, 2);
  const Bytes lower = bytes_at(block, 4);
  for (std::size_t group = 0; group < 8; ++group) {
    const int low = (lower[group / 2] >> (4 * (group % 2))) & 0x0F;
    const int high = (upper[group / 4] >> (2 * (group % 4))) & 3;
    out.scales[group] = d * static_cast<float>((low | (high << 4)) - 32);
    out.minima[group] = 0;
    split_halves(bytes_at(block, 8 + 16 * group), 16, out.codes.data() + 32 * group);
  }
  replace_by(iq4_codes, super_elements, out.codes.data());
}

}  // namespace assay
