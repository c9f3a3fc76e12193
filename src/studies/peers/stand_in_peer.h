#pragma once

#include <filesystem>
#include <string>

#include "hardware/recorded_tree.h"
#include "studies/peers/environment.h"

namespace assay {

/// A shell script in the place of a peer's Python: it answers as workers/worker.py says, but for what `cases` says
/// first (of a `case "$line" in`).
inline std::string stand_in_worker(const std::string& cases = "", const std::string& operand = "f32") {
  return "#!/bin/sh\nruns=0\nwhile read -r line; do case \"$line\" in\n" + cases +
         "\n*'\"prepare\"'*) echo '{\"ran\": [{\"operation\": \"mm\", \"operand\": \"" + operand +
         "\", \"kind\": \"linear\", \"count\": 4, \"evidence\": \"its word\"}]}' ;;\n"
         "*'\"check\"'*) echo '{\"finite\": true}' ;;\n"
         "*'\"take\"'*) echo '{\"taken\": 0}' ;;\n"
         "*'\"run\"'*) runs=$((runs + 1)); echo '{\"seconds\": 0.00001, \"value\": 0.5}' ;;\n"
         "esac; done\n";
}

/// A folder of environments in which that of one peer stands, with a stand-in for its Python.
class StandInPeer {
 public:
  StandInPeer(const std::string& peer, const std::string& worker) {
    const PeerEnvironment& own = environment_of(find_peer(peer));
    write(own, worker);
    if (own.on != nullptr) write(environment_of(find_peer(own.on)), worker);
  }
  std::filesystem::path root() const { return tree_.root(); }

 private:
  void write(const PeerEnvironment& environment, const std::string& worker) {
    const std::filesystem::path folder = environment_folder(environment, tree_.root());
    const std::filesystem::path relative = folder.lexically_relative(tree_.root());
    tree_.write((relative / "assay-peer.txt").string(), "stand-in\n");
    tree_.write((relative / "bin/python").string(), worker);
    std::filesystem::permissions(folder / "bin/python", std::filesystem::perms{0755});
  }

  RecordedTree tree_;
};

}  // namespace assay
