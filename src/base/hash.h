#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace assay {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);
/// The same of a regular file's content, read in pieces of 1 MiB. Throws a user error that names the file.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace assay
