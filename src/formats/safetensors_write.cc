#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"

namespace assay {
namespace {

/// Wider elements first, so that every tensor starts at a multiple of its element's size without gaps.
void sort_for_alignment(std::vector<NamedTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    const std::size_t a_size = size_of(a.view.dtype);
    const std::size_t b_size = size_of(b.view.dtype);
    return a_size != b_size ? a_size > b_size : a.name < b.name;
  });
}

std::string quoted(const std::string& text, const std::string& file) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail_user("{}: the name '{}' is not UTF-8", file, printable(text));
  }
}

void check_written_once(const std::vector<NamedTensor>& tensors, const std::string& file) {
  std::set<std::string_view> names = {"__metadata__"};
  for (const NamedTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) fail_user("{}: '{}' was to be written twice", file, printable(tensor.name));
  }
}

/// Length and JSON text, padded with spaces so that the data starts at a multiple of 8.
std::string header_of(const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& metadata,
                      const std::string& file) {
  std::string text = "{\"__metadata__\":" + Json(metadata).dump();
  std::uint64_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::uint64_t end = at + tensor.view.bytes();
    fmt::format_to(std::back_inserter(text), R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                   quoted(tensor.name, file), tensor.stored != nullptr ? tensor.stored : stored_name(tensor.view.dtype),
                   fmt::join(tensor.view.shape, ","), at, end);
    at = end;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string prefix(sizeof(length), '\0');
  std::memcpy(prefix.data(), &length, sizeof(length));
  return prefix + text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  sort_for_alignment(tensors);
  check_written_once(tensors, file.string());
  const std::string header = header_of(tensors, metadata, file.string());
  write_file_atomically(file, [&](const ByteSink& sink) {
    sink(std::as_bytes(std::span(header)));
    for (const NamedTensor& tensor : tensors) sink({tensor.view.data, tensor.view.bytes()});
  });
}

}  // namespace assay
