#include "hardware/machine.h"

#include <sys/utsname.h>

#include "base/error.h"
#include "hardware/cpu_features.h"
#include "hardware/isa_cap.h"
#include "hardware/memory.h"
#include "hardware/power_sources.h"
#include "hardware/system_files.h"
#include "hardware/topology.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string read_processor(const fs::path& root) {
  const std::string cpuinfo = read_text(root / "proc/cpuinfo").value_or("");
  const std::string name = find_field(cpuinfo, "model name").value_or("");
  return name.empty() ? brand_string(read_cpuid_leaves()) : name;
}

/// The hypervisor's own name, and whose machine it is where the firmware says so ("KVM (Amazon EC2)").
std::string read_hypervisor(const fs::path& root) {
  const std::string name = hypervisor_name(read_cpuid_leaves());
  const std::string vendor = read_text(root / "sys/class/dmi/id/sys_vendor").value_or("");
  return name.empty() || vendor.empty() ? name : name + " (" + vendor + ")";
}

/// os-release is a shell fragment: NAME="value".
std::string read_operating_system(const fs::path& root) {
  const std::string text = "\n" + read_text(root / "etc/os-release").value_or("");
  const std::string key = "\nPRETTY_NAME=";
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return "unknown";
  std::string value = trimmed(text.substr(begin + key.size(), text.find('\n', begin + 1) - begin - key.size()));
  std::erase(value, '"');
  return value;
}

std::string read_kernel(const fs::path& root) {
  if (const auto release = read_text(root / "proc/sys/kernel/osrelease")) return "Linux " + *release;
  utsname system{};
  return uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : "unknown";
}

}  // namespace

MachineFacts read_machine_facts(const FactsOptions& options) {
  if (options.threads < 0) fail_user("--threads {}: must be positive", options.threads);
  const std::vector<int> cpus = allowed_cpus(options.root);
  const MemorySizes memory = read_memory(options.root);

  MachineFacts facts;
  facts.processor = read_processor(options.root);
  facts.hypervisor = read_hypervisor(options.root);
  facts.operating_system = read_operating_system(options.root);
  facts.kernel = read_kernel(options.root);
  facts.cores = usable_cores(options.root);
  facts.threads = options.threads > 0 ? options.threads : facts.cores;
  facts.memory_bytes = memory.total_bytes;
  facts.available_bytes = memory.available_bytes;
  facts.caches = read_caches(options.root, cpus);
  facts.frequency_mhz = read_frequency_mhz(options.root, cpus.front());
  facts.cap = requested_isa_cap(options.max_isa);
  facts.isa = detect_instruction_sets();
  if (!facts.cap.empty()) facts.isa = facts.isa & find_isa_cap(facts.cap).allowed;
  facts.power_sources = find_power_sources(options.root);
  return facts;
}

}  // namespace assay
