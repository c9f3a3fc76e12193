#include "text/corpus.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "formats/npy.h"

namespace assay {
namespace {

constexpr std::size_t most_json_bytes = std::size_t{256} << 20;

std::int32_t to_s32(std::int64_t value, const std::string& where) {
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    fail_user("{}: {} is no 32-bit integer", where, value);
  }
  return static_cast<std::int32_t>(value);
}

std::int32_t integer(const Json& json, const std::string& where) {
  const bool huge = json.is_number_unsigned() && json.get<std::uint64_t>() > 0x7fffffffU;
  if (!json.is_number_integer() || huge) fail_user("{}: a 32-bit integer is needed", where);
  return to_s32(json.get<std::int64_t>(), where);
}

/// A rectangle of integers; `seq` is set from the first row.
std::vector<std::int32_t> rectangle(const Json& json, const std::string& where, std::int64_t& batch,
                                    std::int64_t& seq) {
  if (!json.is_array() || json.empty()) fail_user("{}: a list of rows is needed, and it must not be empty", where);
  std::vector<std::int32_t> values;
  batch = static_cast<std::int64_t>(json.size());
  seq = json[0].is_array() ? static_cast<std::int64_t>(json[0].size()) : 0;
  for (std::size_t row = 0; row < json.size(); ++row) {
    const std::string place = fmt::format("{}, row {}", where, row);
    if (!json[row].is_array() || json[row].empty())
      fail_user("{}: a list of integers is needed, and it must not be empty", place);
    if (static_cast<std::int64_t>(json[row].size()) != seq)
      fail_user("{}: has {} entries, the first row has {}", place, json[row].size(), seq);
    for (const Json& value : json[row]) values.push_back(integer(value, place));
  }
  return values;
}

std::vector<std::uint8_t> to_mask(const std::vector<std::int32_t>& values, const std::string& where) {
  std::vector<std::uint8_t> mask;
  for (const std::int32_t value : values) {
    if (value != 0 && value != 1) fail_user("{}: {} is neither 0 nor 1", where, value);
    mask.push_back(static_cast<std::uint8_t>(value));
  }
  return mask;
}

void require_same(const TokenBatch& tokens, std::int64_t batch, std::int64_t seq, const std::string& where) {
  if (batch == tokens.batch && seq == tokens.seq) return;
  fail_user("{}: is {} x {}, the ids are {} x {}", where, batch, seq, tokens.batch, tokens.seq);
}

void read_labels(const Json& json, const std::string& where, TokenBatch& tokens) {
  if (json.is_array() && !json.empty() && json[0].is_array()) {
    std::int64_t batch = 0;
    std::int64_t seq = 0;
    tokens.labels = rectangle(json, where, batch, seq);
    return require_same(tokens, batch, seq, where);
  }
  if (json.is_array()) {
    for (const Json& value : json) tokens.labels.push_back(integer(value, where));
  } else {
    tokens.labels.push_back(integer(json, where));
  }
  if (static_cast<std::int64_t>(tokens.labels.size()) != tokens.batch)
    fail_user("{}: {} labels for {} rows", where, tokens.labels.size(), tokens.batch);
}

std::vector<std::int32_t> npy_integers(const std::filesystem::path& path, Shape& shape) {
  const NpyArray array = open_npy(path);
  shape = array.shape;
  std::vector<std::int32_t> values;
  for (const std::int64_t value : array.integers()) values.push_back(to_s32(value, path.string()));
  return values;
}

void require_rank_two(const Shape& shape, const std::filesystem::path& path) {
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0)
    fail_user("{}: shape {}, (rows, tokens) is needed", path.string(), to_string(shape));
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

TokenBatch load_token_batch(const std::filesystem::path& path) {
  const std::string file = path.string();
  const Json json = parse_json(read_file(path, most_json_bytes), file);
  if (!json.is_object() || !json.contains("input_ids")) fail_user("{}: an object with 'input_ids' is needed", file);
  for (const auto& [key, value] : json.items()) {
    if (key != "input_ids" && key != "attention_mask" && key != "labels") {
      fail_user("{}: key '{}'; input_ids, attention_mask and labels are known", file, key.substr(0, 40));
    }
  }
  TokenBatch tokens;
  tokens.input_ids = rectangle(json.at("input_ids"), file + ": input_ids", tokens.batch, tokens.seq);
  if (json.contains("attention_mask") && !json.at("attention_mask").is_null()) {
    std::int64_t batch = 0;
    std::int64_t seq = 0;
    const std::string where = file + ": attention_mask";
    tokens.attention_mask = to_mask(rectangle(json.at("attention_mask"), where, batch, seq), where);
    require_same(tokens, batch, seq, where);
  }
  if (json.contains("labels") && !json.at("labels").is_null())
    read_labels(json.at("labels"), file + ": labels", tokens);
  return tokens;
}

TokenBatch load_npy_folder(const std::filesystem::path& folder) {
  TokenBatch tokens;
  Shape shape;
  const std::filesystem::path ids = folder / "input_ids.npy";
  tokens.input_ids = npy_integers(ids, shape);
  require_rank_two(shape, ids);
  tokens.batch = shape[0];
  tokens.seq = shape[1];
  if (const std::filesystem::path path = folder / "attention_mask.npy"; std::filesystem::exists(path)) {
    tokens.attention_mask = to_mask(npy_integers(path, shape), path.string());
    require_rank_two(shape, path);
    require_same(tokens, shape[0], shape[1], path.string());
  }
  if (const std::filesystem::path path = folder / "labels.npy"; std::filesystem::exists(path)) {
    tokens.labels = npy_integers(path, shape);
    if (shape != Shape{tokens.batch})
      fail_user("{}: shape {}, ({}) is needed", path.string(), to_string(shape), tokens.batch);
  }
  return tokens;
}

LabelledSet load_labelled_tsv(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const std::vector<std::string_view> lines = split_lines(text);
  if (lines.empty() || lines[0] != "sentence\tlabel")
    fail_user("{}: line 1: the header 'sentence<TAB>label' is needed", path.string());
  LabelledSet set;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t tab = lines[i].find('\t');
    const std::string_view label = tab == std::string_view::npos ? "" : lines[i].substr(tab + 1);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
    if (label.empty() || error != std::errc() || end != label.data() + label.size()) {
      fail_user("{}: line {}: a sentence, a tab and a whole number are needed", path.string(), i + 1);
    }
    set.sentences.emplace_back(lines[i].substr(0, tab));
    set.labels.push_back(value);
  }
  if (set.sentences.empty()) fail_user("{}: holds no sentence", path.string());
  return set;
}

}  // namespace assay
