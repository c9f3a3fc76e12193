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
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace assay
