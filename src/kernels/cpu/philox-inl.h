// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_PHILOX_INL_H_
#undef ASSAY_KERNELS_CPU_PHILOX_INL_H_
#else
#define ASSAY_KERNELS_CPU_PHILOX_INL_H_
#endif

#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Which random numbers: random_bits' seed and stream.
struct RandomStream {
  std::uint32_t seed[2];
  std::uint64_t stream;
};

HWY_INLINE RandomStream random_stream(const std::int32_t* seed, std::int64_t stream) {
  return {{static_cast<std::uint32_t>(seed[0]), static_cast<std::uint32_t>(seed[1])},
          static_cast<std::uint64_t>(stream)};
}

/// random_bits of neighbouring elements; a vector from any of them on may be loaded.
struct RandomBits {
  alignas(64) std::uint32_t bits[static_cast<std::size_t>(chunk_elements) + 8 * HWY_MAX_BYTES / sizeof(std::uint32_t)];

  HWY_INLINE W32 at(std::int64_t i) const { return hn::LoadU(u32_lanes, bits + i); }
};

/// The halves of a product of 32 bits each.
struct WideProduct {
  W32 high;
  W32 low;
};

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE WideProduct multiply_wide(W32 a, W32 b) {
  const std::uint64_t wide = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  return {hn::Set(u32_lanes, static_cast<std::uint32_t>(wide >> 32)),
          hn::Set(u32_lanes, static_cast<std::uint32_t>(wide))};
}
#else
HWY_INLINE WideProduct multiply_wide(W32 a, W32 b) {
  const W32 even = hn::BitCast(u32_lanes, hn::MulEven(a, b));
  const W32 odd = hn::BitCast(u32_lanes, hn::MulEven(hn::Shuffle2301(a), b));
  return {hn::OddEven(odd, hn::Shuffle2301(even)), hn::OddEven(hn::Shuffle2301(odd), even)};
}
#endif

/// Four words for each of lane_count() counters from `counter` on, in the order of random_bits: Philox 4x32-10, as
/// base/random.cc has it.
HWY_INLINE void draw_vectors(const RandomStream& random, std::uint64_t counter, std::uint32_t* bits) {
  const W32 first = hn::Set(u32_lanes, static_cast<std::uint32_t>(counter));
  W32 c0 = hn::Add(first, hn::Iota(u32_lanes, 0));
  const W32 carry = hn::IfThenElseZero(hn::Lt(c0, first), hn::Set(u32_lanes, 1));
  W32 c1 = hn::Add(hn::Set(u32_lanes, static_cast<std::uint32_t>(counter >> 32)), carry);
  W32 c2 = hn::Set(u32_lanes, static_cast<std::uint32_t>(random.stream));
  W32 c3 = hn::Set(u32_lanes, static_cast<std::uint32_t>(random.stream >> 32));
  W32 key0 = hn::Set(u32_lanes, random.seed[0]);
  W32 key1 = hn::Set(u32_lanes, random.seed[1]);
  for (int round = 0; round < 10; ++round) {
    const WideProduct a = multiply_wide(c0, hn::Set(u32_lanes, 0xD2511F53U));
    const WideProduct b = multiply_wide(c2, hn::Set(u32_lanes, 0xCD9E8D57U));
    c0 = hn::Xor(hn::Xor(b.high, c1), key0);
    c1 = b.low;
    c2 = hn::Xor(hn::Xor(a.high, c3), key1);
    c3 = a.low;
    key0 = hn::Add(key0, hn::Set(u32_lanes, 0x9E3779B9U));
    key1 = hn::Add(key1, hn::Set(u32_lanes, 0xBB67AE85U));
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, u32_lanes, bits);
}

/// The bits of elements `first` .. `first + count` - 1, count <= chunk_elements. Returns where the first one stands.
HWY_INLINE std::int64_t draw(const RandomStream& random, std::int64_t first, std::int64_t count, RandomBits& out) {
  const std::int64_t skipped = first % 4;
  const auto counter = static_cast<std::uint64_t>(first / 4);
  for (std::int64_t i = 0; i < skipped + count; i += 4 * lane_count())
    draw_vectors(random, counter + static_cast<std::uint64_t>(i / 4), out.bits + i);
  return skipped;
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_PHILOX_INL_H_
