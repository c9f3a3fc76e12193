#include "studies/shared/resident.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "hardware/machine.h"
#include "studies/shared/stand_in_testing.h"

namespace assay {
namespace {

ResidentRequest any_request() {
  ResidentRequest request;
  request.model = "any";
  request.precision = "bf16";
  return request;
}

ResidentAnswer answer_of(const std::string& script, double most_s = 0) {
  const StandIn program(script);
  return resident_in_child(any_request(), read_machine_facts(), {program.file(), most_s});
}

TEST(Resident, AnAnswerIsTheResidentBytes) {
  const ResidentAnswer answer = answer_of(R"(echo note; echo '{"resident_bytes": 3000, "program_bytes": 1000}')");
  EXPECT_EQ(answer.ending, Ending::answered);
  EXPECT_EQ(answer.bytes, 3000);
  EXPECT_EQ(answer.program_bytes, 1000);
  EXPECT_EQ(answer.fault, "");
}

TEST(Resident, EveryOtherEndHasItsNameAndItsSentence) {
  struct Case {
    std::string script;
    Ending ending;
    std::string sentence;
  };
  const std::vector<Case> cases = {
      {"kill -SEGV $$", Ending::crashed, "its process died of SIGSEGV"},
      {"kill -ABRT $$", Ending::crashed, "its process died of SIGABRT"},
      {"kill -ILL $$", Ending::crashed, "its process died of SIGILL"},
      {"kill -KILL $$", Ending::crashed, "its process was killed (SIGKILL): memory ran out, likely, or somebody did"},
      {"echo 'assay: defect: x > 0' >&2; exit 70", Ending::crashed,
       "its process ended with a defect (exit code 70): assay: defect: x > 0"},
      {"exit 1", Ending::crashed, "its process ended with a code that is none of ours (exit code 1): it said nothing"},
      {"echo 'assay: bf16: no kernel' >&2; exit 3", Ending::declined, "assay: bf16: no kernel"},
      {R"(echo '{"out_of_memory": "refused"}')", Ending::out_of_memory, "refused"},
  };
  for (const Case& one : cases) {
    const ResidentAnswer answer = answer_of(one.script);
    EXPECT_EQ(answer.ending, one.ending) << one.script;
    EXPECT_EQ(answer.fault, one.sentence) << one.script;
    EXPECT_FALSE(answer.bytes) << one.script;
  }
  EXPECT_EQ(answer_of("echo hello").ending, Ending::declined);
  EXPECT_EQ(resident_in_child(any_request(), read_machine_facts(), {"/no/such/program"}).ending, Ending::declined);
}

TEST(Resident, WhatHangsIsKilledWithAllThatItStarted) {
  const RecordedTree tree;
  const std::string file = (tree.root() / "process").string();
  const ResidentAnswer answer = answer_of("sleep 1000 & echo $! > " + file + "; wait", 2);
  EXPECT_EQ(answer.ending, Ending::hung);
  EXPECT_EQ(answer.fault, "its process gave no answer within 2 s: it hung, or is too slow");
  std::string state = "gone";
  pid_t process = 0;
  std::ifstream(file) >> process;
  ASSERT_GT(process, 0) << "the script had no time to begin";
  for (int i = 0; i < 200 && ::kill(process, 0) == 0; ++i) {  // Until whoever inherits it has waited for it.
    std::string number;
    std::string name;
    std::ifstream(fmt::format("/proc/{}/stat", process)) >> number >> name >> state;
    if (state == "Z") break;
    ::usleep(10'000);
    state = "runs";
  }
  EXPECT_NE(state, "runs");
}

TEST(Resident, AnAnswerInTimeIsNotCutShort) {
  const ResidentAnswer answer = answer_of(R"(sleep 0.1; echo '{"resident_bytes": 3000, "program_bytes": 1000}')", 1000);
  EXPECT_EQ(answer.bytes, 3000);
}

}  // namespace
}  // namespace assay
