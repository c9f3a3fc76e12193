#include "text/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "text/data_set_name.h"
#include "text/json_lines.h"

namespace assay {
namespace {

/// Formats in which data sets are kept, too. Read as a text they would only be said not to be UTF-8.
constexpr std::string_view unread_endings[] = {".parquet", ".arrow", ".gz", ".zst", ".xz", ".bz2", ".zip"};

bool is_json_lines(const std::filesystem::path& path) {
  return path.extension() == ".jsonl";
}

/// The line that makes one of a .parquet.
std::string json_lines_of(const std::filesystem::path& parquet) {
  const std::string from = parquet.filename().string();
  const std::string to = parquet.stem().string() + ".jsonl";
  return fmt::format(
      R"(python3 -c 'import pandas; pandas.read_parquet("{}").to_json("{}", orient="records", lines=True)' (packages )"
      R"(pandas and pyarrow) makes a .jsonl of it)",
      from, to);
}

void check_ending(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (std::find(std::begin(unread_endings), std::end(unread_endings), ending) == std::end(unread_endings)) return;
  const std::string advice = ending == ".parquet" ? "; " + json_lines_of(path) : "";
  fail_user("{}: {} files are not read; .tsv, .jsonl, text and folders of .npy arrays are{}", path.string(), ending,
            advice);
}

}  // namespace

bool holds_tagged(const std::filesystem::path& named) {
  const std::filesystem::path path = find_data(named);
  if (is_folder(path) || !is_json_lines(path)) return false;
  const MappedFile file(path);
  return has_tags({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path.string());
}

TaggedSet load_tagged(const std::filesystem::path& named, const ClassNames& names) {
  const std::filesystem::path path = find_data(named);
  return parse_tagged_json_lines(read_file(path), path.string(), names);
}

bool holds_labelled(const std::filesystem::path& named) {
  const std::filesystem::path path = find_data(named);
  if (is_folder(path)) return false;
  check_ending(path);
  if (!is_json_lines(path)) return path.extension() == ".tsv";
  const MappedFile file(path);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  return has_labels({text, file.bytes().size()}, path.string());
}

LabelledSet load_labelled(const std::filesystem::path& named, LabelKind kind, const ClassNames& names) {
  const std::filesystem::path path = find_data(named);
  check_ending(path);
  if (!is_json_lines(path)) return load_labelled_tsv(path, kind, names);
  return parse_labelled_json_lines(read_file(path), path.string(), kind, names);
}

std::string load_text(const std::filesystem::path& named) {
  const std::filesystem::path path = find_data(named);
  check_ending(path);
  const std::string content = read_file(path);
  return is_json_lines(path) ? parse_json_lines_text(content, path.string()) : content;
}

}  // namespace assay
