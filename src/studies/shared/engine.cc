#include "studies/shared/engine.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/verdict.h"
#include "program/passes.h"
#include "quality/loss.h"

namespace assay {

const Backend& find_backend(const std::string& device) {
  if (device == "cpu") return cpu_backend();
  if (device == "reference") return reference_backend();
  if (device == "cuda") {
    const Backend& backend = cuda_backend();
    if (backend.absent != nullptr) fail_lacking("cuda: {}; run with --device cpu", backend.absent);
    backend.memory();  // Throws where there is no driver or no GPU.
    return backend;
  }
  if (device == "mps") fail_lacking("mps: this build has no Metal backend; run with --device cpu");
  fail_user("device '{}': cpu, cuda, mps and reference are known", device);
}

std::optional<DType> native_16bit(const MachineFacts& facts) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    if (const MatmulPeak* peak = facts.peak(dtype); peak != nullptr) {
      if (peak->verdict == Verdict::native) return dtype;
    } else if (instruction_set(dtype, facts) != nullptr) {
      return dtype;
    }
  }
  return std::nullopt;
}

std::string settled_words(const Instance& instance, const MachineFacts& facts) {
  const Precision& row = instance.precision().row;
  if (find_precision(row.name).rule != Activations::native_16bit) return "";
  const char* known = facts.peaks.empty()
                          ? "by the instruction set: not probed ('assay probe' measures, and may choose another)"
                          : "as this machine was probed";
  return fmt::format("{}: activations are {}, {}", instance.precision().rest_name(), name(row.activations), known);
}

const Recipe* find_recipe(const std::string& precision, const EngineOptions& options) {
  if (!precision.starts_with(recipe_prefix)) return nullptr;
  const auto found = std::find_if(options.recipes.begin(), options.recipes.end(),
                                  [&](const Recipe& recipe) { return precision_name(recipe) == precision; });
  if (found == options.recipes.end()) fail_user("precision '{}': --recipe gives none of that name", precision);
  return &*found;
}

std::string precision_title(const std::string& precision, const PrecisionChoice& choice) {
  return precision.starts_with(recipe_prefix) ? precision : choice.name();
}

std::string precision_name(const std::string& asked, const EngineOptions& options) {
  const Recipe* recipe = find_recipe(asked, options);
  return recipe != nullptr ? precision_name(*recipe) : find_precision(asked).name;
}

PrecisionChoice precision_choice(const std::string& precision, const EngineOptions& options,
                                 std::optional<DType> native16) {
  const Recipe* recipe = find_recipe(precision, options);
  if (recipe != nullptr && !options.overrides.empty())
    fail_user("--with '{}': a recipe says all itself; put it into the file", options.overrides);
  PrecisionChoice choice = recipe != nullptr ? choose_precision(*recipe, native16)
                                             : choose_precision(precision, options.overrides, native16);
  if (recipe != nullptr && !options.cache) choice.overrides.clear();
  choice.casts = options.casts;
  return choice;
}

PrecisionChoice precision_choice(const std::string& precision, const EngineOptions& options,
                                 const MachineFacts& facts) {
  return precision_choice(precision, options, native_16bit(facts));
}

namespace {

CheckpointNames checkpoint_names(const Weights& weights) {
  CheckpointNames names;
  for (const auto& [name, weight] : weights.by_name) names.emplace(name, weight.checkpoint_name);
  return names;
}

std::vector<Pass> run_passes(const Model& model, const PrecisionChoice& precision, const EngineOptions& options) {
  if (!runs_on(precision.row, options.device)) {
    fail_lacking("{}: exists on CUDA devices only ({})", precision.row.name, precision.row.note);
  }
  for (const LayerOverride& layer : precision.layers) {
    if (!runs_on(layer.row, options.device))
      fail_lacking("{}: exists on CUDA devices only ({})", layer.row.name, layer.row.note);
  }
  std::vector<Pass> passes = {{"build", build_program(config_for(model, precision), options.program)}};
  if (options.cache) passes.push_back({"with_cache", with_cache(passes.back().program, *options.cache)});
  const Program& built = passes.back().program;
  PrecisionChoice by_path = named_by_path(precision, built, checkpoint_names(weights_for(model, precision)));
  if (const CalibratedWeights* calibrated = calibrated_for(model, precision)) by_path.scales = calibrated->scales;
  passes.push_back({"assign_dtypes", assign_dtypes(built, by_path, weights_for(model, precision).formats())});
  if (options.fusion == Fusion::on) passes.push_back({"fuse", fuse(passes.back().program)});
  return passes;
}

}  // namespace

const Precision* calibrated_row(const PrecisionChoice& precision) {
  const Precision* found = takes_calibration(precision.row.scheme) ? &precision.row : nullptr;
  for (const LayerOverride& layer : precision.layers) {
    const bool decides = layer.row.scheme == Scheme::static_int8 || found == nullptr;
    if (takes_calibration(layer.row.scheme) && decides) found = &layer.row;
  }
  return found;
}

const CalibratedWeights* calibrated_for(const Model& model, const PrecisionChoice& precision) {
  const Precision* const row = calibrated_row(precision);
  const auto found = row == nullptr ? model.calibrated.end() : model.calibrated.find(row->name);
  return found == model.calibrated.end() ? nullptr : found->second.get();
}

const Weights& weights_for(const Model& model, const PrecisionChoice& precision) {
  const CalibratedWeights* const calibrated = calibrated_for(model, precision);
  return calibrated == nullptr ? model.weights : calibrated->weights;
}

const ModelConfig& config_for(const Model& model, const PrecisionChoice& precision) {
  const CalibratedWeights* const calibrated = calibrated_for(model, precision);
  return calibrated == nullptr ? model.config : calibrated->config;
}

void check_recipe(const Model& model, const std::string& precision, const EngineOptions& options) {
  const Recipe* recipe = find_recipe(precision, options);
  if (recipe == nullptr) return;
  const Program program = build_program(model.config, options.program);
  const CheckpointNames names = checkpoint_names(model.weights);
  for (const RecipeLayers& one : recipe->layers) {
    const PrecisionChoice alone{.row = *one.row, .overrides = {}, .layers = {{one.pattern, *one.row}}};
    if (matches_any(named_by_path(alone, program, names).layers.front(), program)) continue;
    fail_user("{}: nothing of this model has such a {} ('assay explain' lists them)", words(one),
              one.pattern.starts_with('@') ? "role" : "path or weight");
  }
}

std::vector<Pass> passes_of(const Model& model, const std::string& precision, const EngineOptions& options,
                            const MachineFacts& facts) {
  check_recipe(model, precision, options);
  return run_passes(model, precision_choice(precision, options, facts), options);
}

Program prepared_program(const Model& model, const PrecisionChoice& precision, const EngineOptions& options) {
  return std::move(run_passes(model, precision, options).back().program);
}

std::unique_ptr<Instance> make_instance(const Model& model, const std::string& precision, const EngineOptions& options,
                                        const MachineFacts& facts) {
  check_recipe(model, precision, options);
  const PrecisionChoice choice = precision_choice(precision, options, facts);
  return std::make_unique<Instance>(prepared_program(model, choice, options), choice, weights_for(model, choice),
                                    find_backend(options.device), facts);
}

void check_extent(const Model& model, Extent extent) {
  if (extent.batch < 1 || extent.seq < 1)
    fail_user("{}: a batch of {} x {} tokens is empty", model.name, extent.batch, extent.seq);
  if (extent.seq > model.config.context) {
    fail_user("{}: {} tokens are more than the model's context of {}", model.name, extent.seq, model.config.context);
  }
}

void check_tokens(const Model& model, const TokenBatch& batch, const std::string& file) {
  const std::string& name = batch.ids_name.empty() ? file : batch.ids_name;
  if (batch.seq > model.config.context) {
    fail_user("{}: rows of {} tokens are longer than the context of {}, which is {}", name, batch.seq, model.name,
              model.config.context);
  }
  const auto seq = static_cast<std::size_t>(batch.seq);
  for (std::size_t i = 0; i < batch.input_ids.size(); ++i) {
    const std::int32_t id = batch.input_ids[i];
    if (id >= 0 && id < model.config.vocab_size) continue;
    fail_user("{}: id {} at row {}, position {} is outside the vocabulary of {}", name, id, i / seq, i % seq,
              model.config.vocab_size);
  }
  check_token_types(model, batch.token_types, file);
}

void check_classifies(const Model& model, const std::string& data) {
  if (model.config.task == Task::classification) return;
  fail_user("{}: labelled sentences need a classifier, {} is a {}", data, model.name, name(model.config.task));
}

void check_labels(const Model& model, const TokenBatch& batch, const std::string& file) {
  const std::int64_t classes = class_count(model.config);
  const bool by_token =
      batch.labels.size() == batch.input_ids.size() && batch.labels.size() != static_cast<std::size_t>(batch.batch);
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const std::int32_t label = batch.labels[i];
    if (label == ignored_label || (label >= 0 && label < classes)) continue;
    const auto seq = static_cast<std::size_t>(batch.seq);
    const std::string place =
        by_token ? fmt::format("row {}, position {}", i / seq, i % seq) : fmt::format("row {}", i);
    fail_user("{}: label {} at {} is not among the model's {} classes 0 to {}",
              batch.labels_name.empty() ? file : batch.labels_name, label, place, classes, classes - 1);
  }
}

void check_label_count(const Model& model, const TokenBatch& batch, const std::string& file) {
  const bool by_token = labels_tokens(model.config.task);
  const std::size_t needed = by_token ? batch.input_ids.size() : static_cast<std::size_t>(batch.batch);
  if (batch.labels.empty() || batch.labels.size() == needed) return;
  fail_user("{}: needs one label a {}", batch.labels_name.empty() ? file : batch.labels_name,
            by_token ? "token" : "row");
}

void check_token_types(const Model& model, std::span<const std::int32_t> types, const std::string& file) {
  for (const std::int32_t type : types) {
    if (type >= model.config.token_types)
      fail_user("{}: token type {}, {} has {}", file, type, model.name, model.config.token_types);
  }
}

void check_vocabulary(const Model& model, std::span<const std::int32_t> ids, const std::string& file) {
  for (const std::int32_t id : ids) {
    if (id >= model.config.vocab_size)
      fail_user("{}: the tokenizer gives id {}, the model has {}", file, id, model.config.vocab_size);
  }
}

}  // namespace assay
