#include "text/corpus.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "formats/npy.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t ignored_label = -100;
constexpr const char* token_types_member = "token_type_ids";

/// Values of one member of a batch, with the shape in which they came.
struct Values {
  std::string name;  ///< File and member, for errors.
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

/// The place of a value, counted from 0 as everywhere in tokens.
std::string place_of(const Values& read, std::size_t index) {
  if (read.shape.size() < 2) return fmt::format("row {}", index);
  const auto width = static_cast<std::size_t>(read.shape[1]);
  return fmt::format("row {}, position {}", index / width, index % width);
}

void check_range(const Values& read, std::int64_t least, std::int64_t greatest) {
  for (std::size_t i = 0; i < read.values.size(); ++i) {
    const std::int64_t value = read.values[i];
    if (value >= least && value <= greatest) continue;
    fail_user("{}: {} is {}, outside {} to {}", read.name, place_of(read, i), value, least, greatest);
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

void set_input_ids(TokenBatch& batch, const Values& read) {
  if (read.shape.size() != 2) fail_user("{}: has shape {}, (rows, seq) is needed", read.name, shape_text(read.shape));
  if (read.values.empty()) fail_user("{}: holds no tokens", read.name);
  check_range(read, 0, most);
  batch.ids_name = read.name;
  batch.batch = read.shape[0];
  batch.seq = read.shape[1];
  batch.input_ids.assign(read.values.begin(), read.values.end());
}

void set_attention_mask(TokenBatch& batch, const Values& read) {
  const std::vector<std::int64_t> needed = {batch.batch, batch.seq};
  if (read.shape != needed) {
    fail_user("{}: has shape {}, input_ids have {}", read.name, shape_text(read.shape), shape_text(needed));
  }
  check_range(read, 0, 1);
  batch.attention_mask.assign(read.values.begin(), read.values.end());
}

void set_labels(TokenBatch& batch, const Values& read) {
  const std::vector<std::int64_t> by_token = {batch.batch, batch.seq};
  const std::vector<std::int64_t> by_row = {batch.batch};
  if (read.shape != by_token && read.shape != by_row) {
    fail_user("{}: has shape {}, {} or {} is needed", read.name, shape_text(read.shape), shape_text(by_row),
              shape_text(by_token));
  }
  check_range(read, ignored_label, most);
  for (std::size_t i = 0; i < read.values.size(); ++i) {
    const std::int64_t label = read.values[i];
    if (label >= 0 || label == ignored_label) continue;
    fail_user("{}: {} is {}; of the labels below 0 only -100 is one", read.name, place_of(read, i), label);
  }
  batch.labels_name = read.name;
  batch.labels.assign(read.values.begin(), read.values.end());
}

void set_token_types(TokenBatch& batch, const Values& read) {
  const std::vector<std::int64_t> needed = {batch.batch, batch.seq};
  if (read.shape != needed)
    fail_user("{}: has shape {}, input_ids have {}", read.name, shape_text(read.shape), shape_text(needed));
  check_range(read, 0, most);
  batch.token_types.assign(read.values.begin(), read.values.end());
}

Values read_npy(const fs::path& path) {
  const NpyArray array = open_npy(path);
  Values read;
  read.name = path.string();
  read.shape.assign(array.shape.begin(), array.shape.end());
  read.values = array.integers();
  return read;
}

void append_integer(Values& read, const Json& value) {
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!value.is_number_integer() || huge) {
    fail_user("{}: {} is {}, not a whole number up to 2^31 - 1", read.name, place_of(read, read.values.size()),
              printable(value.dump(), 40));
  }
  read.values.push_back(value.get<std::int64_t>());
}

/// A list of numbers, or a list of lists of numbers that have the same length.
Values read_json_array(const Json& list, const std::string& name) {
  Values read;
  read.name = name;
  if (!list.is_array()) fail_user("{}: is not a list", name);
  if (list.empty()) fail_user("{}: is an empty list", name);
  read.shape = {static_cast<std::int64_t>(list.size())};
  if (list[0].is_array()) read.shape.push_back(static_cast<std::int64_t>(list[0].size()));
  for (std::size_t row = 0; row < list.size(); ++row) {
    if (list[row].is_array() != (read.shape.size() == 2)) fail_user("{}: mixes numbers and lists", name);
    if (read.shape.size() == 1) {
      append_integer(read, list[row]);
      continue;
    }
    const auto length = static_cast<std::int64_t>(list[row].size());
    if (length != read.shape[1]) {
      fail_user("{}: is ragged: row 0 has {} values, row {} has {}", name, read.shape[1], row, length);
    }
    for (const Json& value : list[row]) append_integer(read, value);
  }
  return read;
}

std::int32_t read_label(std::string_view field, const std::string& place, const ClassNames& names) {
  std::int32_t label = -1;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), label);
  if (error == std::errc() && end == field.data() + field.size() && label >= 0) return label;
  fail_user("{}: the label '{}' is not a whole number from 0 to 2^31 - 1{}", place, printable(field, 40),
            names.empty() ? "" : ", and " + no_class(names));
}

double read_number(std::string_view field, const std::string& place) {
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error == std::errc() && end == field.data() + field.size() && std::isfinite(number)) return number;
  fail_user("{}: the label '{}' is no number", place, printable(field, 40));
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
    fields.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  fields.push_back(line);
  return fields;
}

/// Columns of the file whose first line this is: 2, or 3 of pairs; absent for another header.
std::optional<std::size_t> columns_of(std::string_view header) {
  if (header == "sentence\tlabel") return 2;
  for (const PairNames& names : pair_names) {
    const std::string both = fmt::format("{}\t{}\t", names.first, names.second);
    if (header == both + "label" || header == both + "score") return 3;
  }
  return std::nullopt;
}

void append_label(LabelledSet& set, LabelKind kind, std::string_view field, const std::string& place,
                  const ClassNames& names) {
  if (const auto named = class_named(field, names); named && kind == LabelKind::classes) {
    set.labels.push_back(*named);
  } else if (kind == LabelKind::classes) {
    set.labels.push_back(read_label(field, place, names));
  } else {
    set.numbers.push_back(read_number(field, place));
  }
}

void append_fields(LabelledSet& set, const std::vector<std::string_view>& fields, const std::string& place) {
  unicode::check_utf8(fields[0], place);
  set.sentences.emplace_back(fields[0]);
  if (fields.size() < 3) return;
  unicode::check_utf8(fields[1], place);
  set.seconds.emplace_back(fields[1]);
}

/// `columns`: of the header.
std::vector<std::string_view> checked_fields(std::string_view line, std::size_t columns, const std::string& place) {
  if (line.empty()) fail_user("{}: is blank", place);
  std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() == columns) return fields;
  if (columns > 2) fail_user("{}: has {} tabs, {} are needed", place, fields.size() - 1, columns - 1);
  if (fields.size() < 2) fail_user("{}: has no tab between sentence and label", place);
  fail_user("{}: has more than one tab", place);
}

}  // namespace

LabelledSet load_labelled_tsv(const fs::path& path, LabelKind kind, const ClassNames& names) {
  const std::string content = read_file(path);
  const std::string name = path.string();
  std::size_t at = 0;
  const std::optional<std::size_t> columns = columns_of(next_line(content, at));
  if (!columns)
    fail_user("{}:1: the header is neither sentence<TAB>label nor sentence1<TAB>sentence2<TAB>label or such a pair",
              name);
  LabelledSet set;
  set.file = name;
  for (std::size_t number = 2; at < content.size(); ++number) {
    const std::string place = fmt::format("{}:{}", name, number);
    const std::vector<std::string_view> fields = checked_fields(next_line(content, at), *columns, place);
    append_fields(set, fields, place);
    append_label(set, kind, fields.back(), place, names);
  }
  if (set.sentences.empty()) fail_user("{}: holds no sentences", name);
  return set;
}

std::optional<std::int32_t> class_named(std::string_view label, const ClassNames& names) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return std::equal(name.begin(), name.end(), label.begin(), label.end(),
                      [&](char a, char b) { return lower(a) == lower(b); });
  });
  if (found == names.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - names.begin());
}

std::string no_class(const ClassNames& names) {
  if (names.empty()) return "a name, where the model's configuration names no classes; a whole number is needed";
  return fmt::format("none of the model's classes: {}", printable(fmt::format("{}", fmt::join(names, ", ")), 200));
}

std::string LabelledSet::place_of(std::size_t sentence) const {
  return fmt::format("{}:{}", file.empty() ? "sentences" : file, sentence + first_line);
}

TokenBatch load_npy_folder(const fs::path& path) {
  TokenBatch batch;
  set_input_ids(batch, read_npy(path / "input_ids.npy"));
  if (is_there(path / "attention_mask.npy")) set_attention_mask(batch, read_npy(path / "attention_mask.npy"));
  if (is_there(path / "labels.npy")) set_labels(batch, read_npy(path / "labels.npy"));
  if (is_there(path / "token_type_ids.npy")) set_token_types(batch, read_npy(path / "token_type_ids.npy"));
  return batch;
}

TokenBatch parse_token_json(std::string_view text, const std::string& name) {
  const Json file = parse_json(text, name);
  if (!file.is_object() || !file.contains("input_ids")) fail_user("{}: is not an object with 'input_ids'", name);
  for (const auto& [key, value] : file.items()) {
    if (key == "input_ids" || key == "attention_mask" || key == "labels" || key == token_types_member) continue;
    fail_user("{}: has the member '{}'; input_ids, attention_mask, labels and token_type_ids are read", name,
              printable(key, 40));
  }
  const auto given = [&](const char* key) { return file.contains(key) && !file[key].is_null(); };
  const auto values = [&](const char* key) { return read_json_array(file[key], name + ": " + key); };
  TokenBatch batch;
  set_input_ids(batch, values("input_ids"));
  if (given("attention_mask")) set_attention_mask(batch, values("attention_mask"));
  if (given("labels")) set_labels(batch, values("labels"));
  if (given(token_types_member)) set_token_types(batch, values(token_types_member));
  return batch;
}

TokenBatch load_token_json(const fs::path& path) {
  return parse_token_json(read_file(path), path.string());
}

}  // namespace assay
