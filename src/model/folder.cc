#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "model/checkpoint.h"
#include "model/families.h"
#include "model/joined_experts.h"
#include "model/pooling.h"
#include "model/quantised.h"
#include "model/stored_order.h"
#include "model/stored_values.h"
#include "model/text_part.h"

namespace assay {

namespace {

/// Without the family's prefix, and with today's names for LayerNorm's parameters (old files say gamma and beta).
std::string bare_name(const std::string& name, const Family& family) {
  const std::string_view prefix = family.tensors->prefix;
  std::string result = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  if (result.ends_with("LayerNorm.gamma")) result.replace(result.size() - 5, 5, "weight");
  if (result.ends_with("LayerNorm.beta")) result.replace(result.size() - 4, 4, "bias");
  return result;
}

/// What can be run is f32, bf16 or f16.
WeightData stored_values(const StoredTensor& tensor) {
  WeightData data{tensor.view(), {}};
  const bool is_kept = is_float(data.view.dtype) && size_of(data.view.dtype) == 2;
  return is_kept ? std::move(data) : in_f32(std::move(data));
}

/// Integers and floats of eight bits are codes: without scales, of which nothing here knows, they mean nothing.
bool is_coded(const StoredTensor& tensor) {
  return !tensor.dtype || !is_float(*tensor.dtype) || size_of(*tensor.dtype) < 2;
}

/// `name`: as the model has it by itself.
Weight folder_weight(const std::shared_ptr<Safetensors>& file, const StoredTensor& tensor, const std::string& name,
                     const ModelConfig& config) {
  Weight weight;
  weight.name = bare_name(name, *config.family);
  weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = tensor.stored;
  weight.file = file->path_of(tensor).string();
  weight.is_coded = is_coded(tensor);
  weight.bytes = tensor.bytes;
  weight.order = stored_order(weight.name, *config.family);
  weight.shape = stored_shape(tensor.shape, weight.order);
  weight.load = [file, &tensor, order = weight.order, config] {
    WeightData data = stored_values(tensor);
    if (order == StoredOrder::same) return data;
    return owning(from_stored(data.view, order, config));
  };
  weight.release = [file, &tensor] { file->files[tensor.file].release_pages(tensor.bytes); };
  return weight;
}

/// Rows of a joined weight stand as the family's checkpoints have them; it is not transposed where others are, for
/// every method quantises it as (out, in).
void restore_row_order(Weight& weight, const ModelConfig& config) {
  if (stored_order(weight.name, *config.family) != StoredOrder::by_key_head) return;
  weight.order = StoredOrder::by_key_head;
  const auto in_order = [config](const std::function<WeightData()>& load) {
    return owning(from_stored(load().view, StoredOrder::by_key_head, config));
  };
  weight.load = [load = weight.load, in_order] { return in_order(load); };
  if (weight.blocks != nullptr) weight.load_blocks = [load = weight.load_blocks, in_order] { return in_order(load); };
}

void take_other_names(Checkpoint& checkpoint) {
  for (const auto& [stored, canonical] : checkpoint.config.family->tensors->other_names) {
    const auto found = checkpoint.tensors.find(stored);
    if (found == checkpoint.tensors.end()) continue;
    checkpoint.tensors.erase(canonical);
    auto renamed = checkpoint.tensors.extract(found);
    renamed.key() = renamed.mapped().name = canonical;
    checkpoint.tensors.insert(std::move(renamed));
  }
}

bool has_names_with(const Checkpoint& checkpoint, std::string_view beginning) {
  const auto found = checkpoint.tensors.lower_bound(std::string(beginning));
  return found != checkpoint.tensors.end() && found->first.starts_with(beginning);
}

/// An encoder whose configuration names no head has the classifier that its file holds: of sequences where all of it is
/// there, else of tokens.
void settle_task(Checkpoint& checkpoint) {
  ModelConfig& config = checkpoint.config;
  if (config.task != Task::embedding || !has_names_with(checkpoint, "classifier.")) return;
  const TensorNames::Words whole = config.family->tensors->task_head;
  const bool is_whole = std::all_of(whole.begin(), whole.end(),
                                    [&](const char* beginning) { return has_names_with(checkpoint, beginning); });
  config.task = is_whole ? Task::classification : Task::token_classification;
}

Checkpoint checkpoint_of(const std::filesystem::path& folder, Safetensors tensors) {
  Checkpoint result;
  const std::filesystem::path config = folder / "config.json";
  const Json json = parse_json(read_file(config, 16 << 20), config.string());
  result.config = parse_config(json, config.string());
  const std::optional<StoredQuantisation> quantisation = read_quantisation(json, config.string());
  if (const TextPart* whole = result.config.whole)
    result.notes.push_back(
        fmt::format("{} of '{}' is not loaded: this is its text part alone", whole->beside, whole->model_type));
  const auto file = std::make_shared<Safetensors>(std::move(tensors));
  result.name = file->files.size() == 1 ? file->files[0].path().string() : folder.string();
  for (const MappedFile& mapped : file->files) result.files.push_back(mapped.path());
  for (const StoredTensor& tensor : file->tensors) {
    const bool is_part = result.config.whole != nullptr;
    const std::optional<std::string> own = is_part ? name_in_text_part(tensor.name) : tensor.name;
    if (!own) continue;
    Weight weight = folder_weight(file, tensor, *own, result.config);
    const std::string name = weight.name;
    if (!result.tensors.emplace(name, std::move(weight)).second) {
      fail_user("{}: tensor '{}' stands twice, with and without its prefix", result.name, tensor.name);
    }
  }
  if (quantisation) {
    for (const std::string& name : join_quantised(result.tensors, *quantisation))
      restore_row_order(result.tensors.at(name), result.config);
  }
  if (result.config.family->tensors->joined_experts) split_experts(result.tensors, result.config);
  take_other_names(result);
  read_pooling(folder, result.config);
  settle_task(result);
  return result;
}

}  // namespace

Checkpoint open_folder(const std::filesystem::path& folder) {
  return checkpoint_of(folder, open_safetensors_folder(folder));
}

Checkpoint open_safetensors_checkpoint(const std::filesystem::path& file) {
  return checkpoint_of(file.parent_path(), open_safetensors(file));
}

}  // namespace assay
