#include "hardware/system_files.h"

#include <gtest/gtest.h>

#include "hardware/recorded_tree.h"

namespace assay {
namespace {

TEST(SystemFiles, CpuListsHaveRangesAndSingles) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
}

TEST(SystemFiles, AHostileCpuListEndsWithoutFillingTheMemory) {
  EXPECT_TRUE(parse_cpu_list("0-2000000000").empty());
  EXPECT_EQ(parse_cpu_list("1,x,2"), (std::vector<int>{1}));
  EXPECT_TRUE(parse_cpu_list("-5").empty());
}

TEST(SystemFiles, FieldsAreFoundByTheirWholeKey) {
  const std::string text = "MemTotalHuge: 1\nMemTotal:  24 kB\ncpu MHz\t\t: 2596.1\ninactive_file 4096\n";
  EXPECT_EQ(find_field(text, "MemTotal"), "24 kB");
  EXPECT_EQ(find_field(text, "cpu MHz"), "2596.1");
  EXPECT_EQ(find_field(text, "inactive_file"), "4096");
  EXPECT_EQ(find_field(text, "inactive"), std::nullopt);
}

TEST(SystemFiles, WhatIsMissingIsAFactWithItsCause) {
  const RecordedTree tree;
  EXPECT_EQ(read_small_file(tree.root() / "none").error, ENOENT);
  EXPECT_EQ(read_small_file(tree.root()).error, EISDIR);
  tree.write("number", " 42\n");
  EXPECT_EQ(read_number(tree.root() / "number"), 42);
  tree.write("word", "max\n");
  EXPECT_EQ(read_number(tree.root() / "word"), std::nullopt);
  EXPECT_TRUE(list_folder(tree.root() / "none").empty());
}

}  // namespace
}  // namespace assay
