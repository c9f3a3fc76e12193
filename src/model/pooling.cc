#include "model/pooling.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "model/config_reader.h"
#include "model/families.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = 1 << 20;

/// A switch of its own, or the value of `pooling_mode`.
struct PoolingWord {
  const char* key;
  const char* word;
  bool is_built = false;
  Pooling pooling = Pooling::mean;
};
constexpr PoolingWord pooling_words[] = {{"pooling_mode_mean_tokens", "mean", true, Pooling::mean},
                                         {"pooling_mode_cls_token", "cls", true, Pooling::first},
                                         {"pooling_mode_max_tokens", "max"},
                                         {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                         {"pooling_mode_weightedmean_tokens", "weightedmean"},
                                         {"pooling_mode_lasttoken", "lasttoken"}};

Pooling pooling_of(const ConfigReader& in) {
  const std::string mode = in.text_or("pooling_mode", "");
  std::vector<const PoolingWord*> chosen;
  for (const PoolingWord& known : pooling_words) {
    if (in.flag_or(known.key, false) || mode == known.word) chosen.push_back(&known);
  }
  if (chosen.size() == 1 && chosen[0]->is_built) return chosen[0]->pooling;
  std::string words;
  for (const PoolingWord* known : chosen) words += (words.empty() ? "" : " and ") + std::string(known->word);
  fail_user("{}: pools by {}; mean and cls, one of the two, are supported", in.file(),
            words.empty() ? "no mode that is known" : words);
}

/// The folder of the module that pools; refuses modules that change the embedding otherwise. Normalize changes its
/// length alone, of which similarities know nothing.
std::string pooling_folder(const fs::path& modules) {
  std::string folder = "1_Pooling";
  if (!is_there(modules)) return folder;
  const Json list = parse_json(read_file(modules, most_bytes), modules.string());
  if (!list.is_array()) fail_user("{}: is no list of modules", modules.string());
  for (const Json& module : list) {
    const std::string file = modules.string();
    const ConfigReader in(module, file);
    const std::string type = in.text_or("type", "");
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Pooling") folder = in.text_or("path", folder);
    if (kind != "Transformer" && kind != "Pooling" && kind != "Normalize")
      fail_user("{}: the module '{}' is not supported; Transformer, Pooling and Normalize are", file,
                printable(type, 60));
  }
  return folder;
}

}  // namespace

void read_pooling(const fs::path& folder, ModelConfig& config) {
  const bool may_embed = config.task == Task::embedding || config.task == Task::masked_language_model;
  if (config.family->kind != FamilyKind::encoder || !may_embed) return;
  const fs::path file = folder / pooling_folder(folder / "modules.json") / "config.json";
  if (!is_there(file)) return;
  const std::string name = file.string();
  const Json json = parse_json(read_file(file, most_bytes), name);
  config.pooling = pooling_of(ConfigReader(json, name));
  config.task = Task::embedding;
}

}  // namespace assay
