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
  std::string_view implied = {};  ///< A flag of ours without which `own` has no meaning.
};

/// A subcommand takes its model as a word without an option.
constexpr std::string_view model_word = "model";

// The first row whose own name the subcommand has is taken.
constexpr OtherName other_names[] = {
    {"--batch-size", "--batch"},
    {"--batch_size", "--batch"},
    {"--bs", "--batch"},
    {"-b", "--batch"},
    {"-p", "--prompt-tokens", "--generate"},
    {"-p", "--prompt"},
    {"--n-prompt", "--prompt-tokens", "--generate"},
    {"-n", "--new", "--generate"},
    {"--n-gen", "--new", "--generate"},
    {"--n-predict", "--new"},
    {"-d", "--depth", "--generate"},
    {"--n-depth", "--depth", "--generate"},
    {"-t", "--threads"},
    {"-r", "--rounds"},
    {"-r", "--runs"},
    {"-r", "--repetitions"},
    {"--export-json", "--json"},
    {"--export-csv", "--csv"},
    {"--export-markdown", "--markdown"},
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

/// `-o FORMAT` or `--output FORMAT` prints the result so.
constexpr OtherName printed_formats[] = {{"json", "--json=-"}, {"jsonl", "--jsonl=-"}, {"sql", "--sql=-"},
                                         {"csv", "--csv=-"},   {"md", "--markdown=-"}, {"markdown", "--markdown=-"}};

constexpr OtherName without[] = {
    {"-o", "-o json, -o jsonl, -o sql, -o csv and -o md print the result so; --json FILE and the like write it"},
    {"--output", "-o json, -o jsonl, -o sql, -o csv and -o md print the result so; --json FILE and the like write it"},
    {"-w", "runs before the first that counts go on until they are steady, by a stated rule"},
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

bool has_counterpart(const CLI::App& command, const OtherName& row) {
  if (row.own != model_word) return has_option(command, row.own);
  return has_option(command, "model") || has_option(command, "models");
}

/// What the subcommand calls it; null where it knows the word, or nobody does.
const OtherName* find_counterpart(const CLI::App& command, std::string_view option) {
  if (!option.starts_with('-') || has_option(command, option)) return nullptr;
  const auto* row = std::find_if(std::begin(other_names), std::end(other_names), [&](const OtherName& name) {
    return name.other == option && has_counterpart(command, name);
  });
  return row == std::end(other_names) ? nullptr : row;
}

/// The words of a command line under our own names, option by option.
struct OwnWords {
  const CLI::App& command;
  std::vector<std::string> models;
  std::vector<std::string> others;

  /// `option` without a value, or with one behind '='; `next`: the word behind it, null at the end. Whether that one is
  /// taken, too.
  bool take(const std::string& word, const std::string* next) {
    const std::string_view option = option_before_value(word);
    const std::string value = word.substr(option.size());
    if (names_format(option)) {
      if (!value.empty() && take_format(value.substr(1))) return false;
      if (value.empty() && next != nullptr && take_format(*next)) return true;
    }
    const OtherName* row = find_counterpart(command, option);
    if (row == nullptr) {
      others.push_back(word);
    } else if (row->own == model_word) {
      return take_model(word, value, next);
    } else {
      return take_option(*row, value, next);
    }
    return false;
  }

 private:
  bool names_format(std::string_view option) const {
    return (option == "-o" || option == "--output") && !has_option(command, option);
  }

  bool take_format(const std::string& format) {
    for (const OtherName& row : printed_formats) {
      if (row.other != format || !has_option(command, option_before_value(row.own))) continue;
      others.emplace_back(row.own);
      return true;
    }
    return false;
  }

  /// A missing value is an error that is told of the word as it stands.
  bool take_model(const std::string& word, const std::string& value, const std::string* next) {
    if (value.empty() && next == nullptr)
      others.push_back(word);
    else
      models.push_back(value.empty() ? *next : value.substr(1));
    return value.empty() && next != nullptr;
  }

  /// What is a flag here takes its value behind '='.
  bool take_option(const OtherName& row, const std::string& value, const std::string* next) {
    if (!row.implied.empty() && has_option(command, row.implied)) others.emplace_back(row.implied);
    const bool is_flag = command.get_option_no_throw(std::string(row.own))->get_expected_max() == 0;
    const bool joins = is_flag && value.empty() && next != nullptr;
    others.push_back(std::string(row.own) + (joins ? "=" + *next : value));
    return joins;
  }
};

}  // namespace

const CLI::App* find_command(const CLI::App& program, const std::vector<std::string>& words) {
  const auto found = program.get_subcommands(
      [&](const CLI::App* command) { return !words.empty() && command->get_name() == words.front(); });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> with_own_names(const CLI::App& program, std::vector<std::string> words) {
  const CLI::App* command = find_command(program, words);
  if (command == nullptr) return words;
  const auto end = std::find(words.begin(), words.end(), "--");
  OwnWords own{*command, {}, {}};
  for (auto word = words.begin() + 1; word < end; ++word) {
    if (own.take(*word, word + 1 < end ? &*(word + 1) : nullptr)) ++word;
  }
  std::vector<std::string> all = {words.front()};
  // Models behind an option that takes several would be its.
  for (const auto& more : {own.models, own.others, std::vector<std::string>(end, words.end())})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool takes_precisions(const CLI::Option& option) {
  return std::any_of(std::begin(precision_options), std::end(precision_options),
                     [&](const char* name) { return option.check_name(name); });
}

void understand_precisions(CLI::App& program) {
  const auto own = [](std::string& text) {
    text = own_precision_name(text);
    return std::string();
  };
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (takes_precisions(*option)) option->transform(CLI::Validator(own, ""));
    }
  }
}

std::string why_no_option(const CLI::App& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string_view option = option_before_value(word);
    for (const OtherName& row : without) {
      if (option == row.other && !has_option(command, option)) return std::string(row.own);
    }
  }
  return {};
}

}  // namespace assay
