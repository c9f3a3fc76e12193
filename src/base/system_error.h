#pragma once

#include <string>

#include "base/error.h"

namespace assay {

/// Whose fault a failed system call is: of a full disk, a broken device or a limit of the machine (`lacking`), or of
/// the path that was given (`user`).
ExitCode exit_code_of(int error);

/// Throws the error of a system call that failed with `error` (an errno) on `subject`: "subject: reason".
[[noreturn]] void fail_call(const std::string& subject, int error);

}  // namespace assay
