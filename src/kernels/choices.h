#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// What a library was told to run after its proposals had been timed.
struct KernelChoice {
  std::vector<std::uint64_t> words;  ///< As the library knows it.
  std::string how;                   ///< "fastest of 8"

  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
};

/// Measured choices on disk: <library>-<hash of what they are made for>.json in the cache folder. A timing that comes
/// out otherwise in the next run changes neither the kernels nor, thereby, the bits of results.
class KernelChoices {
 public:
  /// `made_for`: the device, driver and library, in words. A file that is missing, is no such file or was made for
  /// something else counts as empty.
  KernelChoices(const std::string& library, std::string made_for);

  /// One sentence that names the file and what is wrong with it; empty where nothing is.
  const std::string& fault() const { return fault_; }
  const std::filesystem::path& file() const { return file_; }
  /// Null where none was kept.
  const KernelChoice* find(const std::string& key) const;
  /// Writes the file anew, with what others have kept in it meanwhile. Where it cannot be written nothing is lost but
  /// the time of measuring again.
  void keep(const std::string& key, KernelChoice choice);

 private:
  std::map<std::string, KernelChoice> read() const;

  std::string made_for_;
  std::filesystem::path file_;
  std::string fault_;
  std::map<std::string, KernelChoice> choices_;
};

}  // namespace assay
