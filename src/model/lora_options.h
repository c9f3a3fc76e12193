#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// What adapters are made anew; the defaults are those of PEFT's LoraConfig.
struct LoraOptions {
  std::int64_t rank = 8;
  double alpha = 8;                       ///< What the adapter adds is multiplied by alpha / rank.
  std::vector<std::string> modules = {};  ///< Last parts of names, or all-linear; empty: PEFT's choice for the family.

  bool operator==(const LoraOptions&) const = default;
};
/// "RANK[:alpha][:module,module]"; throws a user error naming `option`.
LoraOptions parse_lora(std::string_view text, std::string_view option);
std::string words(const LoraOptions& options);

}  // namespace assay
