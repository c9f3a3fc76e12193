#include "processes/launch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "processes/mpi_group.h"

namespace assay {
namespace {

constexpr const char* module_file = "assay_mpi.so";

constexpr const char* open_mpi_count = "OMPI_COMM_WORLD_SIZE";
/// Variables in which launchers say how many ranks there are: Open MPI, MPICH and Slurm's PMI-2, Intel MPI.
constexpr const char* counts[] = {open_mpi_count, "PMI_SIZE", "MPI_LOCALNRANKS"};
/// PMIx says a rank's number alone.
constexpr const char* pmix_rank = "PMIX_RANK";
/// Those in which they say a rank's number.
constexpr const char* rank_numbers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", pmix_rank};

bool has_joined = false;

[[noreturn]] void fail_without_mpi(const std::string& why) {
  fail_lacking("MPI: this process was started as one of several ranks, but {}", why);
}

/// Beside the program, where CMake found an MPI.
std::filesystem::path module_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / module_file;
}

bool is_module_there() {
  std::error_code ignored;
  return std::filesystem::exists(module_path(), ignored);
}

const AssayMpiCalls& open_module() {
  const std::filesystem::path file = module_path();
  if (!is_module_there())
    fail_without_mpi(
        fmt::format("{} is not there: this build has no MPI, nor have packages; install libopenmpi-dev and "
                    "openmpi-bin and build from source",
                    file.string()));
  // Plug-ins of Open MPI look for its symbols among those of the program.
  void* const module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) fail_without_mpi(::dlerror());
  using Entry = const AssayMpiCalls* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(module, "assay_mpi_calls"));
  if (entry == nullptr) fail_without_mpi(fmt::format("{} is of another build", file.string()));
  return *entry();
}

}  // namespace

bool is_launched() {
  return std::ranges::any_of(counts, [](const char* name) { return std::getenv(name) != nullptr; }) ||
         std::getenv(pmix_rank) != nullptr;
}

std::vector<std::string> launcher_variables() {
  std::vector<std::string> names(std::begin(counts), std::end(counts));
  names.emplace_back(pmix_rank);
  return names;
}

bool is_launched_as_rank() {
  const auto says_several = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && std::strtol(value, nullptr, 10) > 1;
  };
  if (std::ranges::any_of(counts, says_several)) return true;
  const bool knows_count = std::ranges::any_of(counts, [](const char* name) { return std::getenv(name) != nullptr; });
  return !knows_count && std::getenv(pmix_rank) != nullptr;
}

bool is_later_rank() {
  return is_launched_as_rank() && std::ranges::any_of(rank_numbers, [](const char* name) {
           const char* const value = std::getenv(name);
           return value != nullptr && std::strtol(value, nullptr, 10) > 0;
         });
}

bool has_joined_ranks() {
  return has_joined;
}

bool can_join_ranks() {
  const bool by_pmix = std::getenv(open_mpi_count) != nullptr || std::getenv(pmix_rank) != nullptr;
  return by_pmix && is_launched_as_rank() && is_module_there();
}

std::unique_ptr<Group> launched_group(double patience_s) {
  if (!is_launched_as_rank()) return std::make_unique<SingleProcess>();
  const AssayMpiCalls& calls = open_module();
  if (const char* why = calls.init()) fail_lacking("MPI: {}", why);
  has_joined = true;
  return mpi_group(calls, {.patience_s = patience_s});
}

}  // namespace assay
