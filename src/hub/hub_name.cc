#include "hub/hub_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/lower_case.h"
#include "base/printable.h"
#include "hub/elsewhere.h"

namespace assay {
namespace {

constexpr std::string_view hub_prefix = "hf:";
constexpr std::string_view data_sets = "datasets/";
constexpr const char* endings_of_data[] = {".tsv", ".jsonl", ".txt"};
constexpr std::size_t most_told = 10;

/// What the name of a part of a split file ends in; 0 stands for any digit.
constexpr std::string_view split_ending = "-00000-of-00000";

/// A file's path without its ending and, of a split one, without "-00001-of-00003".
std::string model_of_gguf(const std::filesystem::path& file) {
  std::string path = (file.parent_path() / file.stem()).string();
  const auto is_like = [](char pattern, char c) { return pattern == '0' ? c >= '0' && c <= '9' : c == pattern; };
  const auto begin = path.size() - std::min(path.size(), split_ending.size());
  if (std::equal(split_ending.begin(), split_ending.end(), path.begin() + static_cast<std::ptrdiff_t>(begin),
                 path.end(), is_like))
    path.resize(begin);
  return path;
}

bool is_called(const std::string& file, const std::string& word) {
  if (word.empty()) return true;
  const std::string model = lower_case(model_of_gguf(file));
  if (!model.ends_with(lower_case(word))) return false;
  return model.size() == word.size() ||
         std::string_view("-._/").find(model[model.size() - word.size() - 1]) != std::string_view::npos;
}

}  // namespace

bool is_hub_name(std::string_view name) {
  return name.starts_with(hub_prefix);
}

HubName parse_hub_name(std::string_view name) {
  std::string_view rest = name.substr(std::min(hub_prefix.size(), name.size()));
  HubName parts;
  if (rest.starts_with(data_sets)) {
    parts.kind = HubKind::data_set;
    rest.remove_prefix(data_sets.size());
  }
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) parts.file = rest.substr(colon + 1);
  const bool lacks_file = colon != std::string_view::npos && !is_inner_path(parts.file);
  rest = rest.substr(0, colon);
  const std::size_t at = rest.find('@');
  if (at != std::string_view::npos) parts.revision = rest.substr(at + 1);
  parts.repository = rest.substr(0, at);
  const bool is_name = is_repository_word(parts.repository) || is_repository_name(parts.repository);
  if (!is_hub_name(name) || !is_name || lacks_file || !is_inner_path(parts.revision))
    fail_user("{}: is no name of the hub; they are hf:[datasets/]ORG/NAME[@REVISION][:FILE]", printable(name));
  return parts;
}

const char* plural(HubKind kind) {
  return kind == HubKind::model ? "models" : "datasets";
}

bool is_inner_path(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_repository_word(text);
  return is_repository_word(text.substr(0, slash)) && is_inner_path(text.substr(slash + 1));
}

bool is_gguf_model(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  const std::string_view base = slash == std::string_view::npos ? file : file.substr(slash + 1);
  return base.ends_with(".gguf") && !base.starts_with("mmproj");
}

std::vector<std::string> called_by(std::vector<std::string> files, const std::string& word) {
  const auto is_other = [&](const std::string& file) { return !is_gguf_model(file) || !is_called(file, word); };
  files.erase(std::remove_if(files.begin(), files.end(), is_other), files.end());
  return files;
}

std::string only_model(std::string_view name, const std::vector<std::string>& files) {
  std::set<std::string> models;
  for (const std::string& file : files) models.insert(model_of_gguf(file));
  if (models.size() > 1)
    fail_user("{}: may be any of {}; ':FILE' behind it says which", printable(name), fmt::join(models, ", "));
  return files.empty() ? "" : *std::min_element(files.begin(), files.end());
}

std::string data_file(const HubName& name, const std::vector<std::string>& files) {
  const auto is_meant = [&](const std::string& file) {
    if (!name.file.empty()) return file == name.file;
    return std::any_of(std::begin(endings_of_data), std::end(endings_of_data),
                       [&](const char* ending) { return file.ends_with(ending); });
  };
  std::vector<std::string> meant;
  std::copy_if(files.begin(), files.end(), std::back_inserter(meant), is_meant);
  if (meant.size() < 2) return meant.empty() ? "" : meant.front();
  std::sort(meant.begin(), meant.end());
  const std::string more = meant.size() > most_told ? fmt::format(" and {} more", meant.size() - most_told) : "";
  meant.resize(std::min(meant.size(), most_told));
  fail_user("{}: may be any of {}{}; ':FILE' behind it says which", name.repository,
            printable(fmt::format("{}", fmt::join(meant, ", ")), 600), more);
}

bool has_tokenizer(const std::vector<std::string>& files) {
  const auto has = [&](const char* file) { return std::find(files.begin(), files.end(), file) != files.end(); };
  return has("tokenizer.json") || has("vocab.txt") || (has("vocab.json") && has("merges.txt"));
}

std::vector<std::string> files_of_model(const std::vector<std::string>& files, const std::string& first) {
  std::vector<std::string> parts;
  std::copy_if(files.begin(), files.end(), std::back_inserter(parts), [&](const std::string& file) {
    return is_gguf_model(file) && model_of_gguf(file) == model_of_gguf(first);
  });
  return parts;
}

}  // namespace assay
