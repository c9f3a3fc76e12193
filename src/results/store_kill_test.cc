// Processes that write the same store, some of them killed while they do.

#include <sys/wait.h>
#include <csignal>

#include <chrono>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "results/store_files_test.h"

namespace assay {
namespace {

using StoreKill = StoreFolder;

Record numbered(std::int64_t number) {
  Record record = made_up_record("bf16", 40);
  record.setting.seq = number;
  return record;
}

/// A process that runs `work` and nothing of this one's afterwards.
template <typename Work>
pid_t start(Work&& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    ::_exit(1);
  }
  ::_exit(0);
}

/// Saves record after record of a run of its own, and tells each number through the pipe once save() has returned.
void write_for_ever(const std::filesystem::path& file, int pipe) {
  Store store(file, Access::write);
  const std::int64_t run = store.begin_run({"killed", "f00d", "{}"});
  for (std::int64_t seq = 1;; ++seq) {
    const Record record = numbered(seq);
    const std::int64_t told[2] = {store.save(run, std::span(&record, 1)).at(0), seq};
    if (::write(pipe, told, sizeof told) != sizeof told) throw std::runtime_error("write failed");
  }
}

enum class From : std::uint8_t { start, first_record };

/// The numbers that the child told before it was killed, `patience` after that.
std::map<std::int64_t, std::int64_t> told_before_kill(const std::filesystem::path& file, From from,
                                                      std::chrono::microseconds patience) {
  int pipe[2];
  if (::pipe(pipe) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = start([&] { write_for_ever(file, pipe[1]); });
  ::close(pipe[1]);
  std::map<std::int64_t, std::int64_t> told;
  std::int64_t one[2];
  if (from == From::first_record && ::read(pipe[0], one, sizeof one) == sizeof one) told[one[0]] = one[1];
  std::this_thread::sleep_for(patience);
  ::kill(child, SIGKILL);
  while (::read(pipe[0], one, sizeof one) == sizeof one) told[one[0]] = one[1];
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return told;
}

std::string integrity(const std::filesystem::path& file) {
  Database database(file, Access::write);
  Statement check = database.prepare("PRAGMA integrity_check");
  return check.step() ? check.text(0) : "no answer";
}

TEST_F(StoreKill, NothingThatWasReportedAsSavedIsLostAt100RandomMoments) {
  { Store(file_, Access::write); }
  Random random(1);
  std::map<std::int64_t, std::int64_t> told;
  int in_the_middle = 0;
  for (int kill = 0; kill < 100; ++kill) {
    const From from = kill % 2 == 0 ? From::first_record : From::start;
    const auto now = told_before_kill(file_, from, std::chrono::microseconds(random.below(20'000)));
    in_the_middle += now.empty() ? 0 : 1;
    told.insert(now.begin(), now.end());
    ASSERT_EQ(integrity(file_), "ok") << "after kill " << kill;
    std::map<std::int64_t, std::int64_t> kept;
    for (const StoredRecord& record : Store(file_, Access::read).find({.newest = std::ssize(now) + 5})) {
      kept[record.id] = record.record.setting.seq;
    }
    for (const auto& [id, seq] : now) ASSERT_EQ(kept.at(id), seq) << "after kill " << kill;
  }
  EXPECT_GE(in_the_middle, 50);
  std::map<std::int64_t, std::int64_t> kept;
  for (const StoredRecord& record : Store(file_, Access::read).find({})) kept[record.id] = record.record.setting.seq;
  for (const auto& [id, seq] : told) EXPECT_EQ(kept.at(id), seq);
}

TEST_F(StoreKill, ProcessesThatWriteAtTheSameTimeLoseNothing) {
  constexpr int writers = 6;
  constexpr int records = 25;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(start([&] {
      Store store(file_, Access::write);  // All of them make it.
      const std::int64_t run = store.begin_run(run_facts());
      for (int i = 1; i <= records; ++i) {
        const Record record = numbered(i);
        store.save(run, std::span(&record, 1));
      }
      store.end_run(run);
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(integrity(file_), "ok");
  const Store store(file_, Access::read);
  for (int run = 1; run <= writers; ++run) EXPECT_EQ(store.find({.run = run}).size(), std::size_t{records});
}

}  // namespace
}  // namespace assay
