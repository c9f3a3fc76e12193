#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/precision.h"

namespace assay {

/// Parameters that are commonly updated without weight decay.
enum class ParameterKind : std::uint8_t {
  norms,      ///< Gains and biases of normalisations.
  biases,     ///< All, those of normalisations too.
  embeddings  ///< Tables of tokens, positions and types; a head that shares the tokens' table is that table.
};

/// A learning rate of the parameters of a role, in place of all others'.
struct RoleRate {
  Role role;
  double rate;
};

/// Which parameters an optimizer treats otherwise than the rest.
struct ParameterGroups {
  std::vector<ParameterKind> no_decay = {};  ///< In the order of the kinds.
  std::vector<RoleRate> rates = {};          ///< In the order of the roles, each once.
};

/// "norms,biases,embeddings", or of these some; "usual" is norms and biases. Throws a user error that begins with
/// `option` for any other word.
std::vector<ParameterKind> parse_no_decay(std::string_view list, std::string_view option);
/// "embedding=1e-4,head=3e-3": the roles that have parameters. Throws likewise.
std::vector<RoleRate> parse_role_rates(std::string_view list, std::string_view option);
/// What the two parse to the same.
std::string words(const std::vector<ParameterKind>& kinds);
std::string words(const std::vector<RoleRate>& rates);

}  // namespace assay
