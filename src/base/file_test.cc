#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, with a space and an umlaut in its name, gone after the test.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay tést-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Writes it without the code under test.
  fs::path plant(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  fs::path folder_;
};

/// Both ways to read must refuse the path with a line that names it and holds `why`.
void expect_unreadable(const fs::path& path, const std::string& why) {
  const std::string mapped = user_error_of([&] { MappedFile{path}; });
  const std::string read = user_error_of([&] { read_file(path); });
  for (const std::string& message : {mapped, read}) {
    EXPECT_EQ(message.rfind(path.string() + ": ", 0), 0U) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
}

TEST_F(FileTest, ReadsTheExactBytesUnderAnyName) {
  const std::string content("\0\r\n\xff tail", 8);
  const fs::path path = plant("模型 файл.bin", content);
  EXPECT_EQ(read_file(path), content);
  const MappedFile mapped(path);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()), content);
}

TEST_F(FileTest, AMappingOutlivesTheMoveAndTheDeletedFile) {
  const fs::path path = plant("weights", "0123456789");
  MappedFile first(path);
  MappedFile second(std::move(first));
  fs::remove(path);
  EXPECT_EQ(static_cast<char>(second.bytes()[9]), '9');
  EXPECT_EQ(first.bytes().size(), 0U);
  first = std::move(second);
  EXPECT_EQ(first.bytes().size(), 10U);
}

TEST_F(FileTest, ReleasedPagesCanBeReadAgain) {
  const std::string content(100'000, 'w');
  const MappedFile mapped(plant("weights", content));
  mapped.release_pages(mapped.bytes().subspan(1000, 90'000));
  mapped.release_pages(mapped.bytes().subspan(10, 20));
  for (const std::byte b : mapped.bytes()) ASSERT_EQ(static_cast<char>(b), 'w');
}

TEST_F(FileTest, WhatIsNotAReadableFileIsRefusedByName) {
  expect_unreadable(folder_ / "absent", "No such file");
  expect_unreadable(folder_, "is a folder");
  expect_unreadable(plant("plain", "x") / "below", "Not a directory");
  expect_unreadable("/dev/null", "is not a regular file");
}

TEST_F(FileTest, AFifoIsRefusedWithoutWaitingForAWriter) {
  const fs::path fifo = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_unreadable(fifo, "is not a regular file");
}

TEST_F(FileTest, ALoopOfSymlinksIsRefused) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  expect_unreadable(folder_ / "a", "symbolic links");
}

TEST_F(FileTest, AnEmptyFileReadsAsNothingAndCannotBeMapped) {
  const fs::path path = plant("empty", "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(user_error_of([&] { MappedFile{path}; }), path.string() + ": is empty");
}

TEST_F(FileTest, AFileOverTheLimitIsRefusedWithBothFigures) {
  const fs::path path = plant("long", "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_EQ(user_error_of([&] { read_file(path, 4); }), path.string() + ": has 5 bytes, at most 4 are read");
}

TEST_F(FileTest, PiecesJoinToTheContent) {
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i % 251);
  const fs::path path = plant("long", content);
  std::string joined;
  read_pieces(path, [&](std::span<const std::byte> piece) {
    EXPECT_LE(piece.size(), 1U << 20);
    joined.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_EQ(joined, content);
}

TEST_F(FileTest, TheCacheFollowsTheEnvironment) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  EXPECT_EQ(cache_folder(), folder_ / "assay");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_NE(cache_folder().string().rfind("relative", 0), 0U) << "a relative folder is ignored, as XDG says";
  kept.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace assay
