#include "text/id_list.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr std::int64_t most_listed = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse_id(std::string_view word, std::size_t index, const std::string& name) {
  fail_user("{}: id {} is {}, not a whole number from 0 to 2^31 - 1", name, index, printable(word, 40));
}

std::int32_t listed_id(const Json& value, std::size_t index, const std::string& name) {
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= most_listed);
  if (!fits || value.get<std::int64_t>() < 0) refuse_id(value.dump(), index, name);
  return value.get<std::int32_t>();
}

std::vector<std::int32_t> ids_of_json(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  const Json& list = json.is_object() && json.contains("ids") ? json["ids"] : json;
  if (!list.is_array()) fail_user("{}: is neither {{\"ids\": [..]}} nor a list of ids", name);
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  for (const Json& value : list) ids.push_back(listed_id(value, ids.size(), name));
  return ids;
}

std::vector<std::int32_t> ids_of_words(std::string_view text, const std::string& name) {
  std::vector<std::int32_t> ids;
  for (std::size_t at = text.find_first_not_of(white_space); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(white_space, at), text.size());
    std::int64_t id = -1;
    const auto [stop, fault] = std::from_chars(text.data() + at, text.data() + end, id);
    if (fault != std::errc() || stop != text.data() + end || id < 0 || id > most_listed)
      refuse_id(text.substr(at, end - at), ids.size(), name);
    ids.push_back(static_cast<std::int32_t>(id));
    at = text.find_first_not_of(white_space, end);
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(white_space);
  const bool is_json = first < text.size() && (text[first] == '{' || text[first] == '[');
  return is_json ? ids_of_json(text, name) : ids_of_words(text, name);
}

}  // namespace assay
