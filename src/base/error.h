#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay {

/// Exit codes of the program. Documented in README.md; tests rely on them.
enum class ExitCode : int {
  ok = 0,
  user = 2,          ///< A mistake in what the user gave: a file, an option, a model.
  lacking = 3,       ///< This machine or this build lacks something: memory, a driver, an instruction set.
  defect = 70,       ///< A defect of ours.
  interrupted = 130  ///< Ctrl-C; what was measured until then has been printed and saved.
};

/// Every failure that reaches the user. `what()` is one line: the thing at fault first, then what is wrong with it.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Memory would not suffice, which is mostly known before anything was allocated, or the system refused it. A cell of a
/// grid becomes an `oom` row. Figures that nobody knows are 0.
class OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& message, double needed, double available)
      : Error(ExitCode::lacking, message), needed_bytes(needed), available_bytes(available) {}
  double needed_bytes;
  double available_bytes;
};

/// Throws Error(code) with what is formatted so: once for all kinds of arguments, which keeps callers small.
[[noreturn]] void fail_formatted(ExitCode code, fmt::string_view format, fmt::format_args args);

/// Throws Error(ExitCode::user): the user gave something wrong.
template <typename... Args>
[[noreturn]] void fail_user(fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(ExitCode::user, format, fmt::make_format_args(args...));
}

/// Throws Error(ExitCode::lacking): this machine lacks something.
template <typename... Args>
[[noreturn]] void fail_lacking(fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(ExitCode::lacking, format, fmt::make_format_args(args...));
}

/// Throws OutOfMemory: `what` asked the system for `bytes` and was refused.
[[noreturn]] void fail_memory(const std::string& what, std::size_t bytes);

/// Runs `action`; what the standard library or the language reports as refused memory leaves it as OutOfMemory.
template <typename Action>
decltype(auto) with_memory_errors(Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("memory: the system refused an allocation", 0, 0);
  }
}

/// Throws Error(ExitCode::defect): something that cannot happen did.
[[noreturn]] void fail_assertion(const char* condition, const char* file, int line);

#define ASSAY_ASSERT(condition) \
  (static_cast<bool>(condition) ? void(0) : ::assay::fail_assertion(#condition, __FILE__, __LINE__))

}  // namespace assay
