#pragma once

// For tests only.

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>

#include "base/clock.h"
#include "hardware/recorded_tree.h"

namespace assay {

/// A powercap tree with one package whose counter runs while the object lives: at so many watts, and so many more for
/// each processor that this process keeps busy.
class RunningPackage {
 public:
  explicit RunningPackage(double watts, double watts_a_processor = 0) {
    tree_.write(zone + "name", "package-0\n");
    tree_.write(zone + "max_energy_range_uj", "1000000000000\n");
    tree_.write(zone + "constraint_0_power_limit_uw", "10000000\n");
    write_counter(0);
    std::filesystem::create_symlink(fmt::format("/proc/{}/fd/{}", ::getpid(), counter_file_),
                                    tree_.root() / (zone + "energy_uj"));
    counter_ = std::thread([this, watts, watts_a_processor] {
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), -20);  // Where it may: before what is metered.
      const double begin_s = now_s();
      while (!stop_) {
        const double busy_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        write_counter((watts * (now_s() - begin_s) + watts_a_processor * busy_s) * 1e6);
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    });
  }
  RunningPackage(const RunningPackage&) = delete;
  RunningPackage& operator=(const RunningPackage&) = delete;
  ~RunningPackage() {
    freeze();
    ::close(counter_file_);
  }
  /// From now on the counter stands still.
  void freeze() {
    stop_ = true;
    if (counter_.joinable()) counter_.join();
  }
  const RecordedTree& tree() const { return tree_; }
  const std::filesystem::path& root() const { return tree_.root(); }

 private:
  /// In memory and in place: any change of a file system may wait for the disk longer than a window is. All digits are
  /// always there, for a reader that comes in between.
  void write_counter(double uj) const {
    const std::string text = fmt::format("{:015.0f}\n", uj);
    if (::pwrite(counter_file_, text.data(), text.size(), 0) < 0) std::abort();
  }

  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  RecordedTree tree_;
  int counter_file_ = ::memfd_create("energy_uj", MFD_CLOEXEC);
  std::atomic<bool> stop_ = false;
  std::thread counter_;
};

}  // namespace assay
