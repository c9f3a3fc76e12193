// What is left of a training when one of its ranks ends in any phase of a step, or when the disk is full: the others
// end with a line, and the last checkpoint goes on to the same weights.

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "cli_ranks.h"

namespace assay {
namespace {

/// A message of a rank, counted from 1.
struct SentMessage {
  long number = 0;
  int tag = 0;
  long after_us = 0;  ///< The one before it, of computing.
};

/// Where a rank is ended, and what it does there.
struct RankEnd {
  std::string phase;
  std::string at;  ///< ASSAY_END_AT.
};

class RankFaults : public CliMpi {
 protected:
  void SetUp() override {
#ifndef ASSAY_END_RANK
    GTEST_SKIP() << "a sanitizer's own library must be loaded first";
#endif
    ::setenv("OMP_WAIT_POLICY", "passive", 1);  // The program then does not start itself anew.
    CliMpi::SetUp();
    ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "5", 1);  // On a busy machine, who is left needs time to tell.
  }

  static Arguments phases(const std::string& out) {
    return training({"--steps", "6", "--save-every", "2", "--eval", "other.txt", "--eval-every", "2", "--check-every",
                     "3", "--out", out});
  }

  /// Calls action(i) for each i below `count`, several at a time: mpirun takes seconds over each training that ends
  /// early, in which nothing happens.
  template <typename Action>
  static void several_at_once(std::size_t count, const Action& action) {
    constexpr std::size_t at_once = 5;
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    threads.reserve(at_once);
    for (std::size_t i = 0; i < at_once; ++i) {
      threads.emplace_back([&] {
        for (std::size_t one = 0; (one = next++) < count;) action(one);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// A folder in which trainings can be run.
  fs::path place(const std::string& name) const {
    const fs::path own = folder_.path() / name;
    fs::create_directory(own);
    for (const char* shared : {"bytes", "text.txt", "other.txt"})
      fs::create_symlink(folder_.path() / shared, own / shared);
    return own;
  }

  /// Three ranks in that folder, of which `rank` has these variables besides.
  static Outcome run_with(const fs::path& folder, int rank, const std::string& preloaded, const Arguments& variables,
                          const Arguments& program) {
    Arguments all = {"--oversubscribe", "--bind-to", "none"};
    const auto add = [&](int ranks, const Arguments& more) {
      if (ranks == 0) return;
      if (all.size() > 3) all.emplace_back(":");
      all.insert(all.end(), {"-n", std::to_string(ranks)});
      all.insert(all.end(), more.begin(), more.end());
      all.emplace_back(ASSAY_PROGRAM);
      all.insert(all.end(), program.begin(), program.end());
    };
    Arguments faulty = {"-x", "LD_PRELOAD=" + preloaded};
    for (const std::string& variable : variables) faulty.insert(faulty.end(), {"-x", variable});
    add(rank, {});
    add(1, faulty);
    add(2 - rank, {});
    return run_program(mpirun, folder, all);
  }

  static std::vector<SentMessage> messages_in(const fs::path& path) {
    std::vector<SentMessage> messages;
    std::ifstream file(path);
    int tag = 0;
    for (long after_us = 0; file >> tag >> after_us;) messages.push_back({std::ssize(messages) + 1, tag, after_us});
    return messages;
  }

  /// When the rank ended, in seconds of the day's clock; absent where it did not.
  static std::optional<double> end_in(const fs::path& path) {
    constexpr std::string_view before = "end ";
    const std::string text = fs::exists(path) ? read_file(path) : "";
    const std::size_t at = text.rfind(before);
    return at == std::string::npos ? std::nullopt : std::optional(std::stod(text.substr(at + before.size())));
  }

  static void expect_nothing_half_written(const fs::path& folder, const std::string& what) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().lexically_relative(folder);
      for (const char* part : {".tmp", ".saving", ".saved"})
        EXPECT_EQ(name.find(part), std::string::npos) << what << "\nleft " << name;
    }
  }

  static void expect_one_line(const Outcome& outcome, const std::string& part, const std::string& what) {
    EXPECT_NE(outcome.exit_code, 0) << what;
    std::istringstream lines(outcome.err);
    int errors = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("assay: ")) continue;
      ++errors;
      EXPECT_NE(line.find(part), std::string::npos) << what << "\n" << line;
    }
    EXPECT_EQ(errors, 1) << what << "\n" << outcome.err;
  }

  /// Goes on with what is in the folder's `run`, or begins where there is nothing, to the weights of `whole`.
  void expect_goes_on(const fs::path& folder, const std::string& what) const {
    Arguments arguments = phases("run");
    arguments.insert(arguments.end(), {"--ranks", "3"});
    const fs::path run = folder / "run";
    if (fs::exists(run / "training.json") || fs::exists(run / ".saved")) arguments.emplace_back("--resume");
    const Outcome outcome = run_assay(folder, arguments);
    EXPECT_EQ(outcome.exit_code, 0) << what << "\nresumed: " << outcome.err;
    if (outcome.exit_code != 0) return;
    expect_nothing_half_written(folder, what);
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "best/model.safetensors"})
      EXPECT_TRUE(read_file(run / name) == file(std::string("whole/") + name)) << what << ": " << name;
  }

  /// From a rank's end to that of all: no rank waits for one that is gone, however slow the machine.
  static constexpr double most_s = 60;
  static double time_of_day_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

#ifdef ASSAY_END_RANK

constexpr int first_bucket_tag = 3;  ///< Below are what ranks gather: losses, norms, scores, that all is saved.

/// The first and the last message of each step's exchange of gradients.
std::vector<std::pair<SentMessage, SentMessage>> exchanges_in(const std::vector<SentMessage>& messages) {
  std::vector<std::pair<SentMessage, SentMessage>> exchanges;
  bool is_inside = false;
  for (const SentMessage& message : messages) {
    const bool is_bucket = message.tag >= first_bucket_tag;
    if (is_bucket && !is_inside) exchanges.emplace_back(message, message);
    if (is_bucket) exchanges.back().second = message;
    is_inside = is_bucket;
  }
  return exchanges;
}

/// Of a training of six steps that scores and saves after every second.
std::vector<RankEnd> ends_in(const std::vector<SentMessage>& messages) {
  const auto exchanges = exchanges_in(messages);
  if (exchanges.size() != 6) return {};
  const auto at = [](long number) { return std::to_string(number); };
  const auto behind = [&](const SentMessage& next, double share) {
    return at(next.number - 1) + "+" + std::to_string(std::lround(share * static_cast<double>(next.after_us)));
  };
  const long fourth = exchanges[3].second.number;
  const long others = exchanges[4].first.number - fourth;  // What follows the fourth exchange, up to the fifth.
  return {{"before anything is saved", at(exchanges[1].first.number)},
          {"forward", behind(exchanges[2].first, 0.25)},
          {"backward", behind(exchanges[4].first, 0.75)},
          {"exchange begins", at(exchanges[2].first.number)},
          {"exchange ends", at(exchanges[4].second.number)},
          {"loss", at(fourth + 1)},
          {"update", at(fourth + 3)},
          {"evaluation", at(fourth + 5 + (others - 5) / 3)},
          {"save", at(exchanges[4].first.number - 1)},
          {"the end", at(messages.back().number - 1)}};  // The last one that rank 0 waits for.
}

TEST_F(RankFaults, ARankThatEndsInAnyPhaseLeavesAWholeCheckpoint) {
  const Outcome whole = run_with(folder_.path(), 1, ASSAY_END_RANK,
                                 {"ASSAY_MESSAGES=" + (folder_.path() / "sent").string()}, phases("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::vector<RankEnd> ends = ends_in(messages_in(folder_.path() / "sent"));
  ASSERT_FALSE(ends.empty()) << "not one exchange a step:\n" << file("sent");
  several_at_once(ends.size(), [&](std::size_t i) {
    const RankEnd& end = ends[i];
    const std::string what = end.phase + ", " + end.at;
    const fs::path folder = place(std::to_string(i));
    const fs::path ended = folder / "ended";
    const Outcome outcome = run_with(folder, 1, ASSAY_END_RANK,
                                     {"ASSAY_END_AT=" + end.at, "ASSAY_MESSAGES=" + ended.string()}, phases("run"));
    const std::optional<double> ended_s = end_in(ended);
    ASSERT_TRUE(ended_s) << what << ": rank 1 did not end";
    EXPECT_LT(time_of_day_s() - *ended_s, most_s) << what;
    expect_one_line(outcome, "rank 1 (process ", what);
    expect_nothing_half_written(folder, what);
    expect_goes_on(folder, what);
  });
}

/// Rank 0 writes: it ends at calls of the system that saves make, spread over all of them.
TEST_F(RankFaults, RankZeroThatEndsWhileItSavesLeavesAWholeCheckpoint) {
  const std::string counts = (folder_.path() / "counts").string();
  const Outcome whole = run_with(folder_.path(), 0, ASSAY_INJECT,
                                 {"ASSAY_FAULT=none:1", "ASSAY_FAULT_COUNTS=" + counts}, phases("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  std::ifstream counted(counts);
  std::map<std::string, long> calls;
  std::string kind;
  for (long count = 0; counted >> kind >> count;) calls[kind] = count;
  ASSERT_GT(calls["rename"], 3);
  std::vector<std::string> faults;
  for (const auto& [name, share] :
       {std::pair("sync", 0.2), {"sync", 0.7}, {"rename", 0.0}, {"rename", 0.5}, {"rename", 0.9}})
    faults.push_back(fmt::format("{}:{}!", name, 1 + std::lround(share * static_cast<double>(calls[name] - 1))));
  several_at_once(faults.size(), [&](std::size_t i) {
    const fs::path folder = place(std::to_string(i));
    const Outcome outcome = run_with(folder, 0, ASSAY_INJECT, {"ASSAY_FAULT=" + faults[i]}, phases("run"));
    expect_one_line(outcome, "rank 0 (process ", faults[i]);
    expect_goes_on(folder, faults[i]);
  });
}

#endif

/// No file of rank 0 may grow any more: what a full disk says, of another number.
TEST_F(RankFaults, AFullDiskEndsAllWithOneLineAndKeepsTheLastCheckpoint) {
  double full_s = 0;
  std::thread filler([&] {
    once_there("run/manifest.json", 0, [&](pid_t process) {
      const rlimit none = {16, RLIM_INFINITY};
      EXPECT_EQ(::prlimit(process, RLIMIT_FSIZE, &none, nullptr), 0);
      full_s = time_of_day_s();
    });
  });
  const Outcome outcome = run_ranks(3, training({"--steps", "20000", "--save-every", "2", "--out", "run"}));
  const double ended_s = time_of_day_s();
  filler.join();
  ASSERT_GT(full_s, 0) << "rank 0 was not found";
  EXPECT_LT(ended_s - full_s, most_s);
  expect_one_line(outcome, "run/", "full disk");
  expect_nothing_half_written(folder_.path(), "full disk");
  const auto steps = parse_json(file("run/training.json"), "training.json").at("steps").get<std::int64_t>();
  EXPECT_EQ(steps % 2, 0);
  const Json on = json_of(run_ranks(2, training({"--steps", std::to_string(steps + 2), "--resume", "--out", "run"})));
  EXPECT_EQ(on.at("losses").size(), static_cast<std::size_t>(steps + 2));
}

}  // namespace
}  // namespace assay
