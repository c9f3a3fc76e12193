#include "kernels/choices.h"

#include <fmt/format.h>

#include <span>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folders.h"
#include "base/hash.h"
#include "base/json.h"

namespace assay {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;

Json to_json(const std::map<std::string, KernelChoice>& choices, const std::string& made_for) {
  Json json = {{"made_for", made_for}, {"choices", Json::object()}};
  for (const auto& [key, choice] : choices) json["choices"][key] = {{"words", choice.words}, {"how", choice.how}};
  return json;
}

}  // namespace

KernelChoices::KernelChoices(const std::string& library, std::string made_for) : made_for_(std::move(made_for)) {
  const std::string hash = sha256_hex(std::as_bytes(std::span(made_for_))).substr(0, 16);
  const std::optional<std::filesystem::path> cache = find_cache_folder();
  if (!cache) return;
  file_ = *cache / fmt::format("{}-{}.json", library, hash);
  try {
    choices_ = read();
  } catch (const Error& error) {
    fault_ = error.what();
  }
}

std::map<std::string, KernelChoice> KernelChoices::read() const {
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return {};
  const Json json = parse_json(read_file(file_, most_bytes), file_.string());
  std::map<std::string, KernelChoice> choices;
  try {
    if (json.at("made_for").get<std::string>() != made_for_)
      fail_user("{}: is made for another device", file_.string());
    for (const auto& [key, choice] : json.at("choices").items())
      choices[key] = {choice.at("words").get<std::vector<std::uint64_t>>(), choice.at("how").get<std::string>()};
  } catch (const Json::exception&) {
    fail_user("{}: is no file of kernel choices", file_.string());
  }
  return choices;
}

const KernelChoice* KernelChoices::find(const std::string& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

void KernelChoices::keep(const std::string& key, KernelChoice choice) {
  choices_[key] = std::move(choice);
  if (file_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  try {
    choices_.merge(read());
  } catch (const Error&) {  // What stands there is no such file: it is replaced.
  }
  try {
    write_file_atomically(file_, to_json(choices_, made_for_).dump(1) + "\n");
  } catch (const Error&) {
  }
}

}  // namespace assay
