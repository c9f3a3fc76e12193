#include "text/json_lines.h"

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

/// Hands over every line. Throws a user error where there is none.
template <typename Take>
void for_each_json_line(std::string_view content, const std::string& name, Take&& take) {
  if (content.empty()) fail_user("{}: holds no lines", name);
  std::size_t at = 0;
  for (std::size_t number = 1; at < content.size(); ++number)
    take(read_json_line(next_line(content, at), fmt::format("{}:{}", name, number)));
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
  if (!text->is_string()) fail_user("{}: its text is {}, not a string", line.place, printable(text->dump(), 40));
  return std::move(text->get_ref<std::string&>());
}

std::int32_t label_in(const JsonLine& line) {
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  const auto label = line.object.find(label_member);
  if (label == line.object.end()) fail_user("{}: has no '{}'", line.place, label_member);
  if (label->is_number_unsigned() && label->get<std::uint64_t>() <= most) return label->get<std::int32_t>();
  fail_user("{}: the label {} is not a whole number from 0 to 2^31 - 1", line.place, printable(label->dump(), 40));
}

}  // namespace

bool has_labels(std::string_view content, const std::string& name) {
  if (content.empty()) fail_user("{}: holds no lines", name);
  std::size_t at = 0;
  return read_json_line(next_line(content, at), name + ":1").object.contains(label_member);
}

LabelledSet parse_labelled_json_lines(std::string_view content, const std::string& name) {
  LabelledSet set;
  set.file = name;
  set.first_line = 1;
  for_each_json_line(content, name, [&](JsonLine line) {
    set.labels.push_back(label_in(line));
    set.sentences.push_back(take_text(line));
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
