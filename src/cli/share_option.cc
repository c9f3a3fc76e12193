#include "cli/share_option.h"

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace assay {

double share_of(const std::string& text, const char* option) {
  const bool is_percent = text.ends_with('%');
  double value = 0;
  const std::string number = is_percent ? text.substr(0, text.size() - 1) : text;
  if (!CLI::detail::lexical_cast(number, value) || !(value >= 0 && value < 1000)) {
    fail_user("{} {}: not a share such as 3% or 0.03", option, text);
  }
  return is_percent ? value / 100 : value;
}

double tolerance_of(const std::string& text, const char* option) {
  const double share = share_of(text, option);
  if (share >= 1 && !text.ends_with('%')) fail_user("{} {}: of percents it needs its %, such as 3%", option, text);
  return share;
}

}  // namespace assay
