#include "formats/safetensors.h"
#include "formats/testing.h"

namespace assay {
namespace {

constexpr const char* index_name = "model.safetensors.index.json";

/// A folder with shards one (a, b) and two (c), and an index with the given weight_map.
class Shards : public testing::Test {
 protected:
  void SetUp() override {
    write_safetensors(folder_.path() / "one.safetensors", {{"a", value_.view()}, {"b", value_.view()}});
    write_safetensors(folder_.path() / "two.safetensors", {{"c", value_.view()}});
  }

  Safetensors open(const std::string& weight_map) {
    folder_.file(index_name, R"({"metadata":{"total_size":12},"weight_map":)" + weight_map + "}");
    return open_safetensors_folder(folder_.path());
  }
  std::string error_of(const std::string& weight_map) {
    return user_error_of([&] { open(weight_map); });
  }

  TemporaryFolder folder_;
  Tensor value_{DType::f32, {1}};
};

TEST_F(Shards, AreReadAsOneModel) {
  const Safetensors model = open(R"({"a":"one.safetensors","c":"two.safetensors","b":"one.safetensors"})");
  ASSERT_EQ(model.tensors.size(), 3U);
  EXPECT_EQ(model.path_of(*model.find("c")).filename(), "two.safetensors");
  EXPECT_EQ(model.path_of(*model.find("b")).filename(), "one.safetensors");
  EXPECT_EQ(model.find("d"), nullptr);
}

TEST_F(Shards, MustHoldExactlyWhatTheIndexNames) {
  EXPECT_TRUE(error_of(R"({"a":"one.safetensors","c":"two.safetensors"})")
                  .ends_with("does not name tensor 'b', which 'one.safetensors' holds"));
  EXPECT_TRUE(error_of(R"({"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"})")
                  .ends_with("tensor 'b' is mapped to 'two.safetensors', but 'one.safetensors' holds it"));
  EXPECT_TRUE(error_of(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors","d":"two.safetensors"})")
                  .ends_with("tensor 'd' is mapped to 'two.safetensors', which does not hold it"));
  EXPECT_TRUE(error_of(R"({"a":"three.safetensors"})").ends_with("No such file or directory"));
}

TEST_F(Shards, ATensorInTwoShardsIsAnError) {
  write_safetensors(folder_.path() / "two.safetensors", {{"c", value_.view()}, {"a", value_.view()}});
  EXPECT_NE(error_of(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})").find("tensor 'a'"),
            std::string::npos);
}

TEST_F(Shards, MustBePlainNamesInTheFolder) {
  for (const char* shard :
       {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    const std::string message = error_of(std::string(R"({"a":")") + shard + "\"}");
    EXPECT_TRUE(message.ends_with("is not a plain file name in the folder")) << message;
  }
}

TEST_F(Shards, TheIndexMustBeAnIndex) {
  EXPECT_TRUE(error_of("{}").ends_with("its 'weight_map' is empty"));
  EXPECT_TRUE(error_of("[]").ends_with("has no 'weight_map' object"));
  EXPECT_TRUE(error_of(R"({"a":1})").ends_with("the shard of 'a' is not a string"));
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), std::string(100'000, '['), std::string("{} {}")}) {
    folder_.file(index_name, text);
    EXPECT_NE(user_error_of([&] { open_safetensors_folder(folder_.path()); }).find(index_name), std::string::npos);
  }
}

TEST_F(Shards, AFolderWithoutAModelSaysWhatIsMissing) {
  EXPECT_TRUE(user_error_of([&] {
                open_safetensors_folder(folder_.path());
              }).ends_with("holds neither model.safetensors nor model.safetensors.index.json"));
  const auto single = folder_.path() / "model.safetensors";
  std::filesystem::create_symlink(single, single);
  EXPECT_TRUE(user_error_of([&] { open_safetensors_folder(folder_.path()); }).starts_with(single.string()));
}

}  // namespace
}  // namespace assay
