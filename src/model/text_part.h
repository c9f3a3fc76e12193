#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"

namespace assay {

/// The part that reads text of a model of several: its configuration stands under `text_config`, its parameters under
/// `language_model`. A model of a known family by itself.
struct TextPart {
  const char* model_type;  ///< Of the whole: "gemma3".
  const char* text_type;   ///< What `text_config` calls its model_type; where it says nothing, this.
  const char* family;      ///< The row of families() that it is.
  const char* beside;      ///< What stands beside it and is not loaded: "the vision tower".
  const char* defaults;    ///< What published files leave to the library, a JSON object.
};

/// Null where the configuration is of no such model. Throws a user error where it is, and its text part is another than
/// those that are known.
const TextPart* find_text_part(const Json& config, const std::string& file);
/// Of all of them: "gemma3, mistral3", for an error.
std::string text_part_types();
/// config.json of the part by itself.
Json text_config(const TextPart& part, const Json& config, const std::string& file);
/// The parameter's name as the part has it by itself; absent where it belongs to what stands beside.
std::optional<std::string> name_in_text_part(const std::string& tensor);

}  // namespace assay
