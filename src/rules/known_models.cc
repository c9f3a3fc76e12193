#include "rules/known_models.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "rules/spellings.h"

namespace assay {
namespace {

constexpr const char* radford =
    "Radford et al. 2019, table 3 (zero-shot WikiText-2); windows of 128 give about twice that";
constexpr const char* opt = "Zhang et al. 2022; Frantar et al. 2022, table 3 (WikiText-2, windows of 2,048)";
constexpr const char* llama = "Touvron et al. 2023; Dettmers et al. 2023 (SpQR; WikiText-2, windows of 2,048)";
constexpr const char* llama_2 = "Touvron et al. 2023 (Llama 2); perplexity as in common quantisation studies";
constexpr const char* llama_3 = "Grattafiori et al. 2024; perplexity as in common quantisation studies";
constexpr const char* bert = "Devlin et al. 2019, table 1 (SST-2); model cards of the fine-tuned checkpoints";
constexpr const char* distilbert =
    "Sanh et al. 2019, table 1 (SST-2 dev 91.3 %); model card of the fine-tuned checkpoint";
constexpr const char* smollm = "Allal et al. 2025; perplexity as measured with assay on WikiText-2 and its handbook";
constexpr const char* cs336 = "the model sizes of Stanford CS336 (2025), vocabulary 10,000, untied output";

constexpr KnownModel models[] = {
    {"gpt2", "gpt2-small|gpt2-124m|gpt2-base|openai-community/gpt2", 124.44e6, 12, 768, 0.79e6, 12, 110, 0, 0, "", 0,
     radford},
    {"gpt2-medium", "gpt2-355m", 354.82e6, 24, 1024, 1.05e6, 10, 90, 0, 0, "", 0, radford},
    {"gpt2-large", "gpt2-774m", 774.03e6, 36, 1280, 1.31e6, 9, 80, 0, 0, "", 0, radford},
    {"gpt2-xl", "gpt2-1.5b", 1557.6e6, 48, 1600, 1.64e6, 8, 75, 0, 0, "", 0, radford},
    {"distilgpt2", "distil-gpt2", 81.91e6, 6, 768, 0.79e6, 15, 150, 0, 0, "", 0,
     "Sanh et al. 2019; model card (WikiText-103, 21.1 after fine-tuning)"},
    {"smollm2-135m", "smollm2-135m-instruct|smollm-135m", 134.52e6, 30, 576, 0, 10, 120, 0, 0, "", 0, smollm},
    {"opt-125m", "facebook/opt-125m", 125.24e6, 12, 768, 1.57e6, 12, 110, 0, 0, "", 0, opt},
    {"opt-1.3b", "facebook/opt-1.3b", 1315.8e6, 24, 2048, 4.2e6, 7, 60, 0, 0, "", 0, opt},
    {"llama-7b", "llama-1-7b|llama1-7b", 6738e6, 32, 4096, 131e6, 3, 25, 0, 0, "", 0, llama},
    {"llama-2-7b", "llama2-7b|llama-2-7b-hf|llama-2-7b-chat", 6738e6, 32, 4096, 131e6, 3, 25, 0, 0, "", 0, llama_2},
    {"llama-2-13b", "llama2-13b|llama-2-13b-hf", 13016e6, 40, 5120, 164e6, 3, 22, 0, 0, "", 0, llama_2},
    {"llama-3-8b", "llama3-8b|llama-3.1-8b|llama3.1-8b", 8030e6, 32, 4096, 525e6, 3, 30, 0, 0, "", 0, llama_3},
    {"mistral-7b", "mistral-7b-v0.1", 7242e6, 32, 4096, 131e6, 3, 25, 0, 0, "", 0,
     "Jiang et al. 2023; WikiText-2 perplexity as in common quantisation studies"},
    {"distilbert", "distilbert-base|distilbert-base-uncased|distilbert-base-uncased-finetuned-sst-2-english", 66.96e6,
     6, 768, 23.84e6, 0, 0, 0.88, 0.935, "SST-2", 872, distilbert},
    {"bert-base", "bert-base-uncased|bert-base-cased", 109.48e6, 12, 768, 23.84e6, 0, 0, 0.90, 0.95, "SST-2", 872,
     bert},
    {"bert-large", "bert-large-uncased", 335.14e6, 24, 1024, 31.78e6, 0, 0, 0.91, 0.96, "SST-2", 872, bert},
    {"cs336-small", "", 128.63e6, 12, 768, 7.68e6, 0, 0, 0, 0, "", 0, cs336},
    {"cs336-medium", "", 423.18e6, 24, 1024, 10.24e6, 0, 0, 0, 0, "", 0, cs336},
    {"cs336-large", "", 969.41e6, 36, 1280, 12.8e6, 0, 0, 0, 0, "", 0, cs336},
    {"cs336-xl", "", 1998.24e6, 48, 1600, 16e6, 0, 0, 0, 0, "", 0, cs336},
    {"cs336-2.7b", "", 3406.81e6, 32, 2560, 25.6e6, 0, 0, 0, 0, "", 0, cs336},
};

/// Lower case; '_' and ' ' become '-', and "gpt-2" becomes "gpt2".
std::string folded_model_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out += lower == '_' || lower == ' ' ? '-' : lower;
  }
  for (auto at = out.find("gpt-2"); at != std::string::npos; at = out.find("gpt-2")) out.erase(at + 3, 1);
  return out;
}

bool is_word_end(std::string_view text, std::size_t at) {
  if (at >= text.size()) return true;
  const char c = text[at];
  if (c == '-' || c == '.') return at + 1 >= text.size() || !std::isalnum(static_cast<unsigned char>(text[at + 1]));
  return !std::isalnum(static_cast<unsigned char>(c));
}

/// Length of the longest spelling of `model` in `text` that stands as a word.
std::size_t longest_in(const KnownModel& model, const std::string& text) {
  std::size_t longest = 0;
  any_spelling(model, [&](std::string_view spelling) {
    for (auto at = text.find(spelling); at != std::string::npos; at = text.find(spelling, at + 1)) {
      const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]));
      // "gpt2-benchmark-results" names gpt2; "gpt2-xl" is longer and is found by its own name.
      if (starts && (is_word_end(text, at + spelling.size()) || text[at + spelling.size()] == '-'))
        longest = std::max(longest, spelling.size());
    }
    return false;
  });
  return longest;
}

}  // namespace

std::span<const KnownModel> known_models() {
  return models;
}

const KnownModel* find_known_model(std::string_view name, std::string_view context) {
  const std::string wanted = folded_model_name(name);
  const std::string_view family = "cs336";
  const std::string in_family = std::string(family) + "-" + wanted;
  const bool has_family = folded_model_name(context).find(family) != std::string::npos;
  for (const KnownModel& model : models) {
    if (any_spelling(model, [&](std::string_view spelling) { return spelling == wanted; })) return &model;
    if (has_family && model.name == in_family) return &model;
  }
  return nullptr;
}

const KnownModel* known_model_named_in(std::string_view text) {
  const std::string words = folded_model_name(text);
  const KnownModel* best = nullptr;
  std::size_t longest = 0;
  bool several = false;
  for (const KnownModel& model : models) {
    const std::size_t length = longest_in(model, words);
    if (length == 0 || length < longest) continue;
    several = length == longest;
    longest = length;
    best = &model;
  }
  // "distilbert against gpt2": two names of which neither holds the other.
  for (const KnownModel& model : models) {
    if (&model == best || longest_in(model, words) == 0) continue;
    if (std::string_view(best->name).find(model.name) == std::string_view::npos) several = true;
  }
  return several ? nullptr : best;
}

}  // namespace assay
