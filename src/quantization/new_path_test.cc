#include "quantization/new_path.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

void write_small_model(const fs::path& folder) {
  write_file_atomically(folder / "config.json", "new");
}

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(NewPaths, StandWholeOrNotAtAll) {
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model";
  EXPECT_EQ(user_error_of([&] {
              write_new_folder(folder, Existing::refused, [](const fs::path& to) {
                write_small_model(to);
                fail_user("no such weight");
              });
            }),
            "no such weight");
  EXPECT_EQ(entries_in(place.path()), 0U) << "nothing of it stays";
  write_new_folder(folder / "", Existing::refused, write_small_model);
  EXPECT_EQ(read_file(folder / "config.json"), "new");
  EXPECT_EQ(entries_in(place.path()), 1U);
}

TEST(NewPaths, AreOverwrittenWhereThatIsAskedAndAModelStandsThere) {
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model";
  fs::create_directory(folder);
  place.file("model/config.json", "old");
  place.file("model/weights", "old");
  EXPECT_NE(user_error_of([&] { write_new_folder(folder, Existing::refused, write_small_model); }).find("--overwrite"),
            std::string::npos);
  write_new_folder(folder, Existing::overwritten, write_small_model);
  EXPECT_EQ(read_file(folder / "config.json"), "new");
  EXPECT_EQ(entries_in(folder), 1U) << "what stood there is gone";
  EXPECT_EQ(entries_in(place.path()), 1U);
}

TEST(NewPaths, TakeNothingElseAway) {
  const TemporaryFolder place;
  const fs::path folder = place.path() / "work";
  fs::create_directories(folder / "more");
  place.file("work/config.json", "old");
  const auto overwrite = [&] { write_new_folder(folder, Existing::overwritten, write_small_model); };
  EXPECT_NE(user_error_of(overwrite).find("'more', which is no file of a model"), std::string::npos);
  fs::remove(folder / "more");
  fs::remove(folder / "config.json");
  EXPECT_NE(user_error_of(overwrite).find("holds no model that could be overwritten"), std::string::npos);
  EXPECT_NE(user_error_of([&] {
              check_new_path(place.path() / "no" / "model", Existing::refused);
            }).find("there is no folder"),
            std::string::npos);
}

TEST(NewPaths, OfFilesAreReplacedInOneStep) {
  const TemporaryFolder place;
  const fs::path file = place.path() / "model.gguf";
  const auto write = [](const fs::path& to) { write_file_atomically(to, "new"); };
  write_new_file(file, Existing::refused, write);
  EXPECT_EQ(entries_in(place.path()), 1U);
  EXPECT_NE(user_error_of([&] { write_new_file(file, Existing::refused, write); }).find("is there already"),
            std::string::npos);
  place.file("model.gguf", "old");
  write_new_file(file, Existing::overwritten, write);
  EXPECT_EQ(read_file(file), "new");
  EXPECT_EQ(entries_in(place.path()), 1U);
}

}  // namespace
}  // namespace assay
