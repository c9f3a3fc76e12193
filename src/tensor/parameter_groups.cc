#include "tensor/parameter_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace assay {
namespace {

constexpr const char* kind_names[] = {"norms", "biases", "embeddings"};

/// What transformers' Trainer leaves out of the decay: biases, and all of the normalisations.
constexpr std::string_view usual_word = "usual";
constexpr ParameterKind usual[] = {ParameterKind::norms, ParameterKind::biases};

/// Roles whose operations read weights.
constexpr Role with_parameters[] = {Role::embedding, Role::attention, Role::mlp, Role::norm, Role::head};

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<ParameterKind> kinds_of(std::string_view word, std::string_view option) {
  if (word == usual_word) return {std::begin(usual), std::end(usual)};
  const auto* found = std::ranges::find(kind_names, word);
  if (found == std::end(kind_names))
    fail_user("{}: '{}' is none of {} and {}", option, word, fmt::join(kind_names, ", "), usual_word);
  return {static_cast<ParameterKind>(found - kind_names)};
}

std::string role_list() {
  std::vector<std::string> names;
  for (const Role role : with_parameters) names.emplace_back(name(role));
  return fmt::format("{}", fmt::join(names, ", "));
}

double rate_of(std::string_view part, std::string_view word, std::string_view option) {
  constexpr double largest = 1e6;
  double rate = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rate);
  const bool is_whole = error == std::errc() && end == word.data() + word.size();
  if (!is_whole || !(rate >= 0 && rate <= largest))
    fail_user("{}: '{}' needs a learning rate from 0 to 1e6, such as embedding=1e-4", option, part);
  return rate;
}

RoleRate parse_role_rate(std::string_view part, std::string_view option) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const auto role = parse_role(part.substr(0, equals));
  if (!role || std::ranges::find(with_parameters, *role) == std::end(with_parameters))
    fail_user("{}: '{}' names no role that has parameters; these are {}", option, part, role_list());
  return {*role, rate_of(part, part.substr(std::min(equals + 1, part.size())), option)};
}

}  // namespace

std::vector<ParameterKind> parse_no_decay(std::string_view list, std::string_view option) {
  std::vector<ParameterKind> kinds;
  for (const std::string_view word : parts_of(list)) {
    for (const ParameterKind kind : kinds_of(word, option)) kinds.push_back(kind);
  }
  std::ranges::sort(kinds);
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

std::vector<RoleRate> parse_role_rates(std::string_view list, std::string_view option) {
  std::vector<RoleRate> rates;
  for (const std::string_view part : parts_of(list)) {
    const RoleRate next = parse_role_rate(part, option);
    if (std::ranges::find(rates, next.role, &RoleRate::role) != rates.end())
      fail_user("{}: the role '{}' stands twice", option, name(next.role));
    rates.push_back(next);
  }
  std::ranges::sort(rates, {}, &RoleRate::role);
  return rates;
}

std::string words(const std::vector<ParameterKind>& kinds) {
  std::vector<std::string> all;
  for (const ParameterKind kind : kinds) all.emplace_back(kind_names[static_cast<std::size_t>(kind)]);
  return fmt::format("{}", fmt::join(all, ","));
}

std::string words(const std::vector<RoleRate>& rates) {
  std::vector<std::string> all;
  for (const RoleRate& one : rates) all.push_back(fmt::format("{}={}", name(one.role), one.rate));
  return fmt::format("{}", fmt::join(all, ","));
}

}  // namespace assay
