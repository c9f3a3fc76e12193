#pragma once

#include <map>
#include <string>

#include "program/program.h"
#include "tensor/parameter_groups.h"

namespace assay {

/// What a parameter is to its model.
struct ParameterUse {
  Role role = Role::other;           ///< Of the first operation that reads it.
  std::vector<ParameterKind> kinds;  ///< All that it is of; none for most.
};

/// Of every weight of a forward program, by its name; as build_program made it, before any pass.
std::map<std::string, ParameterUse> parameter_uses(const Program& program);

}  // namespace assay
