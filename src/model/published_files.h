#pragma once

#include <filesystem>
#include <string>

#include "base/json_fwd.h"
#include "model/model.h"

namespace assay {

/// What a model's weights are read by: its configuration, and how text becomes ids.
constexpr const char* support_files[] = {"config.json",       "tokenizer.json",      "tokenizer_config.json",
                                         "vocab.txt",         "vocab.json",          "merges.txt",
                                         "added_tokens.json", "spiece.model",        "special_tokens_map.json",
                                         "tokenizer.model",   "chat_template.jinja", "generation_config.json"};

/// What a parameter is called in the checkpoint of a model: as in the file that it came from, else as published.
std::string checkpoint_name(const Model& model, const std::string& parameter);

/// config.json of the model. A published folder's may say more than is read here (names of classes, special ids): that
/// stays, but for how its weights were quantised.
Json published_config(const Model& model);

/// The other support files of the model's folder, where it has one.
void copy_support_files(const Model& model, const std::filesystem::path& to);

}  // namespace assay
