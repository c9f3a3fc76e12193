#include "studies/shared/hindrance.h"

#include "base/error.h"

namespace assay {

std::optional<Hindrance> hindrance_of(const std::function<void()>& work) {
  try {
    with_memory_errors(work);
    return std::nullopt;
  } catch (const OutOfMemory& e) {
    Hindrance hindrance{Status::oom, e.what()};
    if (e.available_bytes > 0) hindrance.available_bytes = static_cast<std::int64_t>(e.available_bytes);
    return hindrance;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    return Hindrance{Status::unsupported, e.what()};
  }
}

void set_outcome(const Hindrance& hindrance, CellOutcome& outcome) {
  outcome.status = hindrance.status;
  outcome.reason = hindrance.reason;
}

}  // namespace assay
