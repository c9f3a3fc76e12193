#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace assay {

/// A folder that stands for / in tests, filled file by file, gone with the object.
class RecordedTree {
 public:
  RecordedTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-tree-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    std::filesystem::permissions(root_, std::filesystem::perms{0755});  // mkdtemp lets in the owner alone.
  }
  RecordedTree(const RecordedTree&) = delete;
  RecordedTree& operator=(const RecordedTree&) = delete;
  ~RecordedTree() { std::filesystem::remove_all(root_); }

  const std::filesystem::path& root() const { return root_; }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    if (!std::filesystem::exists(file)) {
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text;
      return;
    }
    // In place: some file systems wait for the disk where a file is cut to nothing first.
    std::fstream(file, std::ios::in | std::ios::out) << text;
    std::filesystem::resize_file(file, text.size());
  }

 private:
  std::filesystem::path root_;
};

}  // namespace assay
