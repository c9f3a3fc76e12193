#include "model/where_to_get.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

bool says_where(const std::string& name, const std::string& part) {
  return where_to_get(name).find(part) != std::string::npos;
}

TEST(WhereToGet, NamesThePackagesThePresetAndTheFilesOfOthers) {
  for (const char* name : {"gpt2", "openai-community/gpt2", "distilbert-base-uncased-finetuned-sst-2-english", "x y"})
    EXPECT_TRUE(says_where(name, "`assay pull` fetches smollm2-135m and minilm-l6")) << name;
  EXPECT_TRUE(says_where("gpt2", "nearest preset is gpt2, "));
  EXPECT_TRUE(says_where("openai-community/gpt2-medium", "nearest preset is gpt2-medium, "));
  EXPECT_TRUE(says_where("distilbert-base-uncased-finetuned-sst-2-english", "nearest preset is distilbert-base, "));
  EXPECT_FALSE(says_where("gpt20b", "nearest preset")) << "no word of its own";
  EXPECT_TRUE(says_where("gpt2", "as hf:gpt2 it is fetched from the hub"));
  EXPECT_FALSE(says_where("x y", "hf:"));
}

}  // namespace
}  // namespace assay
