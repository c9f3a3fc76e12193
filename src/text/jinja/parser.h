#pragma once

#include <string>
#include <string_view>

#include "text/jinja/tree.h"

namespace assay::jinja {

/// The tree of a template. Throws a user error that names the line for what is malformed, nested too deep, or a
/// statement that is not supported.
Block parse_template(std::string_view source, const std::string& name);

}  // namespace assay::jinja
