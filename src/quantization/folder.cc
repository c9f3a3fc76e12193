#include "quantization/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system_error.h"
#include "formats/safetensors.h"
#include "model/compressed_write.h"
#include "model/families.h"
#include "model/published_files.h"
#include "model/stored_order.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Inputs = CompressedScheme::Inputs;

constexpr std::string_view weight_ending = ".weight";

/// How compressed-tensors say what an operation multiplies.
struct SchemeOfOperation {
  const Operation* operation;
  Inputs inputs;
};
constexpr SchemeOfOperation linear_operations[] = {{&op::quantized_linear, Inputs::by_token},
                                                   {&op::block_linear, Inputs::as_they_are},
                                                   {&op::quantized_block_linear, Inputs::by_group}};

const SchemeOfOperation* find_linear(const Operation* operation) {
  const auto* found = std::ranges::find(linear_operations, operation, &SchemeOfOperation::operation);
  return found == std::end(linear_operations) ? nullptr : found;
}

/// Its inputs begin with x and the scales of x, where it is quantised.
bool takes_plain_inputs(const Node& node) {
  return node.operation == &op::quantized_linear && node.inputs[1] == no_value;
}

CompressedScheme scheme_of_blocks(const BlockFormat& format, Inputs inputs) {
  const bool is_four_bits = format.maker->highest - format.maker->lowest < 16;
  return {.format = "pack-quantized",
          .bits = is_four_bits ? 4 : 8,
          .type = "int",
          .group = format.group,
          .zero = format.maker->zero,
          .inputs = inputs};
}

/// Of rows with one scale; s8 that plain inputs meet are packed, as the package has it.
CompressedScheme scheme_of_rows(DType dtype, Inputs inputs) {
  if (dtype == DType::e4m3) return {.format = "float-quantized", .bits = 8, .type = "float", .inputs = inputs};
  const char* format = inputs == Inputs::as_they_are ? "pack-quantized" : "int-quantized";
  return {.format = format, .bits = 8, .type = "int", .inputs = inputs};
}

bool is_quantised(const KeptWeight& kept) {
  return kept.scales != no_value || kept.blocks != nullptr;
}

CompressedScheme scheme_of(const QuantizationSource& source, const KeptWeight& kept) {
  const Node& node = *kept.readers.front();
  const Inputs inputs = takes_plain_inputs(node) ? Inputs::as_they_are : find_linear(node.operation)->inputs;
  if (kept.blocks != nullptr) return scheme_of_blocks(*kept.blocks, inputs);
  return scheme_of_rows(source.instance.program().value(kept.value).dtype, inputs);
}

/// Values in a row of the weight.
std::int64_t inputs_of(const QuantizationSource& source, const KeptWeight& kept) {
  return source.model.weights.at(kept.name).shape[1];
}

/// Why the weight cannot be written in codes; empty where it can.
std::string hindrance_of(const QuantizationSource& source, const KeptWeight& kept) {
  const std::string name = checkpoint_name(source.model, kept.name);
  for (const Node* reader : kept.readers) {
    if (find_linear(reader->operation) == nullptr)
      return fmt::format("{} reads '{}', and compressed-tensors have codes of linear layers alone", reader->path, name);
  }
  if (!name.ends_with(weight_ending)) return fmt::format("'{}' is no weight of a module", name);
  if (stored_order(kept.name, *source.model.config.family) == StoredOrder::transposed)
    return fmt::format("'{}' is kept transposed (a Conv1D), and compressed-tensors have codes of linear layers alone",
                       name);
  if (kept.blocks != nullptr && kept.blocks->maker == nullptr)
    return fmt::format("compressed-tensors have no codes as {}'s; GGUF has", kept.blocks->name);
  if (kept.blocks != nullptr && inputs_of(source, kept) % kept.blocks->elements != 0)
    return fmt::format("rows of {} values make no whole groups of {}", inputs_of(source, kept), kept.blocks->group);
  return "";
}

/// What would help, where a table is what hinders.
const char* advice_for(const KeptWeight& kept) {
  if (!is_token_table(kept)) return "";
  return kept.readers.size() > 1 ? "; --with @embedding=bf16,@head=bf16 keeps the table that both read"
                                 : "; --with @embedding=bf16 keeps the table";
}

void check_in_codes(const QuantizationSource& source, const KeptWeight& kept) {
  const std::string hindrance = hindrance_of(source, kept);
  if (!hindrance.empty())
    fail_user("{}: {}{}", layer_words(source, *kept.readers.front()), hindrance, advice_for(kept));
}

/// A tensor has one name in a folder, and one form.
void check_kept_once(const QuantizationSource& source, const std::vector<KeptWeight>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].name == all[i - 1].name)
      fail_user("{} and {}: share '{}', which a folder holds in one form", layer_words(source, main_reader(all[i - 1])),
                layer_words(source, main_reader(all[i])), checkpoint_name(source.model, all[i].name));
  }
}

std::string module_of(const std::string& tensor) {
  return tensor.ends_with(weight_ending) ? tensor.substr(0, tensor.size() - weight_ending.size()) : tensor;
}

/// Modules of linear layers that are not quantised; a head that shares the embedding's table is one by its own name.
std::vector<std::string> plain_modules(const QuantizationSource& source, const KeptWeight& kept) {
  std::vector<std::string> modules;
  for (const Node* reader : kept.readers) {
    if (reader->operation != &op::linear) continue;
    modules.push_back(module_of(is_token_table(kept) ? std::string(source.model.config.family->tensors->head)
                                                     : checkpoint_name(source.model, kept.name)));
  }
  return modules;
}

void add_to_group(std::vector<CompressedGroup>& groups, const CompressedScheme& scheme, const std::string& module) {
  auto group = std::ranges::find(groups, scheme, &CompressedGroup::scheme);
  if (group == groups.end()) group = groups.insert(groups.end(), {scheme, {}});
  group->modules.push_back(module);
}

/// Nothing where no layer is quantised.
std::optional<Json> quantisation_json(const QuantizationSource& source, const std::vector<KeptWeight>& all) {
  std::vector<CompressedGroup> groups;
  std::vector<std::string> plain;
  for (const KeptWeight& kept : all) {
    if (is_quantised(kept)) {
      add_to_group(groups, scheme_of(source, kept), module_of(checkpoint_name(source.model, kept.name)));
      continue;
    }
    const std::vector<std::string> modules = plain_modules(source, kept);
    plain.insert(plain.end(), modules.begin(), modules.end());
  }
  if (groups.empty()) return std::nullopt;
  return compression_config(groups, plain);
}

/// What transformers calls the dtype of what is computed with.
std::string dtype_word(DType dtype) {
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

void write_config(const QuantizationSource& source, const std::vector<KeptWeight>& all, const fs::path& folder) {
  Json json = published_config(source.model);
  json.erase("torch_dtype");
  json["dtype"] = dtype_word(source.instance.precision().row.activations);
  if (const std::optional<Json> quantisation = quantisation_json(source, all))
    json["quantization_config"] = *quantisation;
  write_file_atomically(folder / "config.json", json.dump(2) + "\n");
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_call(to.string() + ": cannot be written", errno);
}

/// Files of weights, each as full as it may be.
class Shards {
 public:
  Shards(const QuantizationSource& source, fs::path folder, std::int64_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {
    metadata_ = {{"format", "pt"}, {"assay.precision", source.precision}};
    if (!source.recipe.empty()) metadata_["assay.recipe"] = source.recipe;
    if (!source.calibration.empty()) metadata_["assay.calibration"] = source.calibration;
  }

  /// `stored` as NamedTensor has it.
  void add(const std::string& name, Tensor tensor, const char* stored = nullptr) {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes());
    if (bytes_ > 0 && bytes_ + bytes > most_bytes_) write();
    bytes_ += bytes;
    total_ += bytes;
    held_.push_back({name, std::move(tensor), stored});
  }

  /// Writes the last file, gives all of them their names and writes the index; returns the bytes of all tensors.
  std::int64_t finish() {
    write();
    Json index = {{"metadata", {{"total_size", total_}}}, {"weight_map", Json::object()}};
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const std::string name = written_.size() == 1
                                   ? "model.safetensors"
                                   : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, written_.size());
      rename_file(folder_ / unnamed(i), folder_ / name);
      for (const std::string& tensor : written_[i]) index["weight_map"][tensor] = name;
    }
    if (written_.size() > 1) write_file_atomically(folder_ / "model.safetensors.index.json", index.dump(2) + "\n");
    return total_;
  }

 private:
  struct Held {
    std::string name;
    Tensor tensor;
    const char* stored;
  };

  static std::string unnamed(std::size_t number) { return fmt::format("model-{}.safetensors", number); }

  void write() {
    std::vector<NamedTensor> tensors;
    std::vector<std::string> names;
    for (const Held& one : held_) {
      tensors.push_back({one.name, one.tensor.view(), one.stored});
      names.push_back(one.name);
    }
    write_safetensors(folder_ / unnamed(written_.size()), std::move(tensors), metadata_);
    written_.push_back(std::move(names));
    held_.clear();
    bytes_ = 0;
  }

  fs::path folder_;
  std::int64_t most_bytes_;
  std::map<std::string, std::string> metadata_;
  std::vector<Held> held_;
  std::int64_t bytes_ = 0;
  std::int64_t total_ = 0;
  std::vector<std::vector<std::string>> written_;  ///< Names of tensors, by file.
};

CodedRows coded_rows(const QuantizationSource& source, const KeptWeight& kept) {
  const TensorView values = kept_values(source, kept);
  return kept.blocks != nullptr ? rows_of_blocks(*kept.blocks, values)
                                : rows_with_scales(values, kept_scales(source, kept));
}

/// In the order of rows that the family's files have.
void move_rows(const QuantizationSource& source, const KeptWeight& kept, CodedRows& rows) {
  const StoredOrder order = stored_order(kept.name, *source.model.config.family);
  if (order == StoredOrder::same) return;
  for (Tensor* part : {&rows.codes, &rows.scales, &rows.zeros}) {
    if (part->data() != nullptr) *part = to_stored(part->view(), order, source.model.config);
  }
}

void add_codes(const QuantizationSource& source, const KeptWeight& kept, Shards& shards) {
  CodedRows rows = coded_rows(source, kept);
  move_rows(source, kept, rows);
  const std::string module = module_of(checkpoint_name(source.model, kept.name));
  for (auto& [ending, tensor] : compressed_parts(scheme_of(source, kept), rows)) {
    const char* stored = tensor.dtype() == DType::f64 ? "I64" : nullptr;
    shards.add(module + ending, std::move(tensor), stored);
  }
}

void add_plain(const QuantizationSource& source, const KeptWeight& kept, Shards& shards) {
  const StoredOrder order = stored_order(kept.name, *source.model.config.family);
  shards.add(checkpoint_name(source.model, kept.name),
             to_stored(kept_values(source, kept), order, source.model.config));
}

}  // namespace

/// A weight goes under the name that it came under: what came in parts, or together with others, has none of its own.
void check_name(const QuantizationSource& source, const KeptWeight& kept, const std::vector<KeptWeight>& all) {
  const std::string name = checkpoint_name(source.model, kept.name);
  const auto ending = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  const bool is_in_parts = ending(kept.name) == "weight" && ending(name) != "weight";
  const auto same = std::count_if(all.begin(), all.end(), [&](const KeptWeight& other) {
    return other.name != kept.name && checkpoint_name(source.model, other.name) == name;
  });
  if (is_in_parts || same > 0)
    fail_user("{}: its weights lie as '{}', in parts or together; such a model is written as GGUF at most",
              source.model.name, name);
}

void check_folder(const QuantizationSource& source) {
  check_rows(source.instance.precision());
  const std::vector<KeptWeight> all = kept_weights(source.instance.program());
  for (const KeptWeight& kept : all) {
    check_name(source, kept, all);
    if (is_quantised(kept)) check_in_codes(source, kept);
  }
  check_kept_once(source, all);
}

WrittenModel write_model_folder(const QuantizationSource& source, const fs::path& folder, std::int64_t shard_bytes) {
  const std::vector<KeptWeight> all = kept_weights(source.instance.program());
  WrittenModel written;
  Shards shards(source, folder, shard_bytes);
  for (const KeptWeight& kept : all) {
    (is_quantised(kept) ? add_codes : add_plain)(source, kept, shards);
    ++(is_quantised(kept) ? written.quantised : written.plain);
  }
  written.bytes = shards.finish();
  write_config(source, all, folder);
  copy_support_files(source.model, folder);
  if (source.model.files && !is_folder(*source.model.files))
    written.notes.emplace_back("no tokenizer in the folder: the model's own is in a GGUF file");
  return written;
}

}  // namespace assay
