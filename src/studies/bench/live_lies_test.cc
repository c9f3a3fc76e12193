#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "hardware/facts_testing.h"
#include "measure/sampling.h"
#include "model/testing.h"
#include "rules/rules.h"
#include "studies/bench/record.h"
#include "studies/shared/energy_testing.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/series_record.h"

namespace assay {
namespace {

constexpr Extent extent{64, 24};

/// Peaks that no machine of today reaches on two threads: only what cannot be true is above them.
MachineFacts facts_with_high_peaks() {
  MachineFacts facts = two_thread_facts();
  facts.measured_share = 1;
  for (const DType dtype : {DType::f32, DType::bf16, DType::s8}) {
    MatmulPeak peak;
    peak.operand = dtype;
    peak.instruction_gflops = 2000;
    peak.verdict = Verdict::native;
    facts.peaks.push_back(peak);
  }
  return facts;
}

/// What a test does to the runs of a row; the honest one runs the plan.
using Tamper = std::function<std::function<void()>(Plan&)>;
const Tamper honest = [](Plan& plan) { return [&plan] { plan.run(); }; };

/// A cell that is measured as bench measures it, with rows that may lie.
class LiveCell {
 public:
  LiveCell() : model_(open_model(gpt2_folder, {})), facts_(facts_with_high_peaks()) {
    request_.rounds = 12;
    request_.seconds = 0.2;
  }

  /// A row by that name, whose plan is of the precision `ran`.
  void add(const std::string& name, const std::string& ran, const Tamper& tamper) {
    Row& row = rows_.emplace_back();
    row.instance = make_instance(model_, ran, request_.engine, facts_);
    row.plan = std::make_unique<Plan>(*row.instance, PlanOptions{.extent = extent});
    row.plan->set_inputs(random_ids(model_, extent, {1, IdsFor::timing}), {});
    row.record.setting = bench_setting(model_, request_, facts_);
    row.record.setting.precision = name;
    row.record.setting.batch = extent.batch;
    row.record.setting.seq = extent.seq;
    row.record.evidence = evidence_of(*row.plan, *row.instance, facts_);
    row.record.evidence.flops = model_flops(model_, request_.engine.program, extent);
    row.record.memory = memory_of(*row.plan, *row.instance);
    subjects_.push_back({name, tamper(*row.plan), [&plan = *row.plan] { return plan.first_value("logits"); }});
  }

  std::vector<Record> measure(const Power& power = {}) {
    SamplingOptions options;
    options.rounds = request_.rounds;
    options.seconds = request_.seconds;
    meter_windows(request_.energy, power, options);
    const std::vector<Series> series = sample(subjects_, options);
    std::vector<Record> records;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      record_series(series[i], {series[0], power, request_.model_options.seed, request_.width}, rows_[i].record);
      records.push_back(rows_[i].record);
    }
    return records;
  }

 private:
  struct Row {
    std::unique_ptr<Instance> instance;
    std::unique_ptr<Plan> plan;
    Record record;
  };
  Model model_;
  MachineFacts facts_;
  BenchRequest request_;
  std::deque<Row> rows_;
  std::vector<Subject> subjects_;
};

/// Ids of the rules that speak of that row. What else runs on this machine is no part of the lie.
std::set<std::string> rules_about(const std::string& precision, std::vector<Record> records) {
  for (Record& record : records)
    record.circumstances.made().foreign_load = record.circumstances.made().stolen_share = 0;
  std::set<std::string> ids;
  for (const Finding& finding : judge_in_full(records).findings) {
    if (finding.precision == precision && finding.met != true) ids.insert(finding.rule);
  }
  return ids;
}

TEST(LiveLies, AnHonestCellIsNoneOfThem) {
  LiveCell cell;
  cell.add("fp32", "fp32", honest);
  cell.add("int8", "int8", honest);
  const std::vector<Record> records = cell.measure();
  for (const char* precision : {"fp32", "int8"}) {
    for (const char* rule : {"instruction_peak", "swapped_kernel", "stuck_counter", "negative_duration"})
      EXPECT_FALSE(rules_about(precision, records).contains(rule)) << precision << ": " << rule;
  }
}

TEST(LiveLies, CachedResultsAreFasterThanAnyInstruction) {
  LiveCell cell;
  cell.add("fp32", "fp32", honest);
  cell.add("int8", "int8", [](Plan& plan) {
    plan.run();
    return [] {};
  });
  EXPECT_TRUE(rules_about("int8", cell.measure()).contains("instruction_peak"));
}

/// A device that works on its own: submit() hands work over, wait() is the synchronisation. It holds a few works and
/// drops what comes above them, so that the test ends.
class QueueDevice {
 public:
  QueueDevice() : worker_([this] { work(); }) {}
  QueueDevice(const QueueDevice&) = delete;
  QueueDevice& operator=(const QueueDevice&) = delete;
  ~QueueDevice() {
    submit(nullptr);
    worker_.join();
  }
  void submit(Plan* plan) {
    {
      const std::lock_guard lock(mutex_);
      if (plan == nullptr || queue_.size() < most_held) queue_.push_back(plan);
    }
    came_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return queue_.empty(); });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      came_.wait(lock, [this] { return !queue_.empty(); });
      Plan* const plan = queue_.front();
      if (plan == nullptr) return;
      lock.unlock();
      plan->run();
      lock.lock();
      queue_.pop_front();
      done_.notify_all();
    }
  }
  static constexpr std::size_t most_held = 4;
  std::mutex mutex_;
  std::condition_variable came_;
  std::condition_variable done_;
  std::deque<Plan*> queue_;  ///< The front one is running; null ends it.
  std::thread worker_;
};

TEST(LiveLies, AClockThatStopsBeforeTheDeviceIsFasterThanAnyInstruction) {
  QueueDevice device;
  LiveCell cell;
  cell.add("fp32", "fp32", [&](Plan& plan) {
    return [&] {
      device.submit(&plan);
      device.wait();
    };
  });
  cell.add("bf16", "fp32", [&](Plan& plan) { return [&] { device.submit(&plan); }; });
  const std::vector<Record> records = cell.measure();
  device.wait();
  EXPECT_FALSE(rules_about("fp32", records).contains("instruction_peak"));
  EXPECT_TRUE(rules_about("bf16", records).contains("instruction_peak"));
}

TEST(LiveLies, AThreadThatSleepsMakesARowSlower) {
  LiveCell cell;
  cell.add("fp32", "fp32", honest);
  cell.add("int8", "int8", [](Plan& plan) {
    return [&] {
      plan.run();
      sleep_s(0.3);  // Longer than a busy machine keeps an honest run waiting.
    };
  });
  EXPECT_TRUE(rules_about("int8", cell.measure()).contains("slower"));
}

TEST(LiveLies, AKernelOfAnotherPrecisionIsNotWhatTheRowIsCalled) {
  LiveCell cell;
  cell.add("fp32", "fp32", honest);
  cell.add("int8", "fp32", honest);
  EXPECT_TRUE(rules_about("int8", cell.measure()).contains("swapped_kernel"));
}

/// A process that uses one processor while it lives.
class SpinningProcess {
 public:
  SpinningProcess() : process_(::fork()) {
    while (process_ == 0 && now_s() > 0) {
    }
  }
  SpinningProcess(const SpinningProcess&) = delete;
  SpinningProcess& operator=(const SpinningProcess&) = delete;
  ~SpinningProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

TEST(LiveLies, ANeighbourThatSpinsIsSeen) {
  std::deque<SpinningProcess> neighbours;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) neighbours.emplace_back();
  LiveCell cell;
  cell.add("fp32", "fp32", [](Plan& plan) {
    return [&] {
      const double end_s = now_s() + 0.03;  // Longer than the kernel's unit of processor time.
      while (now_s() < end_s) plan.run();
    };
  });
  const Record record = cell.measure().front();
  if (!record.circumstances->foreign_load) GTEST_SKIP() << "/proc/stat is not readable here";
  EXPECT_GT(*record.circumstances->foreign_load, 0.2);
}

TEST(LiveLies, ACounterThatGetsStuckLosesItsFigures) {
  RunningPackage package(50);
  const Power power = find_power(energy_on("cpu", package.root(), {}));
  ASSERT_TRUE(power.source.meter) << power.source.words;
  package.freeze();
  LiveCell cell;
  cell.add("fp32", "fp32", honest);
  const Record record = cell.measure(power).front();
  EXPECT_FALSE(record.energy->energy_j.has_value());
  EXPECT_NE(record.energy->energy_status.detail.find("stood still"), std::string::npos)
      << record.energy->energy_status.detail;
}

}  // namespace
}  // namespace assay
