#include "hardware/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/handle.h"

namespace assay {
namespace {

constexpr std::size_t most_bytes = 1 << 20;
constexpr std::string_view white_space = " \t\r\n";
constexpr int most_cpus = 1 << 16;  // More than any kernel is built for; a hostile list must not fill the memory.

using Descriptor = Handle<int, ::close, -1>;

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(white_space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white_space) - begin + 1);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

}  // namespace

std::string trimmed(std::string_view text) {
  return std::string(trim(text));
}

SmallFile read_small_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {{}, errno};
  SmallFile result;
  std::array<char, 4096> block;
  while (result.text.size() < most_bytes) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {{}, errno};
    if (got == 0) break;
    result.text.append(block.data(), static_cast<std::size_t>(got));
  }
  result.text.resize(std::min(result.text.size(), result.text.find_last_not_of(white_space) + 1));
  return result;
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  SmallFile file = read_small_file(path);
  if (file.error != 0) return std::nullopt;
  return std::move(file.text);
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  text = trim(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

std::optional<std::int64_t> read_number(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_text(path);
  return text ? parse_number(*text) : std::nullopt;
}

std::optional<std::string> find_field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = trim(take_line(text));
    if (!line.starts_with(key)) continue;
    const std::string_view rest = trim(line.substr(key.size()));
    if (rest.starts_with(':')) return std::string(trim(rest.substr(1)));
    if (line.size() > key.size() && white_space.find(line[key.size()]) != std::string_view::npos)
      return std::string(rest);
  }
  return std::nullopt;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    const auto [after_first, bad_first] = std::from_chars(at, end, first);
    if (bad_first != std::errc{} || first < 0 || first >= most_cpus) break;
    int last = first;
    at = after_first;
    if (at < end && *at == '-') {
      const auto [after_last, bad_last] = std::from_chars(at + 1, end, last);
      if (bad_last != std::errc{} || last >= most_cpus) break;
      at = after_last;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end || *at != ',') break;
    ++at;
  }
  return cpus;
}

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace assay
