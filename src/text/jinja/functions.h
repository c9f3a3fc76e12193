#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace assay::jinja {

/// What a call, a filter or a test was given, its subject left out.
struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// The arguments in the order of `parameters`; what was not given and is not required is Undefined without a name.
/// Throws a user error that names `what` for one too many, too few or of another name.
Items bind_arguments(const Site& site, const std::string& what, const Arguments& arguments,
                     const std::vector<std::string>& parameters, std::size_t required);

/// The three throw a user error for a name that is not known.
Value apply_filter(const Site& site, const std::string& name, const Value& input, const Arguments& arguments);
bool apply_test(const Site& site, const std::string& name, const Value& input, const Arguments& arguments);
/// A method of str or dict.
Value call_method(const Site& site, const Value& object, const std::string& name, const Arguments& arguments);

/// `a sign b` for <, <=, >, >=: numbers or texts.
bool in_order(const Site& site, const std::string& sign, const Value& a, const Value& b);

}  // namespace assay::jinja
