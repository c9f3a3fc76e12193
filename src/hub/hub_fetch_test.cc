#include "hub/hub_fetch.h"

#include <fstream>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "hub/hub_cache.h"
#include "hub/hub_testing.h"
#include "hub/models.h"
#include "hub/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A cache of its own, and the hub that HF_ENDPOINT names.
class HubFetch : public WithCache {
 protected:
  void SetUp() override {
    WithCache::SetUp();
    ::setenv("HF_HUB_CACHE", cache_.c_str(), 1);
    ::setenv("HF_ENDPOINT", hub_.address().c_str(), 1);
    ::setenv("HF_TOKEN", "secret-token", 1);
    hub_.files = {{"config.json", "{}"},
                  {"tokenizer.json", "[1]"},
                  {"model.safetensors", std::string(5000, 'w')},
                  {"pytorch_model.bin", std::string(5000, 'b')},
                  {"README.md", "read"}};
  }
  void TearDown() override {
    for (const char* name : {"HF_HUB_CACHE", "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"}) ::unsetenv(name);
    WithCache::TearDown();
  }

  std::set<std::string> names_in(const fs::path& folder) const {
    std::set<std::string> names;
    if (!fs::exists(repository_ / folder)) return names;
    for (const auto& entry : fs::recursive_directory_iterator(repository_ / folder))
      names.insert(entry.path().lexically_relative(repository_ / folder).string());
    return names;
  }
  std::string error(const std::string& name, ExitCode code) const {
    try {
      (void)find_local(name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "no error";
  }

  fs::path cache_ = folder_ / "hub";
  fs::path repository_ = cache_ / "models--org--name";
  fs::path snapshot_ = repository_ / "snapshots" / TestHub::commit;
  TestHub hub_;
};

TEST_F(HubFetch, FetchesWhatAModelNeedsAsHuggingfaceHubLaysItOut) {
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_EQ(names_in("snapshots/" + TestHub::commit),
            (std::set<std::string>{"config.json", "tokenizer.json", "model.safetensors"}));
  EXPECT_EQ(fs::read_symlink(snapshot_ / "config.json"), "../../blobs/9e26dfeeb6e641a33dae4961196235bdb965b21b");
  EXPECT_EQ(read_file(snapshot_ / "model.safetensors"), std::string(5000, 'w'));
  EXPECT_EQ(read_file(repository_ / "refs/main"), TestHub::commit);
  EXPECT_EQ(names_in("blobs").size(), 3U);
  EXPECT_FALSE(fs::exists(repository_ / ".unfinished"));
}

TEST_F(HubFetch, OfATokenizerOnlyItsFilesCome) {
  EXPECT_EQ(find_local("hf:org/name", HubNeed::tokenizer), snapshot_);
  EXPECT_EQ(names_in("snapshots/" + TestHub::commit), (std::set<std::string>{"tokenizer.json"}));
  const std::size_t asked = hub_.asked().size();
  EXPECT_EQ(find_local("hf:org/name", HubNeed::tokenizer), snapshot_);
  EXPECT_EQ(hub_.asked().size(), asked);
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_TRUE(fs::exists(snapshot_ / "model.safetensors")) << "the rest comes where a model is needed";
}

TEST_F(HubFetch, AGgufHoldsItsTokenizerInItsFirstPart) {
  hub_.files = {{"m-Q8_0-00001-of-00002.gguf", std::string(200, 'a')},
                {"m-Q8_0-00002-of-00002.gguf", std::string(250, 'b')}};
  EXPECT_EQ(find_local("hf:org/name", HubNeed::tokenizer), snapshot_ / "m-Q8_0-00001-of-00002.gguf");
  EXPECT_FALSE(fs::exists(snapshot_ / "m-Q8_0-00002-of-00002.gguf"));
  hub_.files = {{"notes.txt", "x"}};
  EXPECT_TRUE(user_error_of([&] {
                (void)needed_files({"o/n"}, {"notes.txt"}, HubNeed::tokenizer);
              }).find("has no tokenizer.json") != std::string::npos);
}

TEST_F(HubFetch, WhatMayOnlyBeLookedUpAsksForNothing) {
  EXPECT_TRUE(user_error_of([] {
                (void)find_local("hf:org/name", HubNeed::cached);
              }).starts_with("org/name: is not in the hub's cache "));
  EXPECT_TRUE(hub_.asked().empty());
  (void)find_local("hf:org/name");
  EXPECT_EQ(find_local("hf:org/name", HubNeed::cached), snapshot_);
}

TEST_F(HubFetch, UnfinishedFilesOfAMovedRevisionGo) {
  hub_.files["extra.gguf"] = std::string(300, 'e');
  const auto unfinished = [&](const std::string& name, const std::string& revision, const std::string& file) {
    fs::create_directories(repository_ / ".unfinished");
    std::ofstream(repository_ / ".unfinished" / name) << "begun";
    if (!file.empty()) std::ofstream(repository_ / ".unfinished" / (name + ".of")) << revision << '\n' << file;
  };
  const std::string wanted = sha256_hex(std::as_bytes(std::span(hub_.files.at("extra.gguf"))));
  unfinished("old-weights", "main", "model.safetensors");
  unfinished("gone", "main", "no-more.safetensors");
  unfinished("unnoted", "", "");
  unfinished("elsewhere", "refs/pr/3", "model.safetensors");
  unfinished(wanted, "main", "extra.gguf");
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_EQ(names_in(".unfinished"), (std::set<std::string>{"elsewhere", "elsewhere.of", wanted, wanted + ".of"}));
}

TEST_F(HubFetch, AsksForNothingThatTheCacheHas) {
  (void)find_local("hf:org/name");
  const std::size_t asked = hub_.asked().size();
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_EQ(hub_.asked().size(), asked);
  EXPECT_EQ(find_local("hf:org/name@refs/pr/3"), snapshot_) << "the same commit: nothing comes twice";
  EXPECT_EQ(hub_.asked_elsewhere().size(), 1U);
}

TEST_F(HubFetch, GivesItsTokenToNoOtherHost) {
  (void)find_local("hf:org/name");
  for (const SeenRequest& request : hub_.asked()) EXPECT_EQ(request.token, "Bearer secret-token") << request.path;
  for (const SeenRequest& request : hub_.asked_elsewhere()) EXPECT_EQ(request.token, "") << request.path;
}

TEST_F(HubFetch, GoesOnWhereATransferBroke) {
  hub_.breaks_first = {1000, 1500, 0};
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_EQ(read_file(snapshot_ / "model.safetensors"), std::string(5000, 'w'));
  std::vector<std::string> ranges;
  for (const SeenRequest& request : hub_.asked_elsewhere()) ranges.push_back(request.range);
  EXPECT_EQ(ranges, (std::vector<std::string>{"", "1000-", "2500-", "2500-"}));
}

TEST_F(HubFetch, WaitsForAHubThatIsBusy) {
  hub_.statuses_first = {429, 503, 500};
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
}

TEST_F(HubFetch, WhatItsHashDeniesIsDiscarded) {
  hub_.sends_other_bytes = true;
  EXPECT_EQ(error("hf:org/name", ExitCode::lacking),
            "org/name: model.safetensors: what came is not what the hub's SHA-256 says, and was discarded");
  EXPECT_TRUE(names_in("snapshots").empty());
  const std::string weights = sha256_hex(std::as_bytes(std::span(hub_.files.at("model.safetensors"))));
  for (const char* folder : {"blobs", ".unfinished"}) EXPECT_EQ(names_in(folder).count(weights), 0U) << folder;
  hub_.sends_other_bytes = false;
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
}

TEST_F(HubFetch, SaysWhichPartOfTheNameTheHubDoesNotHave) {
  EXPECT_TRUE(error("hf:org/other", ExitCode::user).starts_with("org/other: " + hub_.address()));
  EXPECT_EQ(error("hf:org/name@v9", ExitCode::user), "org/name: has no revision v9");
  EXPECT_EQ(error("hf:org/name:Q4_0", ExitCode::user),
            "org/name: revision main has no file Q4_0, nor a .gguf that is called so");
  hub_.is_gated = true;
  const std::string gated = error("hf:org/name", ExitCode::user);
  EXPECT_TRUE(gated.find("is gated") != std::string::npos && gated.find("HF_TOKEN") != std::string::npos) << gated;
  EXPECT_EQ(gated.find("secret"), std::string::npos);
}

TEST_F(HubFetch, PicksTheGgufOfThatNameWithItsParts) {
  hub_.files = {{"m-Q4_K_M.gguf", std::string(300, 'q')},
                {"sub/m-Q8_0-00001-of-00002.gguf", std::string(200, 'a')},
                {"sub/m-Q8_0-00002-of-00002.gguf", std::string(250, 'b')}};
  EXPECT_EQ(find_local("hf:org/name:Q8_0"), snapshot_ / "sub/m-Q8_0-00001-of-00002.gguf");
  EXPECT_EQ(read_file(snapshot_ / "sub/m-Q8_0-00002-of-00002.gguf"), std::string(250, 'b'));
  EXPECT_FALSE(fs::exists(snapshot_ / "m-Q4_K_M.gguf"));
  EXPECT_EQ(find_local("hf:org/name:Q4_K_M"), snapshot_ / "m-Q4_K_M.gguf");
}

TEST_F(HubFetch, OfADataSetTheOneFileThatIsMeant) {
  hub_.kind = HubKind::data_set;
  hub_.files = {{"README.md", "about"}, {"data/dev.jsonl", std::string(300, 'd')}, {"train.parquet", "PAR1"}};
  const fs::path snapshot = cache_ / "datasets--org--name/snapshots" / TestHub::commit;
  EXPECT_EQ(find_in_hub("hf:datasets/org/name"), snapshot / "data/dev.jsonl");
  EXPECT_EQ(read_file(snapshot / "data/dev.jsonl"), std::string(300, 'd'));
  EXPECT_FALSE(fs::exists(snapshot / "README.md"));
  EXPECT_EQ(find_in_hub("hf:datasets/org/name:README.md"), snapshot / "README.md");
  const auto refusal = [](const char* name) { return user_error_of([&] { (void)find_in_hub(name); }); };
  EXPECT_EQ(refusal("hf:datasets/org/name:b.tsv"),
            "org/name: revision main has no file b.tsv; .tsv, .jsonl and text are read, .parquet is not");
  EXPECT_EQ(refusal("hf:datasets/org/name@v9"), "org/name: has no revision v9");
  EXPECT_EQ(error("hf:datasets/org/name", ExitCode::user),
            "hf:datasets/org/name: is a data set, no model; --data takes it");
}

TEST_F(HubFetch, SplitWeightsAreThoseOfTheIndex) {
  hub_.files.erase("model.safetensors");
  hub_.files["model.safetensors.index.json"] = R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})";
  hub_.files["one.safetensors"] = std::string(120, '1');
  hub_.files["two.safetensors"] = std::string(130, '2');
  hub_.files["old.safetensors"] = std::string(140, '3');
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_TRUE(fs::exists(snapshot_ / "one.safetensors") && fs::exists(snapshot_ / "two.safetensors"));
  EXPECT_FALSE(fs::exists(snapshot_ / "old.safetensors"));
  fs::remove(snapshot_ / "two.safetensors");
  EXPECT_EQ(find_local("hf:org/name"), snapshot_);
  EXPECT_TRUE(fs::exists(snapshot_ / "two.safetensors")) << "a part that was missing comes";
}

TEST_F(HubFetch, NothingThatTheHubSaysLeadsOutOfTheFolder) {
  EXPECT_EQ(needed_files({"o/n"}, {"../config.json", "/etc/passwd", "config.json", "model.safetensors"}),
            (std::vector<std::string>{"model.safetensors", "config.json"}));
  for (const char* index : {R"({"weight_map":{"a":"../../x"}})", R"({"weight_map":{"a":"absent"}})"}) {
    EXPECT_TRUE(user_error_of([&] { (void)files_of_index("o/n", index, {"../../x"}); }).find("does not have") !=
                std::string::npos);
  }
}

TEST_F(HubFetch, OfflineAsksForNothing) {
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_TRUE(error("hf:org/name", ExitCode::user).ends_with("nothing is fetched while HF_HUB_OFFLINE is set"));
  EXPECT_TRUE(hub_.asked().empty());
}

TEST_F(HubFetch, AnAddressWithoutAHubIsNotWaitedFor) {
  ::setenv("HF_ENDPOINT", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(error("hf:org/name", ExitCode::lacking).find("cannot be reached") != std::string::npos);
  ::setenv("HF_ENDPOINT", "ftp://127.0.0.1", 1);
  EXPECT_TRUE(error("hf:org/name", ExitCode::user).starts_with("HF_ENDPOINT: "));
}

}  // namespace
}  // namespace assay
