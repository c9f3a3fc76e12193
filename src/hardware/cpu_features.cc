#include "hardware/cpu_features.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "hardware/system_files.h"

namespace assay {
namespace {

constexpr long arch_req_xcomp_perm = 0x1023;  // asm/prctl.h has it from Linux 5.16 on; the number is the ABI.
constexpr unsigned long xfeature_tile_data = 18;

constexpr std::uint64_t xcr0_sse_avx = 0x6;                   // XMM and YMM.
constexpr std::uint64_t xcr0_avx512 = 0xe6;                   // The same, mask registers, ZMM.
constexpr std::uint64_t xcr0_tiles = std::uint64_t{3} << 17;  // TILECFG and TILEDATA.

constexpr bool bit(std::uint32_t word, int index) {
  return (word >> index) & 1;
}

CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  CpuidRegisters r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

void append_register(std::string& text, std::uint32_t word) {
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  text.append(bytes, sizeof word);
}

}  // namespace

CpuidLeaves read_cpuid_leaves() {
  CpuidLeaves leaves;
  const std::uint32_t highest = cpuid(0).eax;
  if (highest >= 1) leaves.features = cpuid(1);
  if (highest >= 7) leaves.extended = cpuid(7);
  if (highest >= 7 && leaves.extended.eax >= 1) leaves.extended1 = cpuid(7, 1);
  if (bit(leaves.features.ecx, 31)) leaves.hypervisor = cpuid(0x40000000);
  if (cpuid(0x80000000).eax >= 0x80000004) {
    for (std::uint32_t i = 0; i < leaves.brand.size(); ++i) leaves.brand[i] = cpuid(0x80000002 + i);
  }
  return leaves;
}

std::uint64_t read_xcr0(const CpuidLeaves& leaves) {
  if (!bit(leaves.features.ecx, 27)) return 0;  // OSXSAVE: without it XGETBV is an invalid instruction.
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

AmxPermission request_amx_permission() {
  static const AmxPermission answer = ::syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_tile_data) == 0
                                          ? AmxPermission::granted
                                          : AmxPermission::refused;
  return answer;
}

InstructionSets decode(const CpuidLeaves& leaves, std::uint64_t xcr0, AmxPermission amx) {
  const bool ymm = (xcr0 & xcr0_sse_avx) == xcr0_sse_avx;
  const bool zmm = (xcr0 & xcr0_avx512) == xcr0_avx512;
  const bool tiles = (xcr0 & xcr0_tiles) == xcr0_tiles && amx == AmxPermission::granted;
  const CpuidRegisters& one = leaves.features;
  const CpuidRegisters& seven = leaves.extended;

  InstructionSets isa;
  isa.avx2 = ymm && bit(seven.ebx, 5) && bit(one.ecx, 12) && bit(one.ecx, 29);  // AVX2, FMA, F16C
  isa.avx_vnni = isa.avx2 && bit(leaves.extended1.eax, 4);
  isa.avx512 = zmm && isa.avx2 && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) &&
               bit(seven.ebx, 31);  // F, DQ, BW, VL
  isa.avx512_vnni = isa.avx512 && bit(seven.ecx, 11);
  isa.avx512_bf16 = isa.avx512 && bit(leaves.extended1.eax, 5);
  isa.avx512_fp16 = isa.avx512 && bit(seven.edx, 23);
  isa.amx_tile = tiles && isa.avx512 && bit(seven.edx, 24);  // Every AMX kernel finishes in AVX-512 code.
  isa.amx_bf16 = isa.amx_tile && bit(seven.edx, 22);
  isa.amx_int8 = isa.amx_tile && bit(seven.edx, 25);
  return isa;
}

InstructionSets detect_instruction_sets() {
  const CpuidLeaves leaves = read_cpuid_leaves();
  const bool has_tiles = bit(leaves.extended.edx, 24);
  return decode(leaves, read_xcr0(leaves), has_tiles ? request_amx_permission() : AmxPermission::refused);
}

std::string brand_string(const CpuidLeaves& leaves) {
  std::string text;
  for (const CpuidRegisters& r : leaves.brand) {
    for (const std::uint32_t word : {r.eax, r.ebx, r.ecx, r.edx}) append_register(text, word);
  }
  return trimmed(text.c_str());  // The string ends at its first zero byte.
}

std::string hypervisor_name(const CpuidLeaves& leaves) {
  struct Known {
    const char* signature;
    const char* name;
  };
  constexpr Known known[] = {{"KVMKVMKVM", "KVM"},
                             {"Microsoft Hv", "Hyper-V"},
                             {"VMwareVMware", "VMware"},
                             {"XenVMMXenVMM", "Xen"},
                             {"TCGTCGTCGTCG", "QEMU TCG"}};
  if (!bit(leaves.features.ecx, 31)) return {};
  std::string signature;
  for (const std::uint32_t word : {leaves.hypervisor.ebx, leaves.hypervisor.ecx, leaves.hypervisor.edx}) {
    append_register(signature, word);
  }
  signature = signature.c_str();
  for (const Known& row : known) {
    if (signature == row.signature) return row.name;
  }
  return signature.empty() ? "unnamed" : signature;
}

}  // namespace assay
