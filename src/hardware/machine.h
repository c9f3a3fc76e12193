#pragma once

#include <filesystem>
#include <string>

#include "hardware/facts.h"

namespace assay {

struct FactsOptions {
  std::string max_isa;               ///< Cap on the instruction set (isa_cap.h); empty: what ASSAY_MAX_ISA says.
  int threads = 0;                   ///< That kernels shall use; 0: one for every core that this process may run on.
  std::filesystem::path root = "/";  ///< Where proc, sys and etc are found; a recorded tree in tests.
};

/// What this machine is: instruction sets (the permission for AMX is asked for here, so call it before any kernel
/// runs), cores, caches, memory, frequency, hypervisor, power sources. Takes milliseconds; measures nothing: the
/// measured part stays empty. Throws a user error for an unknown cap or a negative number of threads.
MachineFacts read_machine_facts(const FactsOptions& options = {});

}  // namespace assay
