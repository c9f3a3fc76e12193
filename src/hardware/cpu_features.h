#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hardware/facts.h"

namespace assay {

/// Registers of one CPUID leaf.
struct CpuidRegisters {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

/// The leaves that say what a processor can do, as the instruction gives them; zero where a leaf does not exist.
/// (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.)
struct CpuidLeaves {
  CpuidRegisters features;              ///< Leaf 1.
  CpuidRegisters extended;              ///< Leaf 7, subleaf 0.
  CpuidRegisters extended1;             ///< Leaf 7, subleaf 1.
  CpuidRegisters hypervisor;            ///< Leaf 0x40000000, where leaf 1 announces a hypervisor.
  std::array<CpuidRegisters, 3> brand;  ///< Leaves 0x80000002 to 0x80000004.
};

/// Whether the kernel lets this process use the AMX tile registers.
enum class AmxPermission : std::uint8_t { granted, refused };

CpuidLeaves read_cpuid_leaves();
/// XCR0: the register states that the operating system saves; 0 where XGETBV does not exist.
std::uint64_t read_xcr0(const CpuidLeaves& leaves);
/// arch_prctl(ARCH_REQ_XCOMP_PERM) for the tile data, once a process; every thread started later inherits it. Has to
/// come before the first tile instruction, which dies of SIGILL otherwise.
AmxPermission request_amx_permission();

/// What a kernel may use on such a processor. Pure: recorded leaves of other machines give their answer.
InstructionSets decode(const CpuidLeaves& leaves, std::uint64_t xcr0, AmxPermission amx);
/// The same for this machine; asks for the AMX permission where there are tiles.
InstructionSets detect_instruction_sets();

/// "Intel(R) Xeon(R) Platinum 8488C"; empty where the processor does not say.
std::string brand_string(const CpuidLeaves& leaves);
/// "KVM", "Hyper-V", "VMware", "Xen", "QEMU TCG", else the signature itself; empty: no hypervisor announced.
std::string hypervisor_name(const CpuidLeaves& leaves);

}  // namespace assay
