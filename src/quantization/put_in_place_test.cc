#include "quantization/put_in_place.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// On a file system without flags of rename, by the error that it gives.
class PlacedWithoutFlags : public testing::TestWithParam<int> {
 protected:
  void put(const char* from, const char* to, unsigned flags) const {
    put_in_place(place_.path() / from, place_.path() / to, flags,
                 [](const fs::path&, const fs::path&, unsigned) { return GetParam(); });
  }
  std::string content(const char* name) const { return read_file(place_.path() / name); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(place_.path()), fs::directory_iterator()));
  }
  void expect_refused(const char* from, const char* to) const {
    EXPECT_NE(user_error_of([&] { put(from, to, RENAME_NOREPLACE); }).find("cannot be written"), std::string::npos);
  }

  TemporaryFolder place_;
};

TEST_P(PlacedWithoutFlags, NewOnesGetTheirNames) {
  place_.file("made.gguf", "new");
  place_.file("made/config.json", "new");
  put("made.gguf", "m.gguf", RENAME_NOREPLACE);
  put("made", "m", RENAME_NOREPLACE);
  EXPECT_EQ(content("m.gguf"), "new");
  EXPECT_EQ(content("m/config.json"), "new");
  EXPECT_EQ(entries(), 2U) << "nothing has two names";
}

TEST_P(PlacedWithoutFlags, NothingThatStandsThereIsReplaced) {
  place_.file("made.gguf", "new");
  place_.file("made/config.json", "new");
  place_.file("m.gguf", "old");
  place_.file("m/config.json", "old");
  for (const char* from : {"made.gguf", "made"}) {
    expect_refused(from, "m.gguf");
    expect_refused(from, "m");
  }
  fs::create_directory(place_.path() / "empty");
  expect_refused("made", "empty");
  EXPECT_EQ(content("m.gguf"), "old");
  EXPECT_EQ(content("m/config.json"), "old");
  EXPECT_EQ(content("made.gguf") + content("made/config.json"), "newnew") << "what was made is still there";
}

TEST_P(PlacedWithoutFlags, FoldersThatAreOverwrittenChangePlaces) {
  place_.file("made/config.json", "new");
  place_.file("m/config.json", "old");
  put("made", "m", RENAME_EXCHANGE);
  EXPECT_EQ(content("m/config.json"), "new");
  EXPECT_EQ(content("made/config.json"), "old");
  EXPECT_EQ(entries(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Errors, PlacedWithoutFlags, testing::Values(EINVAL, ENOSYS, EOPNOTSUPP));

TEST(Placed, OtherFailuresAreSaid) {
  const TemporaryFolder place;
  const fs::path made = place.file("made", "new");
  const auto locked = [](const fs::path&, const fs::path&, unsigned) { return EACCES; };
  EXPECT_NE(user_error_of([&] {
              put_in_place(made, place.path() / "m", RENAME_NOREPLACE, locked);
            }).find("cannot be written"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(place.path() / "m"));
}

}  // namespace
}  // namespace assay
