#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace assay {
namespace {

// The messages and digests are the examples that NIST publishes for SHA-256.
constexpr const char* of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* of_a_million_a = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex({}), of_nothing);
  EXPECT_EQ(sha256_hex(bytes_of("abc")), of_abc);
  EXPECT_EQ(sha256_hex(bytes_of(std::string(1'000'000, 'a'))), of_a_million_a);
}

TEST(Sha256, OfAFileEqualsThatOfItsBytes) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "assay sha256 ü";
  const std::string content((std::size_t{3} << 20) + 17, 'q');
  write_file_atomically(path, content);
  EXPECT_EQ(sha256_file(path), sha256_hex(bytes_of(content)));
  write_file_atomically(path, "");
  EXPECT_EQ(sha256_file(path), of_nothing);
  std::filesystem::remove(path);
  EXPECT_THROW(sha256_file(path), Error);
}

}  // namespace
}  // namespace assay
