// Preloaded into one rank of a program that Open MPI runs: ends it, as a kill would, at a message that it is about to
// send or a while behind one. So a rank ends at the same place of a training in every run.
//
//   ASSAY_END_AT=17        in front of its 17th message
//   ASSAY_END_AT=17+2500   2,500 microseconds behind the start of it, in front of the 18th at the latest
//   ASSAY_MESSAGES=FILE    a line a message: its tag, and the microseconds since the one before it; "end" and the time
//                          of day in seconds where the rank ends
//
// Microseconds are of the process's own computing, so that they mean the same place on a busy machine.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

long ends_at = 0;
long ends_behind_us = -1;
long sent = 0;
double last_s = 0;  ///< Computed up to the last message.

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void note(const char* line, int length) {
  const char* const file = std::getenv("ASSAY_MESSAGES");
  if (file == nullptr) return;
  const int descriptor = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  if (::write(descriptor, line, static_cast<std::size_t>(length)) != length) std::abort();
  ::close(descriptor);
}

void end_here() {
  char line[64];
  note(line, std::snprintf(line, sizeof line, "end %.3f\n", seconds(CLOCK_REALTIME)));
  ::kill(::getpid(), SIGKILL);
}

void note_message(int tag) {
  const double now_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
  char line[64];
  note(line, std::snprintf(line, sizeof line, "%d %.0f\n", tag, sent == 1 ? 0 : (now_s - last_s) * 1e6));
  last_s = now_s;
}

__attribute__((constructor)) void read_end() {
  const char* const text = std::getenv("ASSAY_END_AT");
  if (text == nullptr) return;
  char* rest = nullptr;
  ends_at = std::strtol(text, &rest, 10);
  if (*rest == '+') ends_behind_us = std::strtol(rest + 1, nullptr, 10);
}

void end_behind() {
  std::thread([last_s = last_s] {
    const double end_s = last_s + static_cast<double>(ends_behind_us) * 1e-6;
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end_s) ::usleep(50);
    end_here();
  }).detach();
}

}  // namespace

// As Open MPI's header has it, whose handles are pointers; the test program needs no MPI to be built.
// NOLINTNEXTLINE(readability-function-size): the parameters are MPI's
extern "C" int MPI_Isend(const void* from, int count, void* type, int to, int tag, void* all, void* request) {
  using Send = int(const void*, int, void*, int, int, void*, void*);
  static auto* const real = reinterpret_cast<Send*>(::dlsym(RTLD_NEXT, "MPI_Isend"));
  ++sent;
  note_message(tag);
  if (sent == ends_at + (ends_behind_us < 0 ? 0 : 1)) end_here();
  if (sent == ends_at) end_behind();
  return real(from, count, type, to, tag, all, request);
}
