#include "measure/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace assay {
namespace {

using Words = std::vector<std::string>;

ChildRun run_text(const std::string& text, const ChildOptions& options = {}) {
  return run_child(parse_command({text}), options);
}

TEST(ParseCommand, TakesWordsAsTheyAreAndAStringByItsCharacters) {
  EXPECT_EQ(parse_command({"echo", "a b", "$HOME"}).words, (Words{"echo", "a b", "$HOME"}));
  EXPECT_EQ(parse_command({"echo  a b"}).words, (Words{"echo", "a", "b"}));
  EXPECT_EQ(parse_command({"echo $HOME"}).words, (Words{"/bin/sh", "-c", "echo $HOME"}));
  EXPECT_EQ(parse_command({"X=1 env"}).words, (Words{"/bin/sh", "-c", "X=1 env"}));
  EXPECT_THROW(parse_command({}), Error);
  for (const char* nothing : {"", "  ", " # not yet", "\n  \t\n# a\n#b"}) EXPECT_THROW(parse_command({nothing}), Error);
  EXPECT_EQ(parse_command({"# a\necho b"}).words, (Words{"/bin/sh", "-c", "# a\necho b"}));
}

TEST(RunChild, TellsHowTheProgramEndedAndWhatItSaid) {
  const ChildRun sound = run_text("echo out; echo err >&2");
  EXPECT_EQ(sound.exit_code, 0);
  EXPECT_EQ(sound.output_end, "out\nerr\n");
  EXPECT_EQ(run_text("exit 7;").exit_code, 7);
  EXPECT_EQ(run_text("kill -SEGV $$").signal, SIGSEGV);
  EXPECT_EQ(run_text("head -c 100000 /dev/zero | tr '\\0' x").output_end.size(), 4096u);
}

TEST(RunChild, ItsInputIsEmpty) {
  EXPECT_EQ(run_text("cat; echo done").output_end, "done\n");
}

TEST(RunChild, NamesAProgramThatIsNotThere) {
  try {
    run_child({{"no-such-program-anywhere"}, ""}, {});
    FAIL() << "it started";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::user);
    EXPECT_EQ(std::string(e.what()), "no-such-program-anywhere: No such file or directory");
  }
}

TEST(RunChild, CountsTimeAndProcessorTimeOfTheWholeTree) {
  const ChildRun asleep = run_text("sleep 0.3");
  EXPECT_GE(asleep.wall_s, 0.3);
  EXPECT_LT(asleep.user_s + asleep.system_s, 0.2);
  const ChildRun busy = run_text("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done & wait");
  EXPECT_GT(busy.user_s, 0.005) << "a grandchild's time counts";
}

TEST(RunChild, TellsThePeakOfItsMemory) {
  const char* python = "/usr/bin/python3";
  if (::access(python, X_OK) != 0) GTEST_SKIP() << "no python3 to fill memory with";
  const ChildRun big = run_child({{python, "-c", "x = bytearray(300 << 20)"}, ""}, {});
  ASSERT_EQ(big.exit_code, 0) << big.output_end;
  if (big.peak_bytes == 0) GTEST_SKIP() << "this process holds more itself";
  EXPECT_GT(big.peak_bytes, 300 << 20);
  EXPECT_LT(big.peak_bytes, 600 << 20);
}

TEST(RunChild, CountsNoMemoryThatItWasForkedWith) {
  const std::vector<char> held(256 << 20, 1);
  EXPECT_EQ(run_text("true").peak_bytes, 0) << held.size() << " bytes that the fork began with";
}

TEST(RunChild, HandsOnMarkersAndTicks) {
  std::string markers;
  int ticks = 0;
  ChildOptions options;
  options.on_markers = [&](std::string_view bytes) { markers += bytes; };
  options.tick_s = 0.02;
  options.on_tick = [&] { ++ticks; };
  const ChildRun run =
      run_text("eval \"echo first >&$ASSAY_MARKERS_FD\"; sleep 0.3; eval \"echo second >&$ASSAY_MARKERS_FD\"", options);
  EXPECT_EQ(run.exit_code, 0) << run.output_end;
  EXPECT_EQ(markers, "first\nsecond\n");
  EXPECT_GE(ticks, 2);
}

TEST(RunChild, WithoutAReaderThereIsNoMarkerDescriptor) {
  ::setenv("ASSAY_MARKERS_FD", "99", 1);
  const ChildRun run = run_text("echo \"[$ASSAY_MARKERS_FD]\"");
  ::unsetenv("ASSAY_MARKERS_FD");
  EXPECT_EQ(run.output_end, "[]\n") << "one that was meant for this process is not handed on";
}

TEST(RunChild, IsNotHandedOnWhatItIsToDoWithout) {
  ::setenv("ASSAY_TEST_KEPT", "kept", 1);
  ::setenv("ASSAY_TEST_LEFT", "left", 1);
  ChildOptions options;
  options.without = {"ASSAY_TEST_LEFT"};
  const ChildRun run = run_text("echo \"[$ASSAY_TEST_KEPT$ASSAY_TEST_LEFT]\"", options);
  ::unsetenv("ASSAY_TEST_KEPT");
  ::unsetenv("ASSAY_TEST_LEFT");
  EXPECT_EQ(run.output_end, "[kept]\n");
}

TEST(RunChild, AnInterruptEndsTheWholeTree) {
  std::atomic<bool> interrupted = false;
  ChildOptions options;
  options.interrupted = &interrupted;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    interrupted = true;
  });
  const double begin_s = now_s();
  const ChildRun run = run_text("sleep 60 & sleep 60; echo woken", options);
  user.join();
  EXPECT_TRUE(run.was_interrupted);
  EXPECT_LT(now_s() - begin_s, 30);
  EXPECT_NE(run.signal + run.exit_code, 0);
}

TEST(RunChild, WhoIgnoresTheInterruptIsKilled) {
  std::atomic<bool> interrupted = true;
  ChildOptions options;
  options.interrupted = &interrupted;
  const ChildRun run = run_text("trap '' INT; sleep 60; sleep 60", options);
  EXPECT_TRUE(run.was_interrupted);
  EXPECT_EQ(run.signal, SIGKILL);
}

}  // namespace
}  // namespace assay
