#include <gtest/gtest.h>

#include <functional>

#include "levels.h"
#include "sources.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
const fs::path src = fs::path(ASSAY_SOURCE_DIR) / "src";

bool is_code(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".cuh";
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Calls visit(file relative to src, its text) for every source file of every room.
void for_each_source(const std::function<void(const fs::path&, const std::string&)>& visit) {
  for (const fs::path& file : project_files(src)) {
    if (is_code(file)) visit(fs::relative(file, src), text_of(file));
  }
}

TEST(IncludeDirection, EveryRoomStandsInTheTable) {
  for_each_source([](const fs::path& file, const std::string&) {
    EXPECT_EQ(allowed_rooms.count(room_of(file)), 1U) << "src/" << file.string() << " is in no room of the table";
  });
}

TEST(IncludeDirection, EveryArrowIsInTheTable) {
  int arrows = 0;
  for_each_source([&](const fs::path& file, const std::string& text) {
    const std::string room = room_of(file);
    if (allowed_rooms.count(room) == 0) return;  // the test above names it
    for (const Include& include : quoted_includes(text)) {
      ++arrows;
      EXPECT_EQ(fault_of(src, room, include), "")
          << "src/" << file.string() << ":" << include.line << ": \"" << include.path << "\"";
    }
  });
  EXPECT_GT(arrows, 0) << "no include was read: the test looked in the wrong place";
}

TEST(IncludeDirection, TheTableHasNoCycle) {
  for (const auto& [room, below] : allowed_rooms) {
    for (const std::string& other : below) {
      ASSERT_EQ(allowed_rooms.count(other), 1U) << room << " may include " << other << ", which is no room";
      EXPECT_EQ(allowed_rooms.at(other).count(room), 0U) << room << " and " << other << " include each other";
    }
  }
}

/// Tests, fuzz programs, and the helpers they share: foo_test.cc, foo_fuzz.cc, testing.h, foo_testing.h.
bool is_test_code(const fs::path& file) {
  const std::string stem = "_" + file.stem().string();
  return ends_with(stem, "_test") || ends_with(stem, "_fuzz") || ends_with(stem, "_testing");
}

TEST(IncludeDirection, NothingOutsideTestsUsesTestCode) {
  for_each_source([](const fs::path& file, const std::string& text) {
    if (is_test_code(file)) return;
    EXPECT_EQ(text.find("gtest/gtest.h"), std::string::npos) << "src/" << file.string() << " includes GoogleTest";
    for (const Include& include : quoted_includes(text)) {
      EXPECT_FALSE(is_test_code(include.path)) << "src/" << file.string() << " includes " << include.path;
    }
  });
}

TEST(IncludeDirection, AnArrowPointingUpIsAFault) {
  EXPECT_EQ(fault_of(src, "base", {"tensor/dtype.h", 1}), "base may not include tensor");
  EXPECT_EQ(fault_of(src, "tensor", {"no/such.h", 1}), "is not a file of src/");
  EXPECT_EQ(fault_of(src, "formats", {"tensor/dtype.h", 1}), "");
  EXPECT_EQ(fault_of(src, "formats", {"base/error.h", 1}), "");
}

TEST(IncludeDirection, IncludesAreReadWhateverTheirSpacing) {
  const std::vector<Include> found = quoted_includes("#include <map>\n #  include  \"a/b.h\"  // why\n// \"c/d.h\"\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "a/b.h");
  EXPECT_EQ(found[0].line, 2);
}

}  // namespace
}  // namespace assay
