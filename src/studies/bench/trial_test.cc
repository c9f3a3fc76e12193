#include "studies/bench/trial.h"

#include <gtest/gtest.h>

#include "formats/npy.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "studies/shared/stand_in_testing.h"

namespace assay {
namespace {

BenchRequest isolated_request(const StandIn& program) {
  BenchRequest request;
  request.models = {gpt2_folder};
  request.precisions = {"mixed-bf16", "int8-weights"};
  request.seqs = {8};
  request.rounds = 4;
  request.seconds = 0.05;
  request.emulated = Emulated::included;
  request.isolate = Isolate::yes;
  request.quality = QualityMode::none;
  request.trial_program = program.file();
  return request;
}

std::vector<Record> records_of(const BenchRequest& request, const StudyCallbacks& callbacks = {}) {
  return bench(request, [] { return read_machine_facts(); }, callbacks).records;
}

/// What a sound cell answers.
const std::string sound = R"(echo '{"resident_bytes": 30000000, "program_bytes": 1000000}')";

std::string unless(const std::string& words, const std::string& deed) {
  return "case \"$*\" in *\"" + words + "\"*) " + deed + ";; esac; " + sound;
}

TEST(BenchTrial, WhatDiesAloneIsARowAndTheOthersAreTimed) {
  const StandIn program(unless("--precision mixed-bf16", "kill -SEGV $$"));
  BenchRequest request = isolated_request(program);
  const RecordedTree data;
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
  write_npy(data.root() / "input_ids.npy", NpyType::s32, {1, 8}, std::as_bytes(std::span(ids)));
  request.quality = QualityMode::automatic;
  request.data = data.root();
  const std::vector<Record> records = records_of(request);
  ASSERT_EQ(records.size(), 3U);
  for (const Record& record : records) {
    const bool dies = record.setting.precision == "mixed-bf16";
    EXPECT_EQ(record.outcome.status, dies ? Status::crashed : Status::ok) << record.setting.precision;
    EXPECT_EQ(record.latency->samples, dies ? 0 : 4) << record.setting.precision;
    EXPECT_EQ(record.memory->resident_bytes.has_value(), !dies) << record.setting.precision;
    EXPECT_EQ(to_text(record.quality->quality_status), dies ? "not run: crashed" : "scored")
        << record.setting.precision;
    EXPECT_EQ(record.speedup->speedup.has_value(), !dies) << "what is left is timed by turns with the baseline";
    if (!dies) continue;
    EXPECT_EQ(record.outcome.reason, "its process died of SIGSEGV");
    EXPECT_EQ(record.energy->energy_status.state, EnergyState::not_run);
  }
}

TEST(BenchTrial, ADeathAtOneShapeCostsThatShapeOnly) {
  const StandIn program(unless("--seq 12", "kill -KILL $$"));
  BenchRequest request = isolated_request(program);
  request.precisions = {"fp32"};
  request.seqs = {8, 12, 16};
  const std::vector<Record> records = records_of(request);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].outcome.status, Status::ok);
  EXPECT_EQ(records[1].outcome.status, Status::crashed);
  EXPECT_EQ(records[2].outcome.status, Status::ok);
}

TEST(BenchTrial, HangsAndRefusedMemoryHaveTheirStatus) {
  const StandIn program(unless("--precision mixed-bf16", "sleep 1000"));
  BenchRequest request = isolated_request(program);
  request.precisions = {"mixed-bf16"};
  request.baseline = Baseline::as_asked;
  request.trial_seconds = 0.2;
  EXPECT_EQ(records_of(request).at(0).outcome.status, Status::too_slow);
  const StandIn starved(R"(echo '{"out_of_memory": "the system refused its process an allocation"}')");
  request.trial_program = starved.file();
  request.trial_seconds = 0;
  const Record record = records_of(request).at(0);
  EXPECT_EQ(record.outcome.status, Status::oom);
  EXPECT_EQ(record.outcome.reason, "the system refused its process an allocation");
}

TEST(BenchTrial, WhatIsDeclinedInWordsIsTimedAndSaid) {
  const StandIn program("echo 'assay: /proc/self/status: does not say the resident memory' >&2; exit 3");
  BenchRequest request = isolated_request(program);
  request.precisions = {"fp32"};
  std::string said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said += sentence; };
  const Record record = records_of(request, callbacks).at(0);
  EXPECT_EQ(record.outcome.status, Status::ok);
  EXPECT_EQ(record.latency->samples, 4);
  EXPECT_NE(said.find("timed without a trial: assay: /proc/self/status"), std::string::npos) << said;
}

TEST(BenchTrial, WithoutIsolationNothingIsTried) {
  const StandIn program("kill -SEGV $$");
  BenchRequest request = isolated_request(program);
  request.isolate = Isolate::no;
  for (const Record& record : records_of(request))
    EXPECT_EQ(record.outcome.status, Status::ok) << record.setting.precision;
}

TEST(BenchTrial, TheLimitFollowsTheBudgetUnlessItIsAsked) {
  BenchRequest request;
  EXPECT_EQ(trial_limit_s(request), 300);
  request.seconds = 60;
  EXPECT_EQ(trial_limit_s(request), 1200);
  request.trial_seconds = 2;
  EXPECT_EQ(trial_limit_s(request), 2);
}

}  // namespace
}  // namespace assay
