#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// The environment variable that caps the instruction set where no option does.
constexpr const char* isa_cap_variable = "ASSAY_MAX_ISA";

/// A name that a person may give to `--max-isa` or ASSAY_MAX_ISA, and what it leaves.
///
/// The ladder, each rung with all below it: baseline, avx2, avx512, vnni, bf16, fp16, amx. Beside it, everything but
/// one kind of operand: no-vnni (no s8 dot products in vector registers), no-bf16 and no-int8 (tiles included),
/// no-fp16, no-amx.
struct IsaCap {
  const char* name;
  InstructionSets allowed;
  const char* meaning;
};

/// All caps, the ladder first, from low to high.
std::span<const IsaCap> isa_caps();
/// The cap of that name; throws a user error that lists the names.
const IsaCap& find_isa_cap(std::string_view name);
/// What both sides have.
InstructionSets operator&(const InstructionSets& a, const InstructionSets& b);
/// The names of what is there.
std::vector<std::string> isa_names(const InstructionSets& isa);
/// The same in one line: "avx2 avx512 avx512_vnni"; "none" if nothing is.
std::string to_string(const InstructionSets& isa);
/// The cap that is asked for: `option` if it is not empty, else ASSAY_MAX_ISA, else empty. "amx" counts as no cap.
/// Throws a user error for an unknown name.
std::string requested_isa_cap(const std::string& option);

}  // namespace assay
