#pragma once

// For tests only.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
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
    counter_ = std::thread([this, watts, watts_a_processor] {
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
  ~RunningPackage() { freeze(); }
  /// From now on the counter stands still.
  void freeze() {
    stop_ = true;
    if (counter_.joinable()) counter_.join();
  }
  const RecordedTree& tree() const { return tree_; }
  const std::filesystem::path& root() const { return tree_.root(); }

 private:
  /// Readers see a whole number always; nothing waits for the disk, which a busy machine keeps back for long.
  void write_counter(double uj) const {
    const std::filesystem::path file = tree_.root() / (zone + "energy_uj");
    const std::filesystem::path fresh = file.string() + ".new";
    std::ofstream(fresh) << fmt::format("{:.0f}\n", uj);
    std::filesystem::rename(fresh, file);
  }

  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  RecordedTree tree_;
  std::atomic<bool> stop_ = false;
  std::thread counter_;
};

}  // namespace assay
