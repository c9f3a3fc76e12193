#pragma once

#include <string>

#include "report/phrases.h"

namespace assay {

/// What the figures of a row are of, by its mode.
struct ModeWords {
  Mode mode;
  const char* sample;  ///< What one sample times: "a whole forward pass".
  const char* each;    ///< What energy is of: "sequence".
  const char* rate;    ///< What is counted a second: "tokens".
};
const ModeWords& mode_words(const Record& record);

/// `text` with what these rows count a second for its "{}": "tokens", "tokens and runs".
std::string with_rates(const char* text, const Records& rows);

}  // namespace assay
