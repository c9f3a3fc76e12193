#include "hardware/cpu_features.h"

#include <gtest/gtest.h>

#include "hardware/isa_cap.h"

namespace assay {
namespace {

// Leaves as recorded on the machines named.
const CpuidLeaves zen4_guest{.features = {0x00a10f11, 0x00020800, 0xfffa3203, 0x178bfbff},
                             .extended = {0x00000001, 0xf1bf07ab, 0x00405fc6, 0x00000010},
                             .extended1 = {0x00000020, 0, 0, 0},
                             .hypervisor = {0x40000001, 0x4b4d564b, 0x564b4d56, 0x0000004d},
                             .brand = {{{0x20444d41, 0x43595045, 0, 0}, {}, {}}}};
const CpuidLeaves sapphire_rapids{.features = {0x000806f8, 0x00800800, 0x7ffefbff, 0xbfebfbff},
                                  .extended = {0x00000002, 0xf3bfb7ef, 0xfb417ffe, 0xffdd4432},
                                  .extended1 = {0x00001c30, 0, 0, 0},
                                  .hypervisor = {},
                                  .brand = {}};
const CpuidLeaves haswell{.features = {0x000306c3, 0x00100800, 0x7ffafbff, 0xbfebfbff},
                          .extended = {0, 0x000027ab, 0, 0},
                          .extended1 = {},
                          .hypervisor = {},
                          .brand = {{{0x65746e49, 0x2952286c, 0x726f4320, 0x4d542865},
                                     {0x37692029, 0x3737342d, 0x50432030, 0x20402055},
                                     {0x30342e33, 0x007a4847, 0, 0}}}};
const CpuidLeaves phenom2{.features = {0x00100f42, 0x00040800, 0x00802009, 0x178bfbff},
                          .extended = {},
                          .extended1 = {},
                          .hypervisor = {},
                          .brand = {}};

constexpr std::uint64_t saves_ymm = 0x7;
constexpr std::uint64_t saves_zmm = 0xe7;
constexpr std::uint64_t saves_tiles = 0x602e7;

std::string sets_of(const CpuidLeaves& leaves, std::uint64_t xcr0, AmxPermission amx = AmxPermission::refused) {
  return to_string(decode(leaves, xcr0, amx));
}

TEST(CpuFeatures, Zen4HasVnniAndBf16ButNeitherFp16NorTiles) {
  EXPECT_EQ(sets_of(zen4_guest, saves_zmm), "avx2 avx512 avx512_vnni avx512_bf16");
  EXPECT_EQ(sets_of(zen4_guest, saves_zmm, AmxPermission::granted), "avx2 avx512 avx512_vnni avx512_bf16");
}

TEST(CpuFeatures, SapphireRapidsHasEverythingOnceTheKernelGrantsTheTiles) {
  EXPECT_EQ(sets_of(sapphire_rapids, saves_tiles, AmxPermission::granted),
            "avx2 avx_vnni avx512 avx512_vnni avx512_bf16 avx512_fp16 amx_tile amx_bf16 amx_int8");
}

TEST(CpuFeatures, CpuidAloneIsNoPermissionForTiles) {
  EXPECT_EQ(sets_of(sapphire_rapids, saves_tiles, AmxPermission::refused),
            "avx2 avx_vnni avx512 avx512_vnni avx512_bf16 avx512_fp16");
  EXPECT_EQ(sets_of(sapphire_rapids, saves_zmm, AmxPermission::granted),
            "avx2 avx_vnni avx512 avx512_vnni avx512_bf16 avx512_fp16");
}

TEST(CpuFeatures, AnOperatingSystemThatDoesNotSaveZmmLeavesAvx2) {
  EXPECT_EQ(sets_of(sapphire_rapids, saves_ymm, AmxPermission::granted), "avx2 avx_vnni");
  EXPECT_EQ(sets_of(zen4_guest, 0), "none");
}

TEST(CpuFeatures, HaswellHasAvx2) {
  EXPECT_EQ(sets_of(haswell, saves_ymm), "avx2");
}

TEST(CpuFeatures, AMachineWithoutAvxHasNone) {
  EXPECT_EQ(read_xcr0(phenom2), 0u);  // No OSXSAVE: XGETBV would be an invalid instruction.
  EXPECT_EQ(sets_of(phenom2, 0), "none");
}

TEST(CpuFeatures, Avx2WithoutFmaOrF16cDoesNotCount) {
  CpuidLeaves no_fma = haswell;
  no_fma.features.ecx &= ~(1u << 12);
  EXPECT_EQ(sets_of(no_fma, saves_ymm), "none");
  CpuidLeaves no_f16c = haswell;
  no_f16c.features.ecx &= ~(1u << 29);
  EXPECT_EQ(sets_of(no_f16c, saves_ymm), "none");
}

TEST(CpuFeatures, NamesComeFromTheBrandString) {
  EXPECT_EQ(brand_string(haswell), "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz");
  EXPECT_EQ(brand_string(zen4_guest), "AMD EPYC");
  EXPECT_EQ(brand_string(phenom2), "");
}

TEST(CpuFeatures, HypervisorIsNamedOnlyWhereItIsAnnounced) {
  EXPECT_EQ(hypervisor_name(zen4_guest), "KVM");
  EXPECT_EQ(hypervisor_name(haswell), "");
  CpuidLeaves hyper_v = zen4_guest;
  hyper_v.hypervisor = {0x40000005, 0x7263694d, 0x666f736f, 0x76482074};
  EXPECT_EQ(hypervisor_name(hyper_v), "Hyper-V");
}

TEST(CpuFeatures, ThisMachineAgreesWithTheCompilersOwnDetection) {
  const InstructionSets isa = detect_instruction_sets();
  __builtin_cpu_init();
  EXPECT_EQ(isa.avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(isa.avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"));
  EXPECT_EQ(isa.avx512_vnni, __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(isa.avx512_bf16, __builtin_cpu_supports("avx512bf16") != 0);
}

}  // namespace
}  // namespace assay
