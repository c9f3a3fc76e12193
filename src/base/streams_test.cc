#include "base/streams.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.h"

namespace assay {
namespace {

/// What a forked process that runs `work` returns.
template <typename Work>
int exit_code_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Streams, AClosedStandardStreamIsNoPlaceForAFile) {
  EXPECT_EQ(exit_code_of_child([] {
              for (int i = 0; i < 3; ++i) ::close(i);
              open_standard_streams();
              return ::open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 1;
            }),
            0);
}

TEST(Streams, AFullStandardOutputIsAnErrorAndAFullStandardErrorIsNone) {
  EXPECT_EQ(exit_code_of_child([] {
              ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO);
              tell("nobody hears this\n");
              return 0;
            }),
            0);
  EXPECT_EQ(exit_code_of_child([] {
              ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
              try {
                print("results\n");
              } catch (const Error& e) {
                return std::string(e.what()) == "standard output: No space left on device" ? static_cast<int>(e.code())
                                                                                           : 1;
              }
              return 0;
            }),
            static_cast<int>(ExitCode::lacking));
}

}  // namespace
}  // namespace assay
