#include "hub/models.h"

#include "hub/testing.h"

namespace assay {
namespace {

using Names = WithCache;

TEST_F(Names, MeanAPathFirstThenTheCacheThenAPreset) {
  EXPECT_EQ(find_local("gpt2"), std::nullopt) << "left to the presets";
  const auto cached = file("cache/assay/models/gpt2/config.json", "{}").parent_path();
  EXPECT_EQ(find_local("gpt2"), cached);
  const auto path = file("elsewhere/gpt2/config.json", "{}").parent_path();
  EXPECT_EQ(find_local(path.string()), path);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "elsewhere");
  EXPECT_EQ(find_local("gpt2"), "gpt2") << "a folder of that name in the working folder";
  std::filesystem::current_path(before);
}

TEST_F(Names, AFolderWithNothingButAGgufFileMeansThatFile) {
  const auto gguf = file("cache/assay/models/small/weights.gguf", "GGUF");
  EXPECT_EQ(find_local("small"), gguf);
  EXPECT_EQ(find_local(gguf.string()), gguf);
  file("cache/assay/models/small/config.json", "{}");
  EXPECT_EQ(find_local("small"), gguf.parent_path());
}

TEST_F(Names, WhatCanOnlyBeAPathMustBeThere) {
  const auto error = [](const std::string& name) { return error_of(ExitCode::user, [&] { (void)find_local(name); }); };
  EXPECT_EQ(error("./no/such"), "./no/such: no such folder or .gguf file");
  EXPECT_EQ(error("no/such/folder"), "no/such/folder: no such folder or .gguf file");
  EXPECT_EQ(error("none.gguf"), "none.gguf: no such folder or .gguf file");
  const auto text = file("notes.txt", "x");
  EXPECT_EQ(error(text.string()), text.string() + ": is neither a model folder nor a .gguf file");
  const auto loop = folder_ / "loop";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_TRUE(error(loop.string()).starts_with(loop.string() + ": "));
  EXPECT_EQ(error(""), "'': is no model name");
  EXPECT_EQ(error("a/\n\x1b[2J"), "a/\\x0a\\x1b[2J: no such folder or .gguf file");
}

TEST_F(Names, OfOthersStoresSayHowToGetTheModel) {
  EXPECT_EQ(error_of(ExitCode::user, [] { (void)find_local("Qwen/Qwen3-0.6B"); }),
            "Qwen/Qwen3-0.6B: no such folder; as hf:Qwen/Qwen3-0.6B it is fetched from the hub, where it is published "
            "there");
}

TEST_F(Names, OfUnfinishedDownloadsAreHidden) {
  EXPECT_TRUE(list_cached().empty());
  file("cache/assay/models/.small.tmp-123/model.gguf", "x");
  file("cache/assay/models/b/config.json", "12");
  file("cache/assay/models/b/sub/more", "345");
  file("cache/assay/models/a/m.gguf", "1");
  const std::vector<CachedModel> cached = list_cached();
  ASSERT_EQ(cached.size(), 2U);
  EXPECT_EQ(cached[0].name, "a");
  EXPECT_EQ(cached[0].path.filename(), "m.gguf");
  EXPECT_EQ(cached[1].name, "b");
  EXPECT_EQ(cached[1].bytes, 5U);
  EXPECT_EQ(find_local(".small.tmp-123"), std::nullopt);
}

}  // namespace
}  // namespace assay
