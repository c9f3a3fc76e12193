#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace assay::jinja {

struct RenderOptions {
  std::vector<std::pair<std::string, Value>> variables;
  std::time_t now = 0;  ///< What strftime_now takes; shown in the zone of this machine.
  Budget budget = {};
};

/// The template's text with these variables. `name` is the template's in errors. Throws a user error of one line for
/// what is malformed, for what is not supported, named with its line, for what the template itself refuses
/// (raise_exception) and for what takes too much.
std::string render(std::string_view source, const std::string& name, const RenderOptions& options);

}  // namespace assay::jinja
