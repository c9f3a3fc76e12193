#include "measure/series.h"

namespace assay {

const char* name(StoppedBy cause) {
  switch (cause) {
    case StoppedBy::width:
      return "width";
    case StoppedBy::budget:
      return "budget";
    case StoppedBy::rounds:
      return "rounds";
    case StoppedBy::interrupted:
      return "interrupted";
    case StoppedBy::too_slow:
      return "too_slow";
  }
  return "";
}

std::optional<double> Series::energy_j() const {
  if (!energy || energy->windows == 0) return std::nullopt;
  return energy->joules / static_cast<double>(energy->runs);
}

}  // namespace assay
