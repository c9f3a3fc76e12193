#include "hub/hub_cache.h"

#include <vector>

#include "hub/models.h"
#include "hub/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string hub_commit(40, 'a');

class HubCache : public WithCache {
 protected:
  void SetUp() override {
    WithCache::SetUp();
    ::setenv("HF_HUB_CACHE", hub_.c_str(), 1);
    ::setenv("HF_HUB_OFFLINE", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("HF_HUB_CACHE");
    ::unsetenv("HF_HUB_OFFLINE");
    WithCache::TearDown();
  }
  /// As huggingface_hub stores it: a blob, and a relative link to it in the snapshot.
  fs::path stored(const std::string& repository, const std::string& name) const {
    (void)file(fs::path("hub") / repository / "blobs" / name, "x");
    const fs::path link = hub_ / repository / "snapshots" / hub_commit / name;
    fs::create_directories(link.parent_path());
    fs::create_symlink("../../blobs/" + name, link);
    (void)file(fs::path("hub") / repository / "refs/main", hub_commit);
    return link;
  }
  static std::string error(const std::string& name) {
    return user_error_of([&] { (void)find_local(name); });
  }

  fs::path hub_ = folder_ / "hub";
};

TEST_F(HubCache, GivesTheSnapshotThatTheRevisionMeans) {
  const fs::path snapshot = stored("models--org--name", "config.json").parent_path();
  (void)stored("models--org--name", "model.safetensors");
  (void)file("hub/models--org--name/refs/refs/pr/3", hub_commit + "\n");
  for (const std::string& revision : std::vector<std::string>{"", "@main", "@refs/pr/3", "@" + hub_commit}) {
    EXPECT_EQ(find_local("hf:org/name" + revision), snapshot) << revision;
  }
}

TEST_F(HubCache, TakesSnapshotsOfPlainFilesAndNamesWithoutAnOrganisation) {
  const fs::path config = file("hub/models--gpt2/snapshots/abc/config.json", "{}");
  (void)file("hub/models--gpt2/snapshots/abc/model.safetensors", "x");
  EXPECT_EQ(find_local("hf:gpt2@abc"), config.parent_path());
}

TEST_F(HubCache, PicksTheGgufByItsQuantisation) {
  const fs::path q4 = stored("models--o--m", "m-Q4_K_M.gguf");
  EXPECT_EQ(find_local("hf:o/m"), q4) << "the only model";
  (void)stored("models--o--m", "mmproj-m-Q8_0.gguf");
  EXPECT_EQ(find_local("hf:o/m"), q4) << "a projector of images is no model";
  (void)stored("models--o--m", "m-IQ4_K_M.gguf");
  const fs::path first = stored("models--o--m", "m-Q8_0-00001-of-00002.gguf");
  (void)stored("models--o--m", "m-Q8_0-00002-of-00002.gguf");
  EXPECT_EQ(find_local("hf:o/m:q4_k_m"), q4);
  EXPECT_EQ(find_local("hf:o/m:m-Q4_K_M.gguf"), q4);
  EXPECT_EQ(find_local("hf:o/m:Q8_0"), first);
  EXPECT_EQ(error("hf:o/m"), "hf:o/m: may be any of m-IQ4_K_M, m-Q4_K_M, m-Q8_0; ':FILE' behind it says which");
}

TEST_F(HubCache, SaysWhichPartOfTheNameIsNotThere) {
  EXPECT_TRUE(error("hf:org/name").starts_with("org/name: is not in the hub's cache "));
  (void)stored("models--org--name", "notes.txt");
  EXPECT_TRUE(error("hf:org/name@v2").starts_with("org/name: revision v2 is not in "));
  EXPECT_TRUE(error("hf:org/name:Q4_0").starts_with("org/name: revision main has no file Q4_0 in "));
  EXPECT_TRUE(error("hf:org/name")
                  .starts_with("org/name: revision main has neither safetensors beside config.json nor a .gguf"));
  EXPECT_TRUE(error("hf:org/name:notes.txt").ends_with("is neither a model folder nor a .gguf file"));
}

TEST_F(HubCache, NamesNothingOutsideOfTheRepositorysFolder) {
  for (const char* name : {"hf:", "hf:/", "hf:a/b/c", "hf:../x", "hf:a/b@../..", "hf:a/b@", "hf:a/b:", "hf:a/b:../c",
                           "hf:a/b:/etc/passwd", "hf:a/b@x//y", "hf:a b/c"}) {
    EXPECT_TRUE(error(name).ends_with("is no name of the hub; they are hf:[datasets/]ORG/NAME[@REVISION][:FILE]"))
        << name;
  }
  (void)stored("models--org--name", "config.json");
  (void)file("hub/models--org--name/refs/bad", "../../..");
  EXPECT_TRUE(error("hf:org/name@bad").ends_with("holds no commit"));
  EXPECT_EQ(error("hf:datasets/a/b"), "hf:datasets/a/b: is a data set, no model; --data takes it");
}

TEST_F(HubCache, StandsWhereTheVariablesSay) {
  EXPECT_EQ(hub_cache_folder(), hub_);
  ::unsetenv("HF_HUB_CACHE");
  EXPECT_EQ(hub_cache_folder(), folder_ / "cache/huggingface/hub");
  ::setenv("HF_HOME", "/h", 1);
  EXPECT_EQ(hub_cache_folder(), "/h/hub");
  ::unsetenv("HF_HOME");
}

}  // namespace
}  // namespace assay
