#pragma once

#include <string>
#include <vector>

namespace assay {

/// A name that only its own file knows: declared in an anonymous namespace.
struct LocalName {
  std::string scope;  ///< The namespaces around it: "assay::cpu".
  std::string name;
};

/// Functions, types, aliases, variables and constants that a C++ source text declares in anonymous namespaces, each as
/// often as it is declared there (overloads). Goes by the project's form of code: one declaration a statement.
std::vector<LocalName> local_names(const std::string& text);

}  // namespace assay
