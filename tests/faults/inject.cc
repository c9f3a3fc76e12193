// Preloaded into the program under test: makes the n-th system call of one kind fail, as a full disk, a broken one or a
// limit would. Only calls between the start and the end of main count, of libraries' files as well as of ours.
//
//   ASSAY_FAULT=write:7      the 7th call of kind `write` fails
//   ASSAY_FAULT=write:7+     and all after it
//   ASSAY_FAULT=write:7!     the program is killed there instead
//   ASSAY_FAULT_COUNTS=FILE  after main, the number of calls of each kind, a line a kind
//
// Programs that this one starts are left alone.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind { open_kind, write_kind, sync_kind, rename_kind, read_kind, alloc_kind, kinds };
constexpr const char* names[kinds] = {"open", "write", "sync", "rename", "read", "alloc"};
constexpr int errors[kinds] = {EMFILE, ENOSPC, EIO, EIO, EIO, ENOMEM};

std::atomic<long> counts[kinds];
std::atomic<bool> active{false};
int failing_kind = -1;
long failing_call = 0;
bool and_all_after = false;
bool is_killed = false;
char counts_file[4096];

bool fails(Kind kind) {
  if (!active.load(std::memory_order_relaxed)) return false;
  const long call = counts[kind].fetch_add(1) + 1;
  if (kind != failing_kind) return false;
  if (call != failing_call && !(and_all_after && call > failing_call)) return false;
  if (is_killed) ::kill(::getpid(), SIGKILL);
  errno = errors[kind];
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void read_request() {
  if (const char* file = std::getenv("ASSAY_FAULT_COUNTS")) std::strncpy(counts_file, file, sizeof counts_file - 1);
  const char* request = std::getenv("ASSAY_FAULT");
  for (int kind = 0; request != nullptr && kind < kinds; ++kind) {
    const std::size_t length = std::strlen(names[kind]);
    if (std::strncmp(request, names[kind], length) != 0 || request[length] != ':') continue;
    char* end = nullptr;
    failing_kind = kind;
    failing_call = std::strtol(request + length + 1, &end, 10);
    and_all_after = *end == '+';
    is_killed = *end == '!';
  }
  ::unsetenv("LD_PRELOAD");
}

void write_counts() {
  if (counts_file[0] == 0) return;
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, counts_file, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  if (file < 0) return;
  for (int kind = 0; kind < kinds; ++kind) {
    char line[64];
    const int length = std::snprintf(line, sizeof line, "%s %ld\n", names[kind], counts[kind].load());
    ::syscall(SYS_write, file, line, length);
  }
  ::syscall(SYS_close, file);
}

using Main = int(int, char**, char**);
Main* real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_request();
  active = true;
  const int result = real_main(argc, argv, environment);
  active = false;
  write_counts();
  return result;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

void* allocate(std::size_t bytes) {
  if (fails(alloc_kind)) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#define FAILING(kind, result, name, parameters, arguments)    \
  result name parameters {                                    \
    if (fails(kind)) return static_cast<result>(-1);          \
    static auto* const real = next<result parameters>(#name); \
    return real arguments;                                    \
  }

#define FAILING_OPEN(name)                                             \
  int name(const char* path, int flags, ...) {                         \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    const mode_t mode = mode_of(flags, rest);                          \
    va_end(rest);                                                      \
    if (fails(open_kind)) return -1;                                   \
    static auto* const real = next<int(const char*, int, ...)>(#name); \
    return real(path, flags, mode);                                    \
  }

#define FAILING_FOPEN(name)                                                 \
  FILE* name(const char* path, const char* mode) {                          \
    if (fails(open_kind)) return nullptr;                                   \
    static auto* const real = next<FILE*(const char*, const char*)>(#name); \
    return real(path, mode);                                                \
  }

extern "C" {

// NOLINTNEXTLINE(readability-function-size): the parameters are the C library's
int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  real_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

FAILING_OPEN(open)
FAILING_OPEN(open64)
FAILING_FOPEN(fopen)
FAILING_FOPEN(fopen64)
FAILING(open_kind, int, mkdir, (const char* path, mode_t mode), (path, mode))
FAILING(open_kind, int, mkostemp, (char* path, int flags), (path, flags))
FAILING(open_kind, int, mkostemp64, (char* path, int flags), (path, flags))

/// Standard error stays: a full disk does not silence it.
ssize_t write(int file, const void* from, std::size_t bytes) {
  if (file != STDERR_FILENO && fails(write_kind)) return -1;
  static auto* const real = next<ssize_t(int, const void*, std::size_t)>("write");
  return real(file, from, bytes);
}
FAILING(write_kind, ssize_t, writev, (int file, const iovec* from, int count), (file, from, count))
FAILING(write_kind, ssize_t, pwrite, (int file, const void* from, std::size_t bytes, off_t at), (file, from, bytes, at))
FAILING(write_kind, ssize_t, pwrite64, (int file, const void* from, std::size_t bytes, off64_t at),
        (file, from, bytes, at))
FAILING(write_kind, int, ftruncate, (int file, off_t bytes), (file, bytes))
FAILING(write_kind, int, ftruncate64, (int file, off64_t bytes), (file, bytes))
FAILING(sync_kind, int, fsync, (int file), (file))
FAILING(sync_kind, int, fdatasync, (int file), (file))
FAILING(rename_kind, int, rename, (const char* from, const char* to), (from, to))
FAILING(rename_kind, int, linkat, (int from_folder, const char* from, int to_folder, const char* to, int flags),
        (from_folder, from, to_folder, to, flags))
FAILING(read_kind, ssize_t, read, (int file, void* to, std::size_t bytes), (file, to, bytes))
FAILING(read_kind, ssize_t, pread, (int file, void* to, std::size_t bytes, off_t at), (file, to, bytes, at))
FAILING(read_kind, ssize_t, pread64, (int file, void* to, std::size_t bytes, off64_t at), (file, to, bytes, at))

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails(file >= 0 ? read_kind : alloc_kind)) return MAP_FAILED;
  static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  return real(at, bytes, protection, flags, file, offset);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (fails(alloc_kind)) return nullptr;
  static auto* const real = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  return real(alignment, bytes);
}

}  // extern "C"

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
