#include "training/checkpoint.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "formats/safetensors.h"
#include "model/config_json.h"
#include "training/folder_swap.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* format_name = "assay training 1";
constexpr const char* progress_file = "training.json";
constexpr const char* moments_file = "optimizer.safetensors";
constexpr const char* weights_file = "model.safetensors";
constexpr std::string_view moment_prefix = "optimizer.";

/// Files that tell how text becomes ids.
constexpr const char* tokenizer_files[] = {
    "tokenizer.json",    "tokenizer_config.json",   "vocab.txt",    "vocab.json",     "merges.txt",
    "added_tokens.json", "special_tokens_map.json", "spiece.model", "tokenizer.model"};

/// JSON knows no NaN: null stands for it, and strings for infinities.
Json json_of(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return nullptr;
  return value > 0 ? "inf" : "-inf";
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  return (json == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
}

/// A published folder's config.json may say more than we read (names of classes, special ids): that stays.
Json config_to_write(const Model& model) {
  Json json = config_json(model.config);
  if (!model.files || !fs::exists(*model.files / "config.json")) return json;
  const fs::path file = *model.files / "config.json";
  Json original = parse_json(read_file(file, 16 << 20), file.string());
  if (original.contains("id2label") && original.at("id2label").size() == json.value("id2label", Json()).size()) {
    json.erase("id2label");
    json.erase("label2id");
  }
  original.update(json);
  return original;
}

void copy_tokenizer(const Model& model, const fs::path& to) {
  if (!model.files || !fs::is_directory(*model.files)) return;
  for (const char* file : tokenizer_files) {
    if (fs::exists(*model.files / file)) write_file_atomically(to / file, read_file(*model.files / file));
  }
}

Tensor as_stored(const Tensor& parameter, const std::string& name, Family family) {
  if (!is_conv1d(name, family)) return {};
  if (parameter.dtype() == DType::f32) return transposed(parameter.view());
  const Tensor wide = converted(parameter.view(), DType::f32);
  return converted(transposed(wide.view()).view(), parameter.dtype());
}

void write_parameters(const fs::path& file, const Model& model, const Trainer& trainer, const State& state) {
  std::vector<Tensor> turned;
  std::vector<NamedTensor> tensors;
  for (const Value& value : trainer.programs().step.values) {
    if (!is_parameter(value)) continue;
    const Tensor& parameter = *state.find(value.name);
    turned.push_back(as_stored(parameter, value.name, model.config.family));
    const Tensor& stored = turned.back().data() != nullptr ? turned.back() : parameter;
    tensors.push_back({checkpoint_name(model, value.name), stored.view()});
  }
  write_safetensors(file, tensors);
}

void write_moments(const fs::path& file, const State& state) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : state.tensors()) {
    if (name.starts_with(moment_prefix)) tensors.push_back({name, tensor.view()});
  }
  write_safetensors(file, tensors);
}

Json progress_json(Trainer& trainer, const TrainingProgress& progress) {
  const LossScale::Progress& scale = trainer.loss_scale().progress();
  Json losses = Json::array();
  for (const double loss : progress.losses) losses.push_back(json_of(loss));
  return {{"format", format_name},
          {"steps", progress.steps},
          {"updates", trainer.updates()},
          {"loss_scale",
           {{"scale", scale.scale}, {"steps_since_growth", scale.steps_since_growth}, {"skipped", scale.skipped}}},
          {"options", progress.options},
          {"losses", losses}};
}

Json read_progress(const fs::path& folder) {
  const fs::path file = folder / progress_file;
  if (!fs::exists(file)) fail_user("{}: holds no training to go on with", folder.string());
  Json json = parse_json(read_file(file), file.string());
  if (!json.is_object() || json.value("format", Json()) != format_name)
    fail_user("{}: is not of the format '{}'", file.string(), format_name);
  return json;
}

void refuse_other_options(const fs::path& folder, const Json& had, const Json& now) {
  for (const auto& [name, value] : now.items()) {
    const Json before = had.value(name, Json());
    if (before == value) continue;
    fail_user("{}: was trained with {} {}, not {}; --resume goes on with what it had", folder.string(), name,
              before.dump(), value.dump());
  }
}

/// Copies a stored tensor into the state's, whose dtype and shape it must have.
void restore(const StoredTensor* stored, Tensor& to, const std::string& name, const fs::path& file) {
  if (stored == nullptr) fail_user("{}: tensor '{}' is missing", file.string(), name);
  if (stored->dtype != to.dtype() || stored->bytes.size() != to.bytes())
    fail_user("{}: tensor '{}' is another model's or another precision's", file.string(), name);
  std::memcpy(to.data(), stored->bytes.data(), to.bytes());
}

/// The bytes are those of the transposed matrix.
void turn_back(Tensor& parameter) {
  const Shape turned = {parameter.shape()[1], parameter.shape()[0]};
  const Tensor wide = converted(TensorView{parameter.dtype(), turned, parameter.data()}, DType::f32);
  const Tensor back = transposed(wide.view());
  convert(DType::f32, back.data(), parameter.dtype(), parameter.data(), static_cast<std::size_t>(back.count()));
}

void restore_parameters(const fs::path& file, const Model& model, Trainer& trainer) {
  const Safetensors stored = open_safetensors(file);
  for (const Value& value : trainer.programs().step.values) {
    if (!is_parameter(value)) continue;
    const std::string name = checkpoint_name(model, value.name);
    Tensor& parameter = *trainer.state().find(value.name);
    restore(stored.find(name), parameter, name, file);
    if (is_conv1d(value.name, model.config.family)) turn_back(parameter);
    trainer.state().store(value.name);
  }
}

void restore_moments(const fs::path& file, State& state) {
  const Safetensors stored = open_safetensors(file);
  for (const auto& [name, tensor] : state.tensors()) {
    if (!name.starts_with(moment_prefix)) continue;
    restore(stored.find(name), *state.find(name), name, file);
    state.store(name);
  }
}

}  // namespace

std::string checkpoint_name(const Model& model, const std::string& parameter) {
  const auto found = model.weights.by_name.find(parameter);
  const bool from_folder = model.files && fs::is_directory(*model.files);
  if (!from_folder || found == model.weights.by_name.end() || found->second.stored == "random")
    return published_name(parameter, model.config.family);
  return found->second.checkpoint_name;
}

Weights weights_of(const TrainingPrograms& programs, const State& state, const std::string& identity) {
  Weights weights;
  weights.identity = identity;
  for (const Value& value : programs.step.values) {
    if (!is_parameter(value)) continue;
    Weight& weight = weights.by_name[value.name];
    weight.name = weight.checkpoint_name = value.name;
    weight.shape = concrete(value.shape, {1, 1});
    weight.stored = "trained";
    weight.load = [parameter = state.find(value.name)] {
      WeightData data{{}, converted(parameter->view(), DType::f32)};
      data.view = data.owned.view();
      return data;
    };
  }
  return weights;
}

void check_training_folder(const fs::path& folder) {
  remove_abandoned(folder);
  std::error_code unreadable;
  if (fs::exists(folder, unreadable) && !fs::is_directory(folder, unreadable))
    fail_user("{}: is a file, a folder is to be written", folder.string());
  if (fs::is_directory(folder, unreadable) && !fs::is_empty(folder, unreadable) && !holds_training(folder))
    fail_user("{}: holds something that is no training of ours; name another folder", folder.string());
  fs::remove_all(make_sibling(folder));
}

bool holds_training(const fs::path& folder) {
  std::error_code unreadable;
  return fs::exists(folder / progress_file, unreadable);
}

void save_training(const fs::path& folder, const Model& model, Trainer& trainer, const TrainingProgress& progress) {
  const fs::path sibling = make_sibling(folder);
  try {
    write_file_atomically(sibling / "config.json", config_to_write(model).dump(2) + "\n");
    copy_tokenizer(model, sibling);
    write_parameters(sibling / weights_file, model, trainer, trainer.state());
    write_moments(sibling / moments_file, trainer.state());
    write_file_atomically(sibling / progress_file, progress_json(trainer, progress).dump() + "\n");
    put_in_place(sibling, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(sibling, ignored);
    throw;
  }
}

TrainingProgress resume_training(const fs::path& folder, const Model& model, Trainer& trainer, const Json& options) {
  const Json json = read_progress(folder);
  TrainingProgress progress;
  try {
    progress.options = json.at("options");
    refuse_other_options(folder, progress.options, options);
    progress.steps = json.at("steps").get<std::int64_t>();
    for (const Json& loss : json.at("losses")) progress.losses.push_back(number_of(loss));
    trainer.set_updates(json.at("updates").get<std::int64_t>());
    const Json& scale = json.at("loss_scale");
    trainer.loss_scale().restore({scale.at("scale").get<double>(), scale.at("steps_since_growth").get<std::int64_t>(),
                                  scale.at("skipped").get<std::int64_t>()});
  } catch (const Json::exception&) {
    fail_user("{}: lacks an entry, or holds one of another kind", (folder / progress_file).string());
  }
  restore_parameters(folder / weights_file, model, trainer);
  restore_moments(folder / moments_file, trainer.state());
  return progress;
}

}  // namespace assay
