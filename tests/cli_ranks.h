#pragma once

#include <fcntl.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli_fixture.h"

namespace assay {

/// Trainings of a small model by ranks.
class CliRanks : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    Json config = tiny_config();
    config["vocab_size"] = 256;
    write_tiny_model(folder_.path() / "bytes", config);
    std::string text;
    for (int i = 0; i < 2000; ++i) text += static_cast<char>('a' + i * i % 23);
    write_text(folder_.path() / "text.txt", text);
    write_text(folder_.path() / "other.txt", text.substr(7, 400));
  }

  static Arguments training(const Arguments& more) {
    Arguments arguments = {"train", "bytes", "--data", "text.txt", "--bytes",   "--batch", "8",
                           "--seq", "16",    "--lr",   "0.01",     "--threads", "1",       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string file(const std::string& name) const { return read_file(folder_.path() / name); }
  static Json json_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? parse_json(outcome.out, "stdout") : Json::object();
  }
};

/// The same with mpirun.
class CliMpi : public CliRanks {
 protected:
  void SetUp() override {
    if (!fs::exists(mpirun)) GTEST_SKIP() << "no Open MPI: " << mpirun << " (openmpi-bin) is not there";
    if (!fs::exists(fs::path(ASSAY_PROGRAM).parent_path() / "assay_mpi.so"))
      GTEST_SKIP() << "this build has no MPI: libopenmpi-dev was not there";
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::setenv("OMPI_MCA_orte_tmpdir_base", "/tmp", 1);  // The folder of the test is too long a name for its sockets.
    // So long mpirun leaves the others where one is lost, and so long it waits itself, however soon they end.
    ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "2", 1);
    CliRanks::SetUp();
  }
  /// Other tests have as many threads as before: measured peaks are those of a number of threads.
  void TearDown() override {
    if (threads_before_) {
      ::setenv("OMP_NUM_THREADS", threads_before_->c_str(), 1);
    } else {
      ::unsetenv("OMP_NUM_THREADS");
    }
    CliRanks::TearDown();
  }

  static Arguments launched(int ranks, const Arguments& program) {
    Arguments arguments = {"--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks), ASSAY_PROGRAM};
    arguments.insert(arguments.end(), program.begin(), program.end());
    return arguments;
  }
  Outcome run_ranks(int ranks, const Arguments& program) const {
    return run_program(mpirun, folder_.path(), launched(ranks, program));
  }
  /// Calls action(process) for that rank of a program in this folder, once the file is there.
  template <typename Action>
  void once_there(const std::string& name, int rank, const Action& action) const {
    const fs::path awaited = folder_.path() / name;
    for (int i = 0; i < 600 && !fs::exists(awaited); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string process = entry.path().filename();
      if (process.find_first_not_of("0123456789") != std::string::npos || !is_rank(entry.path(), rank)) continue;
      action(static_cast<pid_t>(std::stol(process)));
    }
  }
  void signal_rank_once_saved(int rank, int signal) const {
    once_there("run/manifest.json", rank, [signal](pid_t process) { ::kill(process, signal); });
  }
  /// `first` as rank 0 (two steps), and as rank 1 something else.
  static Arguments beside(const Arguments& second,
                          const Arguments& first = training({"--steps", "2", "--check-every", "1"})) {
    Arguments both = launched(1, first);
    both.push_back(":");
    const Arguments other = launched(1, second);
    both.insert(both.end(), other.begin() + 1, other.end());  // --oversubscribe is said once.
    return both;
  }
  static constexpr const char* mpirun = "/usr/bin/mpirun";

 private:
  static std::optional<std::string> threads_asked() {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    return asked == nullptr ? std::nullopt : std::optional<std::string>(asked);
  }
  const std::optional<std::string> threads_before_ = threads_asked();
  /// The launcher says to each process which rank it is.
  bool is_rank(const fs::path& process, int rank) const {
    std::error_code ignored;
    if (fs::read_symlink(process / "cwd", ignored) != fs::canonical(folder_.path())) return false;
    try {
      std::string environment;  // Whose size is said to be 0.
      read_pieces(process / "environ", [&environment](std::span<const std::byte> piece) {
        environment.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      });
      return environment.find(fmt::format("OMPI_COMM_WORLD_RANK={}", rank) + '\0') != std::string::npos;
    } catch (const Error&) {
      return false;  // It has ended.
    }
  }
};

}  // namespace assay
