#include "text/json_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/lines.h"

namespace assay {
namespace {

/// Under these names data sets keep a text.
constexpr const char* text_members[] = {"text", "sentence"};
constexpr const char* label_member = "label";
constexpr const char* score_member = "score";  ///< Of pairs.

/// A line of the file, read.
struct JsonLine {
  Json object;
  std::string place;  ///< "file:line", for errors.
};

JsonLine read_json_line(std::string_view line, std::string place) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) fail_user("{}: is blank", place);
  JsonLine read{parse_json(line, place), place};
  if (!read.object.is_object()) fail_user("{}: is not a JSON object", place);
  return read;
}

/// The names of its two sentences; null where it has one.
const PairNames* pair_of(const JsonLine& line) {
  for (const PairNames& names : pair_names) {
    if (line.object.contains(names.first) && line.object.contains(names.second)) return &names;
  }
  return nullptr;
}

/// Hands over every line. Throws a user error where there is none.
template <typename Take>
void for_each_json_line(std::string_view content, const std::string& name, Take&& take) {
  if (content.empty()) fail_user("{}: holds no lines", name);
  std::size_t at = 0;
  for (std::size_t number = 1; at < content.size(); ++number)
    take(read_json_line(next_line(content, at), fmt::format("{}:{}", name, number)));
}

std::string moved_text(Json& text, const std::string& place) {
  if (!text.is_string()) fail_user("{}: its text is {}, not a string", place, printable(text.dump(), 40));
  return std::move(text.get_ref<std::string&>());
}

/// The line's text; the line no longer has it.
std::string take_text(JsonLine& line) {
  Json* text = nullptr;
  for (const char* member : text_members) {
    const auto found = line.object.find(member);
    if (found == line.object.end()) continue;
    if (text != nullptr) fail_user("{}: has both '{}' and '{}'", line.place, text_members[0], text_members[1]);
    text = &*found;
  }
  if (text == nullptr) fail_user("{}: has neither '{}' nor '{}'", line.place, text_members[0], text_members[1]);
  return moved_text(*text, line.place);
}

const Json& label_in(const JsonLine& line) {
  const bool has_score = pair_of(line) != nullptr && !line.object.contains(label_member);
  const auto label = line.object.find(has_score ? score_member : label_member);
  if (label == line.object.end()) fail_user("{}: has no '{}'", line.place, label_member);
  return *label;
}

/// Its number, or that of its name.
std::int32_t checked_class(const Json& label, const std::string& place, const ClassNames& names) {
  const bool is_name = label.is_string();
  const auto named = is_name ? class_named(label.get_ref<const std::string&>(), names) : std::nullopt;
  if (is_name && !named) fail_user("{}: the label {} is {}", place, printable(label.dump(), 40), no_class(names));
  if (named) return *named;
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (!label.is_number_unsigned() || label.get<std::uint64_t>() > most)
    fail_user("{}: the label {} is not a whole number from 0 to 2^31 - 1", place, printable(label.dump(), 40));
  return label.get<std::int32_t>();
}

void take_label(const JsonLine& line, LabelKind kind, const ClassNames& names, LabelledSet& set) {
  const Json& label = label_in(line);
  if (kind == LabelKind::classes) {
    set.labels.push_back(checked_class(label, line.place, names));
    return;
  }
  if (!label.is_number()) fail_user("{}: the label {} is no number", line.place, printable(label.dump(), 40));
  set.numbers.push_back(label.get<double>());
}

/// Of a set of pairs every line is one.
void take_sentences(JsonLine& line, LabelledSet& set) {
  const PairNames* const pair = pair_of(line);
  const bool is_first = set.sentences.empty();
  if (!is_first && (pair != nullptr) != set.has_pairs())
    fail_user("{}: is {}, the lines before are {}", line.place, pair != nullptr ? "a pair" : "one sentence",
              set.has_pairs() ? "pairs" : "none");
  if (pair == nullptr) {
    set.sentences.push_back(take_text(line));
    return;
  }
  set.sentences.push_back(moved_text(line.object.at(pair->first), line.place));
  set.seconds.push_back(moved_text(line.object.at(pair->second), line.place));
}

constexpr const char* words_member = "tokens";
constexpr const char* tag_members[] = {"ner_tags", "tags", "labels"};
constexpr std::int32_t uncounted_tag = -100;

/// Null where the line has no words or no tags.
const char* tags_of(const JsonLine& line) {
  if (!line.object.contains(words_member)) return nullptr;
  for (const char* member : tag_members) {
    if (line.object.contains(member)) return member;
  }
  return nullptr;
}

std::int32_t tag_of(const Json& value, const std::string& place, const ClassNames& names) {
  if (value.is_string()) return checked_class(value, place, names);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const bool is_whole = value.is_number_integer() && (!value.is_number_unsigned() || value <= most);
  if (is_whole && (value >= 0 || value == uncounted_tag)) return value.get<std::int32_t>();
  fail_user("{}: the tag {} is not a whole number from 0 to 2^31 - 1, nor -100", place, printable(value.dump(), 40));
}

TaggedSet::Row tagged_row(const JsonLine& line, const ClassNames& names) {
  const char* const member = tags_of(line);
  if (member == nullptr)
    fail_user("{}: has no '{}' with '{}'", line.place, words_member, fmt::join(tag_members, "', '"));
  const Json& words = line.object.at(words_member);
  const Json& tags = line.object.at(member);
  if (!words.is_array() || !tags.is_array() || words.size() != tags.size())
    fail_user("{}: '{}' and '{}' are no lists of one length", line.place, words_member, member);
  TaggedSet::Row row{{}, {}, line.place};
  for (const Json& word : words) {
    if (!word.is_string()) fail_user("{}: the word {} is no string", line.place, printable(word.dump(), 40));
    row.words.push_back(word.get<std::string>());
  }
  for (const Json& tag : tags) row.tags.push_back(tag_of(tag, line.place, names));
  return row;
}

}  // namespace

bool has_tags(std::string_view content, const std::string& name) {
  if (content.empty()) fail_user("{}: holds no lines", name);
  std::size_t at = 0;
  return tags_of(read_json_line(next_line(content, at), name + ":1")) != nullptr;
}

TaggedSet parse_tagged_json_lines(std::string_view content, const std::string& name, const ClassNames& names) {
  TaggedSet set;
  for_each_json_line(content, name, [&](const JsonLine& line) { set.rows.push_back(tagged_row(line, names)); });
  return set;
}

bool has_labels(std::string_view content, const std::string& name) {
  if (content.empty()) fail_user("{}: holds no lines", name);
  std::size_t at = 0;
  const JsonLine line = read_json_line(next_line(content, at), name + ":1");
  return line.object.contains(label_member) || (pair_of(line) != nullptr && line.object.contains(score_member));
}

LabelledSet parse_labelled_json_lines(std::string_view content, const std::string& name, LabelKind kind,
                                      const ClassNames& names) {
  LabelledSet set;
  set.file = name;
  set.first_line = 1;
  for_each_json_line(content, name, [&](JsonLine line) {
    take_label(line, kind, names, set);
    take_sentences(line, set);
  });
  return set;
}

std::string parse_json_lines_text(std::string_view content, const std::string& name) {
  std::string texts;
  for_each_json_line(content, name, [&](JsonLine line) {
    const std::string text = take_text(line);
    texts += text;
    if (!text.ends_with('\n')) texts += '\n';
  });
  return texts;
}

}  // namespace assay
