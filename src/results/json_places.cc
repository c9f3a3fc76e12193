#include "results/json_places.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

/// "~1" is a dot where names are parted by dots, and a slash where they are parted by slashes.
std::string name_of_part(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_escape = part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
    name += is_escape ? (part[++i] == '0' ? '~' : '.') : part[i];
  }
  return name;
}

constexpr std::size_t most_elements = 100'000;

std::vector<std::string> names_of(std::string_view key) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t dot = key.find('.');
    names.push_back(name_of_part(key.substr(0, dot)));
    if (dot == std::string_view::npos) return names;
    key.remove_prefix(dot + 1);
  }
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

OrderedJson& element_at(OrderedJson& array, const std::string& number) {
  const std::size_t index = number.size() > 6 ? most_elements : std::stoul(number);
  if (index >= most_elements) throw std::out_of_range("an element of an array");
  return array[index];
}

}  // namespace

OrderedJson& member_at(OrderedJson& object, std::string_view key) {
  OrderedJson* at = &object;
  for (const std::string& name : names_of(key)) at = &(*at)[name];
  return *at;
}

OrderedJson& place_at(OrderedJson& object, std::string_view key) {
  OrderedJson* at = &object;
  for (const std::string& name : names_of(key)) {
    const bool is_element = at->is_array() || (at->is_null() && is_number(name));
    at = is_element ? &element_at(*at, is_number(name) ? name : std::string("9999999")) : &(*at)[name];
  }
  return *at;
}

std::size_t parts_of(std::string_view key) {
  return 1 + static_cast<std::size_t>(std::count(key.begin(), key.end(), '.'));
}

std::string key_part(std::string_view name) {
  std::string part;
  for (const char c : name) part += c == '~' ? "~0" : c == '.' ? "~1" : std::string(1, c);
  return part;
}

std::vector<std::string> keys_above(std::string_view key) {
  std::vector<std::string> above;
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
    above.emplace_back(key.substr(0, dot));
  return above;
}

void put_members(const std::vector<JsonMember>& members, OrderedJson& object) {
  std::set<std::string> held;  // Inner objects with a member that is not null.
  for (const auto& [key, value] : members) {
    if (value.is_null()) continue;
    for (std::string& above : keys_above(key)) held.insert(std::move(above));
  }
  for (const auto& [key, value] : members) {
    const std::vector<std::string> above = keys_above(key);
    const auto empty = std::find_if(above.begin(), above.end(), [&](const auto& one) { return !held.contains(one); });
    OrderedJson& place = member_at(object, empty == above.end() ? key : *empty);
    if (!value.is_null()) place = value;
  }
}

OrderedJson object_of(const std::vector<JsonMember>& members) {
  OrderedJson object = OrderedJson::object();
  put_members(members, object);
  return object;
}

const Json& value_at(const Json& object, std::string_view key) {
  static const Json nothing;
  const Json* at = &object;
  for (const std::string& name : names_of(key)) {
    if (at->is_object() && at->contains(name)) {
      at = &(*at)[name];
    } else if (at->is_array() && is_number(name) && name.size() <= 6 && std::stoul(name) < at->size()) {
      at = &(*at)[std::stoul(name)];
    } else {
      return nothing;
    }
  }
  return *at;
}

}  // namespace assay
