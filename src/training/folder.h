#pragma once

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/handle.h"

namespace assay {

// How a checkpoint comes into its folder, so that whoever is killed at any instant leaves a whole one there, and
// nothing beside it:
//
//   run1/.saving/   the new files are written and synced here, their manifest last
//   run1/.saved/    the same folder, renamed and synced: from here on the new checkpoint is the one that counts
//   run1/           its files are renamed to their places one by one: configuration and tokenizer, model.safetensors,
//                   optimizer.safetensors, training.json, manifest.json. Then .saved/ is removed.
//
// Both folders carry a marker file of ours; one without it, unless it is empty, is somebody else's and is refused, not
// touched. Who opens run1/ next for a training finishes a .saved/ and discards a .saving/.
//
// Who only reads the model in between meets a matching set: within one training configuration and tokenizer never
// change, and model.safetensors changes in one rename. Where another training is replaced and they do change,
// model.safetensors is taken away first and put in place behind them: the folder then holds no model for an instant,
// never one under another's configuration.

/// The claim of one process on a folder: held by the system, so that it ends with the process.
class FolderClaim {
 public:
  /// Makes the folder where there is none; its parent has to be there. Adds a sentence to `notes` where the file system
  /// knows no locks. Throws a user error where another process holds the folder, or it is no folder.
  FolderClaim(const std::filesystem::path& folder, std::vector<std::string>& notes);
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  /// Where the folder is now: it may have been moved, and another may stand at its old place. Throws a user error where
  /// it was removed.
  std::filesystem::path place() const;
  /// A folder that was made and stayed empty is removed.
  ~FolderClaim();

 private:
  std::filesystem::path folder_;
  bool made_ = false;
  Handle<int, ::close, -1> descriptor_;
};

/// A folder that this process alone trains into.
class TrainingFolder {
 public:
  /// Finishes or discards what a killed process left. Adds a sentence to `notes` for what the user should know. Throws
  /// a user error where the folder cannot be claimed or written, or holds something that is no training of ours.
  TrainingFolder(const std::filesystem::path& folder, std::vector<std::string>& notes);

  const std::filesystem::path& path() const { return path_; }
  /// `write` is handed an empty folder and fills it with a checkpoint and its manifest, which then take the place of
  /// those that stand here. What it throws passes through; then what stood here stands here still.
  void replace(const std::function<void(const std::filesystem::path&)>& write);

 private:
  void finish_interrupted();

  std::filesystem::path path_;
  FolderClaim claim_;
};

/// Takes a training of ours away, with its folder where nothing else is in it; does nothing where there is no folder.
/// Throws a user error where it holds something else, or another process trains into it.
void remove_training(const std::filesystem::path& folder);

/// Whether a training of ours stands in the folder: its training.json says so, or its manifest.
bool holds_training(const std::filesystem::path& folder);

}  // namespace assay
