#pragma once

#include <filesystem>
#include <string>

#include "hardware/recorded_tree.h"

namespace assay {

/// A shell script in place of the program that runs a cell for itself.
class StandIn {
 public:
  explicit StandIn(const std::string& script) {
    tree_.write("program", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(file(), std::filesystem::perms{0755});
  }
  std::filesystem::path file() const { return tree_.root() / "program"; }

 private:
  RecordedTree tree_;
};

}  // namespace assay
