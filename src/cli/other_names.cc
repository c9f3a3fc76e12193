#include "cli/other_names.h"

#include <algorithm>
#include <string_view>

#include "tensor/precision.h"

namespace assay {
namespace {

/// An option of others, and one of ours that means the same where a subcommand has it.
struct OtherName {
  std::string_view other;
  std::string_view own;
};

/// A subcommand takes its model as a word without an option.
constexpr std::string_view model_word = "model";

// The first row whose own name the subcommand has is taken.
constexpr OtherName other_names[] = {
    {"--batch-size", "--batch"},
    {"--batch_size", "--batch"},
    {"--bs", "--batch"},
    {"-b", "--batch"},
    {"--seq-len", "--seq"},
    {"--seq-length", "--seq"},
    {"--seq_len", "--seq"},
    {"--max-length", "--seq"},
    {"--sequence-length", "--seq"},
    {"--dtype", "--precision"},
    {"--dtypes", "--precision"},
    {"--precisions", "--precision"},
    {"--warmup", "--warmup-steps"},
    {"--warmup-steps", "--warmup"},
    {"--runs", "--rounds"},
    {"--runs", "--repetitions"},
    {"--repetitions", "--rounds"},
    {"--repetitions", "--runs"},
    {"--repeat", "--rounds"},
    {"--repeat", "--repetitions"},
    {"--repeat", "--runs"},
    {"--rounds", "--runs"},
    {"--rounds", "--repetitions"},
    {"--iterations", "--rounds"},
    {"--iterations", "--runs"},
    {"--iterations", "--repetitions"},
    {"--model", model_word},
    {"--models", model_word},
    {"-m", model_word},
};

constexpr OtherName without[] = {
    {"--warmup", "runs before the first that counts go on until they are steady, by a stated rule"},
    {"--warmup-steps", "runs before the first that counts go on until they are steady, by a stated rule"},
    {"--runs", "how often it runs follows from --seconds and the width that is asked for"},
    {"--repetitions", "how often it runs follows from --seconds and the width that is asked for"},
};

constexpr const char* precision_options[] = {"--precision", "--against", "--claims", "--verdict"};

bool has_option(const CLI::App& command, std::string_view name) {
  return command.get_option_no_throw(std::string(name)) != nullptr;
}

/// What stands before "=VALUE", or the whole word.
std::string_view option_before_value(std::string_view word) {
  return word.substr(0, word.find('='));
}

/// What the subcommand calls it; empty where it knows the word, or nobody does.
std::string_view own_name(const CLI::App& command, std::string_view option) {
  if (!option.starts_with('-') || has_option(command, option)) return {};
  for (const OtherName& row : other_names) {
    if (row.other != option) continue;
    if (row.own != model_word) {
      if (has_option(command, row.own)) return row.own;
    } else if (has_option(command, "model") || has_option(command, "models")) {
      return row.own;
    }
  }
  return {};
}

const CLI::App* find_subcommand(const CLI::App& program, const std::string& name) {
  const auto found = program.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

}  // namespace

std::vector<std::string> with_own_names(const CLI::App& program, std::vector<std::string> words) {
  const CLI::App* command = words.empty() ? nullptr : find_subcommand(program, words.front());
  if (command == nullptr) return words;
  const auto end = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> models;
  std::vector<std::string> others;
  for (auto word = words.begin() + 1; word < end; ++word) {
    const std::string_view option = option_before_value(*word);
    const std::string_view own = own_name(*command, option);
    const std::string value = word->substr(option.size());
    if (own != model_word) {
      others.push_back(own.empty() ? *word : std::string(own) + value);
    } else if (!value.empty()) {
      models.push_back(value.substr(1));
    } else if (word + 1 < end) {
      models.push_back(*++word);
    } else {
      others.push_back(*word);  // Its value is missing: an error that is told of the word as it stands.
    }
  }
  std::vector<std::string> all = {words.front()};
  for (const auto& more : {models, others, std::vector<std::string>(end, words.end())})  // Models behind an option that
    all.insert(all.end(), more.begin(), more.end());                                     // takes several would be its.
  return all;
}

void understand_precisions(CLI::App& program) {
  const auto own = [](std::string& text) {
    text = own_precision_name(text);
    return std::string();
  };
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (const char* name : precision_options) {
      CLI::Option* option = command->get_option_no_throw(name);
      if (option != nullptr) option->transform(CLI::Validator(own, ""));
    }
  }
}

std::string why_no_option(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const OtherName& row : without) {
      if (option_before_value(word) == row.other) return std::string(row.own);
    }
  }
  return {};
}

}  // namespace assay
