#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "hub/http.h"
#include "hub/hub_name.h"

namespace assay {

/// HF_HUB_OFFLINE, as huggingface_hub reads it: 1, on, yes, true.
bool is_hub_offline();
std::string environment(const char* name);

/// A file of a repository at one commit, as the hub describes it.
struct RemoteFile {
  std::string name;         ///< Path in the repository.
  std::string etag;         ///< SHA-256 of large files, else git's SHA-1 of a blob: in hexadecimal digits.
  std::uint64_t bytes = 0;  ///< Of the whole file.
};

/// What moves while a file comes.
struct TransferHooks {
  std::function<void(std::uint64_t bytes)> arrived = [](std::uint64_t) {};
  std::function<bool()> may_go_on = [] { return true; };
};

/// To append to; its folder is made where another process has tidied it away a moment ago.
Descriptor open_unfinished(const std::filesystem::path& part);

/// A repository of the hub at HF_ENDPOINT, else at the public one, with the token of HF_TOKEN, else of $HF_HOME/token.
/// 429 and 5xx are waited for, as long as the answer asks, up to 60 s; broken transfers go on where they broke.
///
/// Throws user errors for what is not there or not allowed, Error(lacking) where the hub cannot be reached or sends
/// what its own hash denies, Error(interrupted). Each names the repository, and the file or revision; none the token.
class HubRepository {
 public:
  explicit HubRepository(const HubName& name);

  const std::string& commit() const { return commit_; }
  const std::vector<std::string>& files() const { return files_; }  ///< Paths, as the hub lists them: to be checked.
  RemoteFile look_up(const std::string& file) const;
  /// Into `part`, which may hold the file's beginning; whole and verified when this returns.
  void download(const RemoteFile& file, const std::filesystem::path& part, const TransferHooks& hooks) const;

 private:
  HttpAnswer ask(HttpRequest request, const std::string& what) const;
  HttpAnswer ask_patiently(const HttpRequest& request, const std::string& what) const;
  [[noreturn]] void fail(const HttpAnswer& answer, const std::string& what) const;
  void receive(const RemoteFile& file, const std::filesystem::path& part, const TransferHooks& hooks) const;
  std::string resolve_url(const std::string& file) const;

  HubName name_;
  std::string endpoint_;
  std::string token_;
  std::string commit_;
  std::vector<std::string> files_;
};

}  // namespace assay
