#include "base/write_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>
#include <thread>

#include "base/descriptor.h"
#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class WriteFileTest : public testing::Test {
 protected:
  const fs::path& path() const { return folder_.path(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path()), fs::directory_iterator()));
  }
  /// Writes it without the code under test.
  fs::path plant(const std::string& name, std::string_view content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }

  TemporaryFolder folder_;
};

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(WriteFileTest, AWriteReplacesTheWholeFileAndLeavesNothingElse) {
  const fs::path file = path() / "result ü.json";
  write_file_atomically(file, "a longer first version");
  write_file_atomically(file, "second");
  EXPECT_EQ(read_file(file), "second");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFileTest, AFailedWriteLeavesTheFolderAsItWas) {
  fs::create_directory(path() / "taken");
  EXPECT_TRUE(
      user_error_of([&] { write_file_atomically(path() / "taken", "x"); }).starts_with((path() / "taken").string()));
  EXPECT_NE(user_error_of([&] { write_file_atomically(path() / "no folder" / "f", "x"); }), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFileTest, AProducerThatFailsLeavesTheOldContent) {
  const fs::path file = plant("kept", "old");
  const auto produce = [](const ByteSink& sink) {
    sink(std::as_bytes(std::span("half")));
    fail_user("source: broke off");
  };
  EXPECT_EQ(user_error_of([&] { write_file_atomically(file, produce); }), "source: broke off");
  EXPECT_EQ(read_file(file), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFileTest, ANameAsLongAsNamesCanBeIsWritten) {
  const fs::path file = path() / std::string(255, 'n');
  write_file_atomically(file, "1");
  write_file_atomically(file, "2");
  EXPECT_EQ(read_file(file), "2");
}

TEST_F(WriteFileTest, ANewFileHasTheUmasksModeAndAnOldOneKeepsItsOwn) {
  const mode_t before = ::umask(027);
  write_file_atomically(path() / "new", "x");
  ::umask(before);
  EXPECT_EQ(mode_of(path() / "new"), 0640U);
  const fs::path secret = plant("secret", "old");
  fs::permissions(secret, fs::perms{0600});
  write_file_atomically(secret, "new");
  EXPECT_EQ(mode_of(secret), 0600U);
  EXPECT_EQ(read_file(secret), "new");
}

TEST_F(WriteFileTest, WhatALinkPointsToIsWrittenAndTheLinkStays) {
  plant("target", "old");
  fs::create_symlink("target", path() / "link");
  fs::create_symlink("link", path() / "second");
  write_file_atomically(path() / "second", "new");
  EXPECT_EQ(read_file(path() / "target"), "new");
  EXPECT_EQ(fs::read_symlink(path() / "second"), "link");
  EXPECT_EQ(fs::read_symlink(path() / "link"), "target");
  fs::create_symlink("made", path() / "dangling");
  write_file_atomically(path() / "dangling", "made");
  EXPECT_EQ(read_file(path() / "made"), "made");
  fs::create_symlink("loop", path() / "loop");
  EXPECT_NE(user_error_of([&] { write_file_atomically(path() / "loop", "x"); }), "");
}

TEST_F(WriteFileTest, ADeviceStaysADevice) {
  check_writable("/dev/null");
  write_file_atomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/null", path() / "link");
  write_file_atomically(path() / "link", "x");
  EXPECT_TRUE(fs::is_symlink(path() / "link"));
  EXPECT_NE(error_of(ExitCode::lacking, [] { write_file_atomically("/dev/full", "x"); }).find("/dev/full: No space"),
            std::string::npos);
}

TEST_F(WriteFileTest, APipeIsWrittenTo) {
  const fs::path pipe = path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::future<std::string> read = std::async(std::launch::async, [&] {
    std::ifstream file(pipe);
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
  check_writable(pipe);
  write_file_atomically(pipe, "through the pipe");
  EXPECT_EQ(read.get(), "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(WriteFileTest, AnOpenDescriptorIsWrittenToWhereItStands) {
  const fs::path file = plant("redirected", "");
  const Descriptor opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string name = "/dev/fd/" + std::to_string(opened.get());
  struct stat before {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  check_writable(name);
  write_file_atomically(name, "one ");
  write_file_atomically("/proc/self/fd/" + std::to_string(opened.get()), "two");
  EXPECT_EQ(read_file(file), "one two");
  struct stat after {};
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "the file is the one that was opened";
  EXPECT_NE(user_error_of([&] { write_file_atomically("/dev/fd/987654", "x"); }), "");
  const Descriptor read_only(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_NE(user_error_of([&] { check_writable("/dev/fd/" + std::to_string(read_only.get())); }), "");
}

TEST_F(WriteFileTest, AFileThatGrowsTooLargeLeavesTheOldOne) {
  const fs::path file = plant("kept", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of(ExitCode::lacking, [&] { write_file_atomically(file, std::string(5000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, file.string() + ": File too large");
  EXPECT_EQ(read_file(file), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFileTest, CheckingLeavesNothingBehind) {
  check_writable(path() / "new");
  EXPECT_EQ(entries(), 0U);
  EXPECT_NE(user_error_of([&] { check_writable(path()); }), "");
  EXPECT_NE(user_error_of([&] { check_writable(path() / "no folder" / "f"); }), "");
}

TEST_F(WriteFileTest, OneFileUnderTwoNamesIsKnown) {
  const fs::path file = plant("a", "x");
  fs::create_symlink("a", path() / "link");
  fs::create_hard_link(file, path() / "hard");
  EXPECT_TRUE(is_same_file(file, path() / "link"));
  EXPECT_TRUE(is_same_file(file, path() / "hard"));
  EXPECT_TRUE(is_same_file(path() / "new", path() / "." / "new")) << "neither exists yet";
  EXPECT_FALSE(is_same_file(file, path() / "new"));
  fs::create_symlink("new", path() / "dangling");
  EXPECT_TRUE(is_same_file(path() / "dangling", path() / "new"));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null")) << "a device is no file that could be lost";
}

}  // namespace
}  // namespace assay
