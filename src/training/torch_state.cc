#include "training/torch_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "formats/safetensors.h"
#include "model/families.h"
#include "tensor/finite.h"
#include "training/parameter_names.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* step_entry = ".step";

/// What transformers' class calls the parameter, whatever the model's file did.
std::string torch_name(const Model& model, const std::string& parameter) {
  return trains_adapters(model) ? name_in_training(model, parameter) : published_name(parameter, *model.config.family);
}

/// What each calls a moment.
struct MomentName {
  std::string_view state;  ///< Before the parameter's name, in the trainer's state.
  const char* torch;       ///< Behind it, in the file.
  bool are_squares = false;
};
constexpr MomentName of_adamw[] = {{"optimizer.m.", ".exp_avg"}, {"optimizer.v.", ".exp_avg_sq", true}};
constexpr MomentName of_sgd[] = {{"optimizer.m.", ".momentum_buffer"}};

std::span<const MomentName> moment_names(const Trainer& trainer) {
  const OptimizerOptions& optimizer = trainer.options().optimizer;
  if (optimizer.kind == OptimizerKind::adamw) return of_adamw;
  if (optimizer.beta1 > 0) return of_sgd;
  return {};
}

bool counts_steps(const Trainer& trainer) {
  return trainer.options().optimizer.kind == OptimizerKind::adamw;
}

/// By name.
std::map<std::string, Shape> parameters_of(const Trainer& trainer) {
  std::map<std::string, Shape> shapes;
  for (const Value& value : trainer.programs().step.values) {
    if (is_parameter(value)) shapes.emplace(value.name, concrete(value.shape, {}));
  }
  return shapes;
}

/// A tensor of the file that is as wide as the moment that it is to become.
const StoredTensor& wanted_tensor(const Safetensors& file, const std::string& name, const Shape& shape) {
  const std::string path = file.files.front().path().string();
  const StoredTensor* tensor = file.find(name);
  if (tensor == nullptr) fail_user("{}: tensor '{}' is missing", path, name);
  if (!tensor->dtype || !is_float(*tensor->dtype) || tensor->shape != shape)
    fail_user("{}: tensor '{}' is {} {}, floats of {} are wanted", path, name, tensor->stored, to_string(tensor->shape),
              to_string(shape));
  if (!all_finite(tensor->view())) fail_user("{}: tensor '{}' holds NaN or infinite values", path, name);
  return *tensor;
}

/// Means of squares.
void refuse_negative(const StoredTensor& tensor, const Safetensors& file) {
  const Tensor wide = converted(tensor.view(), DType::f32);
  const std::span values(wide.as<float>(), static_cast<std::size_t>(wide.count()));
  if (std::ranges::any_of(values, [](float value) { return value < 0; }))
    fail_user("{}: tensor '{}' holds values below 0, of squares", file.files.front().path().string(), tensor.name);
}

std::int64_t steps_in(const Safetensors& file, const std::string& name) {
  constexpr double most = 1 << 24;  // whole numbers of f32
  const Tensor wide = converted(wanted_tensor(file, name, {}).view(), DType::f32);
  const double steps = static_cast<double>(*wide.as<float>());
  if (steps < 0 || steps > most || steps != std::floor(steps))
    fail_user("{}: '{}' is {}, a number of steps is wanted", file.files.front().path().string(), name, steps);
  return static_cast<std::int64_t>(steps);
}

/// One number for all.
std::int64_t common_steps(const Safetensors& file, const Model& model, const std::map<std::string, Shape>& parameters) {
  std::int64_t steps = -1;
  for (const auto& [parameter, shape] : parameters) {
    const std::string name = torch_name(model, parameter) + step_entry;
    const std::int64_t own = steps_in(file, name);
    if (steps >= 0 && own != steps)
      fail_user("{}: '{}' is {}, others are {}: parameters that were updated unequally often are not taken",
                file.files.front().path().string(), name, own, steps);
    steps = own;
  }
  return std::max<std::int64_t>(steps, 0);
}

void refuse_unknown(const Safetensors& file, const std::set<std::string>& known) {
  for (const StoredTensor& tensor : file.tensors) {
    if (known.count(tensor.name) == 0)
      fail_user("{}: tensor '{}' is no state of this model's optimizer", file.files.front().path().string(),
                printable(tensor.name));
  }
}

}  // namespace

void export_optimizer(const fs::path& file, const Model& model, const Trainer& trainer) {
  if (moment_names(trainer).empty()) fail_user("{}: SGD without momentum has no state to write", file.string());
  const auto steps = static_cast<float>(trainer.updates());
  std::vector<Tensor> made;
  std::vector<NamedTensor> tensors;
  const std::map<std::string, Shape> parameters = parameters_of(trainer);
  made.reserve(parameters.size() * moment_names(trainer).size());
  for (const auto& [parameter, shape] : parameters) {
    const std::string name = torch_name(model, parameter);
    for (const MomentName& one : moment_names(trainer)) {
      const Tensor* held = trainer.state().find(std::string(one.state) + parameter);
      ASSAY_ASSERT(held != nullptr);
      made.push_back(to_stored(held->view(), order_in_training(model, parameter), model.config));
      tensors.push_back({name + one.torch, made.back().view()});
    }
    if (counts_steps(trainer))
      tensors.push_back({name + step_entry, {DType::f32, {}, reinterpret_cast<const std::byte*>(&steps)}});
  }
  write_safetensors(file, std::move(tensors));
}

std::int64_t import_optimizer(const fs::path& file, const Model& model, Trainer& trainer) {
  const Safetensors read = open_safetensors(file);
  const std::map<std::string, Shape> parameters = parameters_of(trainer);
  std::set<std::string> known;
  for (const auto& [parameter, shape] : parameters) {
    const std::string name = torch_name(model, parameter);
    const StoredOrder order = order_in_training(model, parameter);
    for (const MomentName& one : moment_names(trainer)) {
      const StoredTensor& found = wanted_tensor(read, name + one.torch, stored_shape(shape, order));
      if (one.are_squares) refuse_negative(found, read);
      known.insert(name + one.torch);
    }
    known.insert(name + step_entry);
  }
  const std::int64_t steps = counts_steps(trainer) ? common_steps(read, model, parameters) : 0;
  refuse_unknown(read, known);
  for (const auto& [parameter, shape] : parameters) {
    for (const MomentName& one : moment_names(trainer)) {
      const std::string own = std::string(one.state) + parameter;
      if (!trainer.state().holds(own)) continue;  // Another rank's.
      Tensor& to = *trainer.state().find(own);
      const StoredTensor& from = *read.find(torch_name(model, parameter) + one.torch);
      const Tensor values =
          converted(from_stored(from.view(), order_in_training(model, parameter), model.config).view(), to.dtype());
      std::memcpy(to.data(), values.data(), to.bytes());
      trainer.state().store(own);
    }
  }
  trainer.set_updates(steps);
  return steps;
}

}  // namespace assay
