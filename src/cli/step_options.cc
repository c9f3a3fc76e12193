#include "cli/step_options.h"

#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "model/lora_options.h"
#include "model/sizes.h"

namespace assay {
namespace {

constexpr const char* step_axis_names[] = {"--recompute", "--optimizer", "--clip",     "--accumulate",
                                           "--base",      "--states",    "--gradients"};

/// A list of words, each of which `parse` knows.
template <typename Value, typename Parse>
CLI::Option* add_words(CLI::App& command, const std::string& name, std::vector<Value>& values, Parse parse,
                       const std::string& help) {
  return command
      .add_option_function<std::vector<std::string>>(
          name,
          [&values, parse](const std::vector<std::string>& words) {
            values.clear();
            for (const std::string& word : words) values.push_back(parse(word));
          },
          help)
      ->delimiter(',');
}

}  // namespace

void add_step_axes(CLI::App& command, StepAxes& axes) {
  add_words(command, "--recompute", axes.recomputes, parse_recompute, "training: none, attention, block; a list");
  add_words(command, "--optimizer", axes.optimizers, parse_optimizer, "training: adamw, sgd; a list (default adamw)");
  command.add_option("--clip", axes.clips, "training: largest norm of the gradient, 0 for none; a list")
      ->delimiter(',')
      ->check(between(0, 1e30));
  command.add_option("--accumulate", axes.accumulates, "training: parts of the batch, one after another; a list")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  add_words(
      command, "--base", axes.bases, [](const std::string& word) { return std::string(find_precision(word).name); },
      "training of adapters: how other weights are kept; a list");
  add_storage_lists(command, axes.states, axes.gradients);
}

void add_storage_lists(CLI::App& command, std::vector<std::string>& states, std::vector<std::string>& gradients) {
  command
      .add_option("--states", states,
                  "training: optimizer's moments as weights (default), f32, bf16 or 8bit, comma-separated")
      ->delimiter(',');
  command
      .add_option("--gradients", gradients,
                  "training: of parameters, as weights (default), f32, f16 or bf16, comma-separated")
      ->delimiter(',');
}

void add_gradients_option(CLI::App& command, TrainingStorage& storage) {
  command.add_option_function<std::string>(
      "--gradients",
      [&storage](const std::string& word) { storage.gradients = parse_gradient_dtype(word, "--gradients"); },
      "training: of parameters, as weights (default), f32, f16 or bf16");
}

void refuse_step_axes(const CLI::App& command, const std::string& why) {
  for (const char* axis : step_axis_names) {
    if (command.count(axis) > 0) fail_user("{}: {}", axis, why);
  }
}

void add_lora_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option_function<std::string>(
          "--lora", [&options](const std::string& text) { options.lora = parse_lora(text, "--lora"); },
          "adapters of that rank beside the model, which alone are trained; alpha: default 8; modules: last parts "
          "of names, or all-linear")
      ->option_text("RANK[:alpha][:modules]")
      ->excludes(command.get_option("--lora-from"));
}

void add_size_options(CLI::App& command, ModelOptions& options) {
  for (const char* positional : {"model", "models"}) {
    if (CLI::Option* option = command.get_option_no_throw(positional)) option->required(false);
  }
  command.add_option("--config", options.config, "a config.json, or a folder with one: its shape, random weights");
  command
      .add_option_function<std::string>(
          "--set", [&options](const std::string& list) { options.sizes = parse_sizes(list, "--set"); },
          "other sizes than the model has, random weights: d_model=1024,layers=24, or keys of config.json")
      ->option_text("NAME=VALUE,..");
}

void settle_model(std::string& model, const ModelOptions& options) {
  if (model.empty() && options.config.empty()) fail_user("model: a name, a path or --config is needed");
  if (options.config.empty()) return;
  if (!model.empty()) fail_user("--config: is a model by itself; drop '{}'", printable(model));
  model = options.config.string();
}

void settle_models(std::vector<std::string>& models, const ModelOptions& options) {
  if (models.empty()) models.emplace_back();
  settle_model(models.front(), options);
}

}  // namespace assay
