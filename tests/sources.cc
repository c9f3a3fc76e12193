#include "sources.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "levels.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

bool is_foreign(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "build" || name == ".git" || name == ".deps" || name == ".cache" || name == "__pycache__";
}

std::string included_path(std::string line) {
  line.erase(std::remove_if(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t'; }), line.end());
  const std::string start = "#include\"";
  if (line.rfind(start, 0) != 0) return "";
  const std::size_t end = line.find('"', start.size());
  return end == std::string::npos ? "" : line.substr(start.size(), end - start.size());
}

}  // namespace

std::vector<fs::path> project_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (is_foreign(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && !entry->is_symlink()) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be read");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<Include> quoted_includes(const std::string& text) {
  std::vector<Include> includes;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string path = included_path(line);
    if (!path.empty()) includes.push_back({path, number});
  }
  return includes;
}

std::string room_of(const fs::path& relative) {
  return relative.has_parent_path() ? relative.begin()->string() : "";
}

std::string fault_of(const fs::path& src, const std::string& room, const Include& include) {
  if (!fs::is_regular_file(src / include.path)) return "is not a file of src/";
  const std::string target = room_of(include.path);
  if (target == room || target == "base") return "";
  if (allowed_rooms.at(room).count(target) == 0) return room + " may not include " + target;
  return "";
}

}  // namespace assay
