#include "formats/gguf_parts.h"

#include <fmt/format.h>

#include "base/error.h"

namespace assay {
namespace {

/// As the file name counts, with five digits.
constexpr std::int64_t most_parts = 99999;

std::int64_t integer_or(const Gguf& file, const char* key, std::int64_t otherwise) {
  return file.find(key) == nullptr ? otherwise : file.integer(key);
}

std::string ending(std::int64_t part, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", part, count);
}

/// "models/m" of "models/m-00001-of-00003.gguf".
std::string stem_of_first(const Gguf& first, std::int64_t count) {
  const std::int64_t number = integer_or(first, "split.no", 0);
  if (number != 0)
    fail_user("{}: is part {} of {}; name the first, which ends in '{}'", first.name, number + 1, count,
              ending(1, count));
  if (!first.name.ends_with(ending(1, count))) {
    fail_user("{}: is the first of {} parts; the others are found where its name ends in '{}'", first.name, count,
              ending(1, count));
  }
  return first.name.substr(0, first.name.size() - ending(1, count).size());
}

std::shared_ptr<Gguf> open_part(const std::string& stem, std::int64_t part, std::int64_t count) {
  const std::filesystem::path path = stem + ending(part, count);
  if (!std::filesystem::exists(path)) fail_user("{}: is missing, part {} of {}", path.string(), part, count);
  auto file = std::make_shared<Gguf>(open_gguf(path));
  const std::int64_t number = integer_or(*file, "split.no", -1);
  if (number != part - 1 || integer_or(*file, "split.count", -1) != count)
    fail_user("{}: does not say that it is part {} of {}", path.string(), part, count);
  return file;
}

}  // namespace

std::vector<std::shared_ptr<Gguf>> open_gguf_parts(const std::filesystem::path& path) {
  std::vector<std::shared_ptr<Gguf>> parts = {std::make_shared<Gguf>(open_gguf(path))};
  const Gguf& first = *parts.front();
  const std::int64_t count = integer_or(first, "split.count", 1);
  if (count <= 1) return parts;
  if (count > most_parts) fail_user("{}: claims {} parts, at most {} are read", first.name, count, most_parts);
  const std::string stem = stem_of_first(first, count);
  std::int64_t tensors = std::ssize(first.tensors);
  for (std::int64_t part = 2; part <= count; ++part) {
    parts.push_back(open_part(stem, part, count));
    tensors += std::ssize(parts.back()->tensors);
  }
  if (const std::int64_t claimed = integer_or(first, "split.tensors.count", tensors); claimed != tensors)
    fail_user("{}: claims {} tensors in its {} parts, they hold {}", first.name, claimed, count, tensors);
  return parts;
}

}  // namespace assay
