#include "measure/left_behind.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/comes_true_testing.h"
#include "base/testing.h"
#include "measure/child.h"

namespace assay {
namespace {

/// One run of a shell, and what `left` makes of what it leaves.
ChildRun run_and_look(const std::string& script, LeftBehind& left, std::size_t program = 0) {
  ChildOptions options;
  options.left_behind = &left;
  options.program = program;
  ChildRun run = run_child({{"/bin/sh", "-c", script}, script}, options);
  left.after_run(program);
  return run;
}

/// Ends when the daemon has become what it is to be.
constexpr const char* leaves_a_daemon =
    "(setsid sleep 60 </dev/null >/dev/null 2>&1 & until grep -qx sleep /proc/$!/comm; do sleep 0.01; done)";

pid_t first_living(const LeftBehind& left) {
  return std::stoi(left.living(0).at(0));
}

TEST(LeftBehind, ADaemonInASessionOfItsOwnIsCounted) {
  LeftBehind left(Daemons::stay);
  EXPECT_EQ(run_and_look(leaves_a_daemon, left).exit_code, 0);
  run_and_look(leaves_a_daemon, left);
  left.settle();
  EXPECT_EQ(left.counts(0).left, 2);
  EXPECT_EQ(left.counts(0).alive, 2);
  EXPECT_EQ(left.counts(1).left, 0) << "another program's runs left nothing";
  const std::vector<std::string> living = left.living(0);
  ASSERT_EQ(living.size(), 2U);
  EXPECT_NE(living[0].find("sleep"), std::string::npos) << living[0];
  for (const std::string& one : living) ::kill(std::stoi(one), SIGKILL);
  EXPECT_TRUE(comes_true([&] {
    left.look(0, 0);
    return left.counts(0).alive == 0;
  })) << "who ended is reaped";
  EXPECT_EQ(left.counts(0).left, 2) << "and was there all the same";
}

TEST(LeftBehind, OnRequestTheyAreEndedAfterEachRunAndWhoRefusesIsKilled) {
  LeftBehind left(Daemons::ended);
  run_and_look(leaves_a_daemon, left);
  EXPECT_EQ(left.counts(0).ended, 1);
  EXPECT_EQ(left.counts(0).alive, 0);
  const TemporaryFolder folder;
  ::setenv("ASSAY_TEST_READY", (folder.path() / "ready").c_str(), 1);
  const double begin_s = now_s();
  run_and_look(
      "(setsid sh -c \"trap '' TERM; : >'$ASSAY_TEST_READY'; while :; do sleep 0.05; done\" </dev/null >/dev/null 2>&1 "
      "&)"
      "; until [ -e \"$ASSAY_TEST_READY\" ]; do sleep 0.01; done",
      left);
  ::unsetenv("ASSAY_TEST_READY");
  EXPECT_GE(now_s() - begin_s, daemon_grace_s);
  EXPECT_EQ(left.counts(0).alive, 0);
  EXPECT_GE(left.counts(0).ended, 2);
}

TEST(LeftBehind, NothingAndWhatEndsAtOnceAreNoDaemons) {
  // A busy machine may keep one from ending at once; not one after the other.
  EXPECT_TRUE(comes_true([] {
    LeftBehind left(Daemons::stay);
    run_and_look("true", left);
    run_and_look("sleep 0.02 &", left);
    left.settle();
    return left.counts(0).left == 0 && !left.is_unsettled();
  }));
}

TEST(LeftBehind, ChildrenThatWereThereBeforeAreLetAlone) {
  const pid_t own = ::fork();
  if (own == 0) {
    ::pause();
    ::_exit(0);
  }
  {
    LeftBehind left(Daemons::ended);
    run_and_look(leaves_a_daemon, left);
    EXPECT_EQ(left.counts(0).ended, 1);
  }
  EXPECT_EQ(::waitpid(own, nullptr, WNOHANG), 0) << "it lives, and is still this process's to wait for";
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
}

TEST(LeftBehind, WhatWasToBeEndedIsEndedWhenMeasuringIsCutShort) {
  pid_t daemon = 0;
  {
    LeftBehind left(Daemons::ended);
    ChildOptions options;
    options.left_behind = &left;
    run_child({{"/bin/sh", "-c", leaves_a_daemon}, ""}, options);
    left.look(0, 0);
    daemon = first_living(left);
    EXPECT_EQ(::kill(daemon, 0), 0);
  }
  EXPECT_EQ(::kill(daemon, 0), -1);
}

}  // namespace
}  // namespace assay
