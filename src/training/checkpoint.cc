#include "training/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "formats/safetensors.h"
#include "model/lora.h"
#include "tensor/finite.h"
#include "training/manifest.h"
#include "training/parameter_names.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* progress_format = "assay training 1";
constexpr const char* config_file = "config.json";
/// What has no negative values: means of squares, and magnitudes.
constexpr std::string_view unsigned_prefixes[] = {"optimizer.v.", "optimizer.m_scale.", "optimizer.v_scale."};

/// JSON knows no NaN: null stands for it, and strings for infinities.
Json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return nullptr;
  return value > 0 ? "inf" : "-inf";
}

/// The file that holds what is trained.
const char* parameters_file(const Model& model) {
  return trains_adapters(model) ? adapter_weights_file : weights_file;
}

void write_parameters(const fs::path& file, const Model& model, const Trainer& trainer, const State& state) {
  std::vector<Tensor> reordered;
  std::vector<NamedTensor> tensors;
  for (const Value& value : trainer.programs().step.values) {
    if (!is_parameter(value)) continue;
    const Tensor& parameter = *state.find(value.name);
    const StoredOrder order = order_in_training(model, value.name);
    if (order != StoredOrder::same) reordered.push_back(to_stored(parameter.view(), order, model.config));
    const Tensor& stored = order != StoredOrder::same ? reordered.back() : parameter;
    tensors.push_back({name_in_training(model, value.name), stored.view()});
  }
  write_safetensors(file, tensors);
}

/// In the order of their names, whoever holds them.
void write_moments(const fs::path& file, const State& state, const std::map<std::string, Tensor>& elsewhere) {
  std::map<std::string, TensorView> moments;
  for (const auto& [name, tensor] : state.tensors()) {
    if (name.starts_with(optimizer_prefix)) moments[name] = tensor.view();
  }
  for (const auto& [name, tensor] : elsewhere) moments[name] = tensor.view();
  std::vector<NamedTensor> tensors;
  for (const auto& [name, view] : moments) tensors.push_back({name, view});
  write_safetensors(file, tensors);
}

Json held_out_json(const std::vector<HeldOut>& all) {
  Json list = Json::array();
  for (const HeldOut& one : all)
    list.push_back({{"step", one.steps}, {"correct", one.correct}, {"of", one.of}, {"mean_loss", one.mean_loss}});
  return list;
}

Json progress_json(Trainer& trainer, const TrainingProgress& progress) {
  const LossScale::Progress& scale = trainer.loss_scale().progress();
  Json losses = Json::array();
  for (const double loss : progress.losses) losses.push_back(json_number(loss));
  return {{"format", progress_format},
          {"steps", progress.steps},
          {"updates", trainer.updates()},
          {"updates_before", progress.updates_before},
          {"loss_scale",
           {{"scale", scale.scale}, {"steps_since_growth", scale.steps_since_growth}, {"skipped", scale.skipped}}},
          {"options", progress.options},
          {"losses", losses},
          {"held_out", held_out_json(progress.held_out)},
          {"held_out_data", progress.held_out_data}};
}

Json read_progress(const fs::path& folder) {
  const fs::path file = folder / progress_file;
  if (!holds_training(folder)) fail_user("{}: holds no training to go on with", folder.string());
  Json json = parse_json(read_file(file), file.string());
  if (!json.is_object() || json.value("format", Json()) != progress_format)
    fail_user("{}: is not of the format '{}'", file.string(), progress_format);
  return json;
}

/// An option that came with a later version is one that was not given.
void refuse_other_options(const fs::path& folder, const Json& had, const Json& now) {
  for (const auto& [name, value] : now.items()) {
    const Json before = had.value(name, Json(""));
    if (before == value) continue;
    fail_user("{}: was trained with {} {}, not {}; --resume goes on with what it had", folder.string(), name,
              printable(before.dump()), value.dump());
  }
}

/// What training.json says beside the losses.
struct Counts {
  std::int64_t updates = 0;
  LossScale::Progress scale;
};

/// An entry of training.json that counts something, from 0 to `most`.
std::int64_t count_of(const Json& json, const char* name, std::int64_t most, const fs::path& file) {
  const Json& entry = json.at(name);
  const bool fits = entry.is_number_unsigned() && entry.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) fail_user("{}: \"{}\" is {}, possible is 0 to {}", file.string(), name, printable(entry.dump(), 40), most);
  return entry.get<std::int64_t>();
}

double loss_of(const Json& json, const fs::path& file) {
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  fail_user("{}: a loss is {}", file.string(), printable(json.dump(), 40));
}

/// It starts at 2^16 and is halved and doubled: any other number was never one.
double scale_of(const Json& json, const fs::path& file) {
  const Json& entry = json.at("scale");
  const double scale = entry.is_number() ? entry.get<double>() : 0;
  int exponent = 0;
  const bool is_power_of_two = std::isfinite(scale) && scale > 0 && std::frexp(scale, &exponent) == 0.5;
  if (!is_power_of_two)
    fail_user("{}: the loss scale is {}, possible are powers of two", file.string(), printable(entry.dump(), 40));
  return scale;
}

/// Earlier versions wrote none.
std::vector<HeldOut> held_out_from(const Json& json, std::int64_t steps, const fs::path& file) {
  std::vector<HeldOut> all;
  for (const Json& entry : json.value("held_out", Json::array())) {
    HeldOut one;
    one.steps = count_of(entry, "step", steps, file);
    one.of = count_of(entry, "of", std::numeric_limits<std::int64_t>::max(), file);
    one.correct = count_of(entry, "correct", one.of, file);
    one.mean_loss = entry.at("mean_loss").get<double>();
    all.push_back(one);
  }
  return all;
}

TrainingProgress progress_from(const Json& json, const fs::path& file) {
  TrainingProgress progress;
  progress.options = json.at("options");
  progress.steps = count_of(json, "steps", std::numeric_limits<std::int64_t>::max(), file);
  // Earlier versions wrote none.
  if (json.contains("updates_before")) progress.updates_before = count_of(json, "updates_before", 1 << 24, file);
  const Json& losses = json.at("losses");
  if (!losses.is_array() || losses.size() != static_cast<std::size_t>(progress.steps))
    fail_user("{}: has {} losses of {} steps", file.string(), losses.size(), progress.steps);
  for (const Json& loss : losses) progress.losses.push_back(loss_of(loss, file));
  progress.held_out = held_out_from(json, progress.steps, file);
  progress.held_out_data = json.value("held_out_data", "");
  return progress;
}

Counts counts_from(const Json& json, const TrainingProgress& progress, const fs::path& file) {
  const std::int64_t steps = progress.steps;
  Counts counts;
  counts.updates = count_of(json, "updates", steps + progress.updates_before, file);
  const Json& scale = json.at("loss_scale");
  counts.scale.scale = scale_of(scale, file);
  const std::int64_t most_growth = std::min(steps, LossScale::growth_interval - 1);
  counts.scale.steps_since_growth = count_of(scale, "steps_since_growth", most_growth, file);
  counts.scale.skipped = count_of(scale, "skipped", steps, file);
  if (counts.updates - progress.updates_before + counts.scale.skipped != steps)
    fail_user("{}: {} updates and {} that were skipped are not {} steps", file.string(),
              counts.updates - progress.updates_before, counts.scale.skipped, steps);
  return counts;
}

/// A tensor that a checkpoint's file has to hold, and where it belongs.
struct Wanted {
  std::string name;   ///< In the file.
  std::string state;  ///< Of the trainer.
  StoredOrder order = StoredOrder::same;
  DType dtype = DType::f32;  ///< As the trainer holds it, or another rank's.
  Shape shape = {};
};

std::vector<Wanted> wanted_parameters(const Model& model, const Trainer& trainer) {
  std::vector<Wanted> wanted;
  for (const Value& value : trainer.programs().step.values) {
    if (!is_parameter(value)) continue;
    wanted.push_back({name_in_training(model, value.name), value.name, order_in_training(model, value.name),
                      value.dtype, concrete(value.shape, {})});
  }
  return wanted;
}

/// Histories of scales are the step's, moments the update's.
std::vector<Wanted> wanted_moments(const Trainer& trainer) {
  std::vector<Wanted> wanted;
  for (const Value& value : trainer.programs().step.values) {
    if (is_scale_history(value))
      wanted.push_back({value.name, value.name, StoredOrder::same, value.dtype, concrete(value.shape, {})});
  }
  for (const NamedMoment& moment : trainer.programs().moments)
    wanted.push_back({moment.name, moment.name, StoredOrder::same, moment.dtype, moment.shape});
  return wanted;
}

bool none_negative(const TensorView& view) {
  const Tensor wide = converted(view, DType::f32);
  const auto* values = wide.as<float>();
  return std::none_of(values, values + wide.count(), [](float value) { return value < 0; });
}

void check_tensor(const StoredTensor* stored, const Wanted& wanted, const std::string& file) {
  if (stored == nullptr) fail_user("{}: tensor '{}' is missing", file, wanted.name);
  const Shape shape = stored_shape(wanted.shape, wanted.order);
  if (stored->dtype != wanted.dtype || stored->shape != shape)
    fail_user("{}: tensor '{}' is {} {}, in this model and precision it is {} {}", file, wanted.name, stored->stored,
              to_string(stored->shape), name(wanted.dtype), to_string(shape));
  if (!all_finite(stored->view())) fail_user("{}: tensor '{}' holds NaN or infinite values", file, wanted.name);
  const auto begins = [&](std::string_view prefix) { return wanted.state.starts_with(prefix); };
  if (std::ranges::any_of(unsigned_prefixes, begins) && !none_negative(stored->view()))
    fail_user("{}: tensor '{}' holds negative values, {} have none", file, wanted.name,
              wanted.state.starts_with(unsigned_prefixes[0]) ? "means of squares" : "scales");
}

/// Every tensor is there, as the training holds it, finite, and no other is.
void check_state(const Safetensors& file, const std::vector<Wanted>& all) {
  const std::string path = file.files.front().path().string();
  std::set<std::string> known;
  for (const Wanted& wanted : all) {
    known.insert(wanted.name);
    check_tensor(file.find(wanted.name), wanted, path);
  }
  for (const StoredTensor& tensor : file.tensors) {
    if (known.count(tensor.name) == 0)
      fail_user("{}: tensor '{}' is none of this training", path, printable(tensor.name));
  }
}

void restore(const Safetensors& file, const std::vector<Wanted>& all, const ModelConfig& config, State& state) {
  for (const Wanted& wanted : all) {
    if (!state.holds(wanted.state)) continue;  // Another rank does.
    Tensor& to = *state.find(wanted.state);
    const Tensor values = from_stored(file.find(wanted.name)->view(), wanted.order, config);
    std::memcpy(to.data(), values.data(), to.bytes());
    state.store(wanted.state);
  }
}

void check_manifest(const fs::path& folder, std::int64_t steps, std::vector<std::string>& notes) {
  const std::optional<Manifest> manifest = read_manifest(folder);
  if (!manifest) {
    notes.push_back(
        fmt::format("{}: carries no manifest; that its files belong together cannot be checked", folder.string()));
    return;
  }
  check_files(*manifest, folder, Missing::refused);
  if (manifest->step != steps)
    fail_user("{}: is of step {}, {} of step {}", (folder / manifest_file).string(), manifest->step, progress_file,
              steps);
}

}  // namespace

Weights weights_of(const TrainingPrograms& programs, const State& state, const std::string& identity,
                   const Weights& base) {
  Weights weights = base;
  weights.identity = identity;
  for (const Value& value : programs.step.values) {
    if (!is_parameter(value)) continue;
    Weight& weight = weights.by_name[value.name];
    weight = {};
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

std::optional<std::string> nonfinite_tensor(const Model& model, const Trainer& trainer) {
  for (const auto& all : {wanted_parameters(model, trainer), wanted_moments(trainer)}) {
    for (const Wanted& wanted : all) {
      const Tensor* held = trainer.state().find(wanted.state);
      if (held != nullptr && !all_finite(held->view())) return wanted.name;
    }
  }
  return std::nullopt;
}

void save_training(TrainingFolder& folder, const Model& model, Trainer& trainer, const TrainingProgress& progress,
                   const std::map<std::string, Tensor>& elsewhere) {
  if (const std::optional<std::string> name = nonfinite_tensor(model, trainer))
    fail_user("{}: not saved, tensor '{}' is not finite", folder.path().string(), *name);
  for (const auto& [name, tensor] : elsewhere) {
    if (!all_finite(tensor.view())) fail_user("{}: not saved, tensor '{}' is not finite", folder.path().string(), name);
  }
  folder.replace([&](const fs::path& to) {
    if (trains_adapters(model)) {
      const Json config = adapter_config(model, trainer.options().adapter_dropout);
      write_file_atomically(to / adapter_config_file, config.dump(2) + "\n");
    } else {
      write_file_atomically(to / config_file, published_config(model).dump(2) + "\n");
      copy_support_files(model, to);
    }
    write_parameters(to / parameters_file(model), model, trainer, trainer.state());
    write_moments(to / moments_file, trainer.state(), elsewhere);
    write_file_atomically(to / progress_file, progress_json(trainer, progress).dump() + "\n");
    write_manifest(to, progress.steps);
  });
}

TrainingProgress resume_training(const fs::path& folder, const Model& model, Trainer& trainer, const Json& options,
                                 std::vector<std::string>& notes) {
  const fs::path file = folder / progress_file;
  const Json json = read_progress(folder);
  TrainingProgress progress;
  Counts counts;
  try {
    progress = progress_from(json, file);
    counts = counts_from(json, progress, file);
    check_manifest(folder, progress.steps, notes);
    refuse_other_options(folder, progress.options, options);
  } catch (const Json::exception&) {
    fail_user("{}: lacks an entry, or holds one of another kind", file.string());
  }
  const Safetensors weights = open_safetensors(folder / parameters_file(model));
  const Safetensors moments = open_safetensors(folder / moments_file);
  const std::vector<Wanted> parameters = wanted_parameters(model, trainer);
  const std::vector<Wanted> averages = wanted_moments(trainer);
  check_state(weights, parameters);
  check_state(moments, averages);
  restore(weights, parameters, model.config, trainer.state());
  restore(moments, averages, model.config, trainer.state());
  trainer.set_updates(counts.updates);
  trainer.loss_scale().restore(counts.scale);
  return progress;
}

}  // namespace assay
