#include "quality/entities.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

namespace assay {
namespace {

constexpr std::string_view outside = "O";

struct Entity {
  std::string_view kind;
  std::size_t first = 0;
  std::size_t last = 0;

  friend bool operator<(const Entity& a, const Entity& b) {
    return std::tie(a.first, a.last, a.kind) < std::tie(b.first, b.last, b.kind);
  }
};

/// "B-LOC" -> "LOC"; nothing outside.
std::string_view kind_of(std::string_view tag) {
  return tag == outside ? std::string_view() : tag.substr(2);
}

/// Of one sentence whose first word has that number.
void add_entities(std::span<const std::int32_t> classes, std::size_t first, std::span<const std::string> tags,
                  std::vector<Entity>& entities) {
  std::string_view open;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string_view tag = tags[static_cast<std::size_t>(classes[i])];
    const std::string_view kind = kind_of(tag);
    const bool begins = !kind.empty() && (tag.front() == 'B' || kind != open);
    if (begins) entities.push_back({kind, first + i, first + i});
    if (!kind.empty()) entities.back().last = first + i;
    open = kind;
  }
}

/// In the order of their words.
std::vector<Entity> entities_in(std::span<const std::int32_t> classes, std::span<const std::int32_t> sentences,
                                std::span<const std::string> tags) {
  std::vector<Entity> entities;
  std::size_t first = 0;
  for (const std::int32_t words : sentences) {
    add_entities(classes.subspan(first, static_cast<std::size_t>(words)), first, tags, entities);
    first += static_cast<std::size_t>(words);
  }
  return entities;
}

}  // namespace

bool are_entity_tags(std::span<const std::string> names) {
  const auto is_tag = [](std::string_view name) {
    return name == outside || (name.size() > 2 && (name.starts_with("B-") || name.starts_with("I-")));
  };
  return names.size() > 1 && std::all_of(names.begin(), names.end(), is_tag);
}

double entity_f1(const QualityRows& quality, std::span<const std::string> tags) {
  const std::vector<Entity> expected = entities_in(quality.targets, quality.windows, tags);
  const std::vector<Entity> found = entities_in(quality.answers, quality.windows, tags);
  std::vector<Entity> right;
  std::set_intersection(expected.begin(), expected.end(), found.begin(), found.end(), std::back_inserter(right));
  const std::size_t both = expected.size() + found.size();
  return both == 0 ? 0 : 2 * static_cast<double>(right.size()) / static_cast<double>(both);
}

}  // namespace assay
