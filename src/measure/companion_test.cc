#include "measure/companion.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "measure/start_program.h"

namespace assay {
namespace {

using AskedKind = CompanionReply::Kind;

CompanionStart shell(const std::string& script) {
  return {.words = {"/bin/sh", "-c", script}};
}

TEST(Companion, AnswersLineByLine) {
  Companion one(shell("while read -r line; do echo \"<$line>\"; done"));
  EXPECT_EQ(one.ask("first", 60).text, "<first>");
  EXPECT_EQ(one.ask("", 60).text, "<>");
  one.stop();
  one.stop();
  const CompanionReply reply = one.ask("{\"run\": 1}", 60);
  EXPECT_EQ(reply.kind, AskedKind::answered);
  EXPECT_EQ(reply.text, "<{\"run\": 1}>") << "a question lets it go on";
}

TEST(Companion, UsesNoProcessorWhileItIsStopped) {
  Companion busy(shell("read -r line; (while :; do :; done) & echo begun; while :; do :; done"));
  EXPECT_EQ(busy.ask("go", 60).text, "begun");
  busy.stop();
  const double before_s = busy.processor_s();
  EXPECT_GE(before_s, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(busy.processor_s() - before_s, 0.05) << "it would have used 0.2 s";
}

TEST(Companion, DeathIsASentenceWithItsLastWords) {
  Companion one(shell("read -r line; echo 'first line' >&2; echo 'no such layer' >&2; exit 3"));
  const CompanionReply reply = one.ask("go", 60);
  EXPECT_EQ(reply.kind, AskedKind::ended);
  EXPECT_EQ(reply.text, "its process ended with exit code 3: no such layer");
  EXPECT_TRUE(one.has_ended());
  EXPECT_EQ(one.ask("again", 60).text, reply.text);
  EXPECT_EQ(one.processor_s(), 0);
  EXPECT_FALSE(one.peak_bytes());

  Companion killed(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.hear(60).text, "its process died of SIGSEGV");
}

TEST(Companion, SilenceEndsItAndAllThatItStarted) {
  Pipe held = pipe_from_program();
  ::fcntl(held.theirs.get(), F_SETFD, 0);
  Companion one(shell("sleep 1000 & while read -r line; do :; done"));
  held.theirs = Descriptor();
  const CompanionReply reply = one.ask("go", 0.05);
  EXPECT_EQ(reply.kind, AskedKind::silent);
  EXPECT_EQ(reply.text, "its process gave no answer within 0.05 s: it hung, or is too slow");
  char byte = 0;
  EXPECT_EQ(::read(held.ours.get(), &byte, 1), 0) << "nobody holds the other end any more";
}

TEST(Companion, ALineWithoutEndIsRefused) {
  Companion one(shell("head -c 3000000 /dev/zero | tr '\\0' x; sleep 1000"));
  const CompanionReply reply = one.hear(60);
  EXPECT_EQ(reply.kind, AskedKind::silent);
  EXPECT_EQ(reply.text, "its process said more than a line");
}

TEST(Companion, AnInterruptEndsWaiting) {
  std::atomic<bool> interrupted = true;
  CompanionStart start = shell("sleep 1000");
  start.interrupted = &interrupted;
  Companion one(start);
  EXPECT_EQ(one.ask("go", 1000).kind, AskedKind::interrupted);
}

TEST(Companion, HasTheEnvironmentAndFolderThatItIsGiven) {
  ::setenv("ASSAY_TEST_SECOND", "not handed on", 1);
  CompanionStart start = shell("pwd; echo $ASSAY_TEST_WORD ${ASSAY_TEST_SECOND-unset}");
  start.environment = {"ASSAY_TEST_WORD=here"};
  start.without = {"ASSAY_TEST_SECOND"};
  start.folder = "/";
  Companion one(start);
  EXPECT_EQ(one.hear(60).text, "/");
  EXPECT_EQ(one.hear(60).text, "here unset");
  ::unsetenv("ASSAY_TEST_SECOND");
}

TEST(Companion, AProgramThatIsNotThereIsAUserError) {
  try {
    Companion one({.words = {"/no/such/program"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    EXPECT_STREQ(error.what(), "/no/such/program: No such file or directory");
  }
}

}  // namespace
}  // namespace assay
