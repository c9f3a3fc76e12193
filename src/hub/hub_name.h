#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class HubKind : std::uint8_t { model, data_set };

/// What of a model is needed: all of it, what makes ids of texts, or what the cache has, for which no hub is asked.
enum class HubNeed : std::uint8_t { model, tokenizer, cached };

/// What "hf:[datasets/]ORG/NAME[@REVISION][:FILE]" says. Old repositories of the hub have a NAME alone.
struct HubName {
  std::string repository = {};    ///< "ORG/NAME".
  std::string revision = "main";  ///< A branch, a tag, "refs/pr/N" or a commit.
  std::string file = {};          ///< A file of the repository or what a .gguf is called by ("Q4_K_M"); or empty.
  HubKind kind = HubKind::model;
};

bool is_hub_name(std::string_view name);
/// Throws a user error for a name that is not of that form.
HubName parse_hub_name(std::string_view name);
/// How the hub calls all repositories of its kind: "models", "datasets".
const char* plural(HubKind kind);

/// Words of letters, digits, '-', '_' and '.' (not in front) between slashes: nothing that leads out of a folder.
bool is_inner_path(std::string_view text);
/// Whether it is a model of language in GGUF, not the projector of images beside one.
bool is_gguf_model(std::string_view file);
/// Those of the .gguf files that are called by the word: their name is it, or ends in it behind '-', '.' or '_';
/// capitals make no difference. All of them for an empty word.
std::vector<std::string> called_by(std::vector<std::string> files, const std::string& word);
/// The one model that the .gguf files are, by its first file (a split one has several); an empty path for none. Throws
/// a user error, which `name` begins, where they are several models.
std::string only_model(std::string_view name, const std::vector<std::string>& files);
/// The file of a data set that the name means: the named one, or the only one in a format that is read (.tsv, .jsonl,
/// .txt); empty for none. Throws a user error where it may be several.
std::string data_file(const HubName& name, const std::vector<std::string>& files);
/// Whether the files are enough to make ids of texts, without a .gguf.
bool has_tokenizer(const std::vector<std::string>& files);
/// The files that are one model with that one.
std::vector<std::string> files_of_model(const std::vector<std::string>& files, const std::string& first);

}  // namespace assay
