#include "studies/bench/processes.h"

#include <gtest/gtest.h>

#include "hardware/machine.h"
#include "model/sizes.h"
#include "model/testing.h"
#include "results/made_up_test.h"
#include "studies/shared/stand_in_testing.h"

namespace assay {
namespace {

TEST(BenchProcesses, AreAsAskedOrAsManyAsTheBudgetAllows) {
  BenchRequest request;
  request.processes = 0;
  EXPECT_EQ(processes_for(request, {.start_s = 1, .round_s = 0.01, .budget_s = 10}), enough_processes);
  EXPECT_EQ(processes_for(request, {.start_s = 3, .round_s = 0.01, .budget_s = 10}), 1) << "starting takes too long";
  EXPECT_EQ(processes_for(request, {.start_s = 1, .round_s = 0.5, .budget_s = 10}), 1) << "rounds take too long";
  EXPECT_EQ(processes_for(request, {.start_s = 1, .round_s = 0.01, .budget_s = 10, .fits_twice = false}), 1);
  request.rounds = 3;
  EXPECT_EQ(processes_for(request, {.start_s = 1, .round_s = 0.01, .budget_s = 10}), 1);
  request.processes = 7;
  EXPECT_EQ(processes_for(request, {.start_s = 100, .budget_s = 1}), 7);
}

TEST(BenchProcesses, SamplesAndConditionsOfAllAreARowsOwn) {
  Record row = made_up_record("fp32", 10);
  row.latency.made().process_samples.clear();
  Record other = row;
  other.latency.made().raw_ms.assign(7, 11.0);
  other.circumstances.made().foreign_load = 0.3;
  Record* rows[] = {&row};
  EXPECT_EQ(append_process({made_up_record("bf16", 5), other}, rows), "");
  EXPECT_EQ(row.latency->process_samples, (std::vector<double>{40, 7}));
  EXPECT_EQ(row.latency->raw_ms.size(), 47U);
  EXPECT_EQ(row.latency->raw_ms.back(), 11.0);
  EXPECT_EQ(row.latency->timed_runs, 80);
  EXPECT_EQ(row.circumstances->foreign_load, 0.3);
}

TEST(BenchProcesses, OneWithoutARowIsLeftOutWhole) {
  Record fp32 = made_up_record("fp32", 10);
  Record bf16 = made_up_record("bf16", 5);
  const Record before = fp32;
  Record* rows[] = {&fp32, &bf16};
  EXPECT_EQ(append_process({fp32}, rows), "it has no samples of bf16");
  EXPECT_EQ(fp32.latency->raw_ms, before.latency->raw_ms);
}

TEST(BenchProcesses, OneThatDiesIsSaidAndTheOthersStand) {
  const StandIn program("echo 'assay: no luck' >&2; exit 3");
  BenchRequest request;
  request.models = {gpt2_folder};
  request.precisions = {"fp32"};
  request.seqs = {8};
  request.rounds = 2;
  request.seconds = 0.05;
  request.processes = 2;
  request.quality = QualityMode::none;
  request.trial_program = program.file();
  std::string said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said += sentence; };
  const std::vector<Record> records = bench(request, [] { return read_machine_facts(); }, callbacks).records;
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].latency->samples, 2);
  EXPECT_TRUE(records[0].latency->process_samples.empty());
  EXPECT_NE(said.find("process 2 of 2 is left out: assay: no luck"), std::string::npos) << said;
}

/// The child is asked for the model and its sizes, not for the name that stands in tables.
TEST(BenchProcesses, OfOtherSizesAreAskedForAsTheyWereAskedFor) {
  const StandIn program("echo \"assay: $*\" >&2; exit 3");
  BenchRequest request;
  request.models = {"gpt2"};
  request.model_options.sizes = parse_sizes("d_model=8,layers=1,heads=2", "--set");
  request.precisions = {"fp32"};
  request.seqs = {8};
  request.rounds = 1;
  request.seconds = 0.05;
  request.processes = 2;
  request.quality = QualityMode::none;
  request.trial_program = program.file();
  std::string said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said += sentence; };
  bench(request, [] { return read_machine_facts(); }, callbacks);
  EXPECT_NE(said.find("--set d_model=8,layers=1,heads=2"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with(" -- gpt2")) << said;
}

}  // namespace
}  // namespace assay
