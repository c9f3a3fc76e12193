#include "text/data_set_name.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/testing.h"
#include "text/data_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string data_commit(40, 'd');

/// A cache of the hub's tools with one data set, org/set.
class DataSets : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HF_HUB_CACHE", temporary_.path().c_str(), 1);
    ::setenv("HF_HUB_OFFLINE", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("HF_HUB_CACHE");
    ::unsetenv("HF_HUB_OFFLINE");
  }

  fs::path stored(const std::string& name, const std::string& content) const {
    (void)temporary_.file("datasets--org--set/refs/main", data_commit + "\n");
    return temporary_.file("datasets--org--set/snapshots/" + data_commit + "/" + name, content);
  }
  static std::string error(const std::string& name) {
    return user_error_of([&] { (void)find_data(name); });
  }

  TemporaryFolder temporary_;
};

TEST_F(DataSets, APathIsItself) {
  EXPECT_EQ(find_data("datasets/org/set"), "datasets/org/set");
  EXPECT_EQ(find_data(""), "");
  EXPECT_EQ(shown_name("datasets/org/set.tsv"), "set.tsv");
  EXPECT_EQ(shown_name("hf:datasets/org/set:a/b.tsv"), "org/set:a/b.tsv");
}

TEST_F(DataSets, TheNameMeansAFileOfTheSnapshot) {
  const fs::path train = stored("data/train.jsonl", "{\"text\": \"a\", \"label\": 1}\n");
  (void)stored("README.md", "about");
  EXPECT_EQ(find_data("hf:datasets/org/set"), train) << "the only one that is read";
  EXPECT_EQ(find_data("hf:datasets/org/set@" + data_commit + ":data/train.jsonl"), train);
  EXPECT_TRUE(holds_labelled("hf:datasets/org/set"));
  EXPECT_EQ(load_labelled("hf:datasets/org/set:data/train.jsonl").sentences, std::vector<std::string>{"a"});
  EXPECT_EQ(load_text("hf:datasets/org/set:README.md"), "about");
}

TEST_F(DataSets, ErrorsNameTheDataSetAndThePartThatLacks) {
  EXPECT_TRUE(error("hf:datasets/org/other").starts_with("org/other: is not in the hub's cache "));
  (void)stored("train.parquet", "PAR1");
  EXPECT_TRUE(error("hf:datasets/org/set@v2").starts_with("org/set: revision v2 is not in "));
  EXPECT_TRUE(error("hf:datasets/org/set:b.tsv").starts_with("org/set: revision main has no file b.tsv in "));
  EXPECT_TRUE(error("hf:datasets/org/set").starts_with("org/set: revision main has no file of .tsv, .jsonl and .txt"));
  EXPECT_NE(user_error_of([] { load_text("hf:datasets/org/set:train.parquet"); }).find(".parquet files are not read"),
            std::string::npos);
  (void)stored("a.txt", "a");
  (void)stored("b.tsv", "b");
  EXPECT_EQ(error("hf:datasets/org/set"), "org/set: may be any of a.txt, b.tsv; ':FILE' behind it says which");
}

TEST_F(DataSets, NothingLeadsOutOfTheSnapshot) {
  EXPECT_NE(error("hf:org/model").find("hf:datasets/ORG/NAME"), std::string::npos);
  for (const std::string name :
       {"hf:datasets/org/set:../../refs/main", "hf:datasets/org/set:/etc/passwd", "hf:datasets/", "hf:datasets/../set",
        "hf:datasets/org/set@../main", "hf:datasets/a/b/c"}) {
    EXPECT_NE(error(name).find("is no name of the hub"), std::string::npos) << error(name);
  }
  (void)temporary_.file("datasets--org--set/refs/main", "../../..");
  EXPECT_NE(error("hf:datasets/org/set").find("holds no commit"), std::string::npos);
}

}  // namespace
}  // namespace assay
