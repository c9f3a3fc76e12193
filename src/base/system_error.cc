#include "base/system_error.h"

#include <cerrno>
#include <cstring>

namespace assay {

ExitCode exit_code_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:  // RLIMIT_FSIZE, or what the file system can hold.
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOLCK:
    case EPIPE:
      return ExitCode::lacking;
    default:
      return ExitCode::user;
  }
}

void fail_call(const std::string& subject, int error) {
  throw Error(exit_code_of(error), subject + ": " + std::strerror(error));
}

}  // namespace assay
