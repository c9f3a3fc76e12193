#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"

namespace assay {
namespace {

/// 3.5 times the index of the largest published checkpoints (some 9 MB).
constexpr std::size_t most_index_bytes = std::size_t{32} << 20;

using WeightMap = std::map<std::string, std::string>;  // tensor name -> shard

/// Which shard holds a tensor is the index's word, so a shard must not lead out of the folder.
void check_shard_name(const std::string& shard, const std::string& index) {
  const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                     shard.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain) fail_user("{}: shard '{}' is not a plain file name in the folder", index, printable(shard));
}

WeightMap read_weight_map(const std::filesystem::path& path) {
  const std::string index = path.string();
  const Json json = parse_json(read_file(path, most_index_bytes), index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    fail_user("{}: has no 'weight_map' object", index);
  }
  WeightMap map;
  for (const auto& [tensor, shard] : json["weight_map"].items()) {
    if (!shard.is_string()) fail_user("{}: the shard of '{}' is not a string", index, printable(tensor));
    check_shard_name(shard.get_ref<const std::string&>(), index);
    map.emplace(tensor, shard.get<std::string>());
  }
  if (map.empty()) fail_user("{}: its 'weight_map' is empty", index);
  return map;
}

/// Every tensor of the shards is mapped to the shard that holds it.
void check_extra(const Safetensors& whole, const WeightMap& map, const std::string& index) {
  for (const StoredTensor& tensor : whole.tensors) {
    const std::string shard = whole.path_of(tensor).filename().string();
    const auto mapped = map.find(tensor.name);
    if (mapped == map.end()) {
      fail_user("{}: does not name tensor '{}', which '{}' holds", index, printable(tensor.name), printable(shard));
    }
    if (mapped->second != shard) {
      fail_user("{}: tensor '{}' is mapped to '{}', but '{}' holds it", index, printable(tensor.name),
                printable(mapped->second), printable(shard));
    }
  }
}

/// Every mapped tensor exists.
void check_missing(const Safetensors& whole, const WeightMap& map, const std::string& index) {
  for (const auto& [tensor, shard] : map) {
    if (whole.find(tensor) == nullptr) {
      fail_user("{}: tensor '{}' is mapped to '{}', which does not hold it", index, printable(tensor),
                printable(shard));
    }
  }
}

Safetensors open_shards(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const WeightMap map = read_weight_map(path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map) shards.insert(shard);
  Safetensors whole;
  for (const std::string& shard : shards) add_safetensors_file(whole, folder / shard);
  std::sort(whole.tensors.begin(), whole.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  check_extra(whole, map, path.string());
  check_missing(whole, map, path.string());
  return whole;
}

}  // namespace

Safetensors open_safetensors_folder(const std::filesystem::path& folder) {
  const std::filesystem::path single = folder / "model.safetensors";
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (is_there(single)) return open_safetensors(single);
  if (is_there(index)) return open_shards(folder, index);
  fail_user("{}: holds neither model.safetensors nor model.safetensors.index.json", folder.string());
}

}  // namespace assay
