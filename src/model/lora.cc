#include "model/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/lower_case.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/threads.h"
#include "formats/safetensors.h"
#include "model/families.h"
#include "model/fresh_head.h"
#include "model/random_weights.h"
#include "model/stored_values.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view all_linear = "all-linear";
constexpr std::string_view peft_prefix = "base_model.model.";
constexpr std::string_view lora_weight_ending = ".weight";

/// What PEFT adapts unless it is told, by what a model's layers are called; the first of which a model has all.
/// peft.utils.constants, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING, where it has the family; the same parts
/// where it has none (DistilBERT, ModernBERT).
const std::vector<std::string> usual_targets[] = {
    {"q_proj", "v_proj"}, {"query", "value"}, {"query_proj", "value_proj"}, {"c_attn"},
    {"query_key_value"},  {"qkv_proj"},       {"q_lin", "v_lin"},           {"Wqkv"}};

bool ends_module(const std::string& module, const std::string& target) {
  return module == target || module.ends_with("." + target);
}

/// Heads are not among them: PEFT leaves the output layer out too.
std::vector<std::string> modules_of_body(const Program& program, const ModelConfig& config) {
  std::vector<std::string> modules = adaptable_modules(program);
  std::erase_if(modules, [&](const std::string& module) {
    const std::string weight = module + std::string(lora_weight_ending);
    const TensorNames& names = *config.family->tensors;
    return weight == names.head || begins_with_any(weight, names.task_head);
  });
  return modules;
}

/// Names of modules that a target is about; it may be written with the prefix of published files.
std::vector<std::string> matching(const std::vector<std::string>& modules, const std::string& target,
                                  const Family& family) {
  std::vector<std::string> found;
  std::copy_if(modules.begin(), modules.end(), std::back_inserter(found), [&](const std::string& module) {
    return ends_module(module, target) || published_name(module, family) == target;
  });
  return found;
}

bool has_all(const std::vector<std::string>& modules, const std::vector<std::string>& targets, const Family& family) {
  return std::all_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return !matching(modules, target, family).empty(); });
}

/// Last parts of the names, each once.
std::string kinds_of_layers(const std::vector<std::string>& modules) {
  std::set<std::string> kinds;
  for (const std::string& module : modules) kinds.insert(module.substr(module.rfind('.') + 1));
  std::string list;
  for (const std::string& kind : kinds) list += (list.empty() ? "" : ", ") + kind;
  return list;
}

std::vector<std::string> usual_modules(const Model& model, const std::vector<std::string>& body) {
  const Family& family = *model.config.family;
  for (const std::vector<std::string>& targets : usual_targets) {
    if (has_all(body, targets, family)) return targets;
  }
  fail_user("--lora: of {} models nobody has said which layers are adapted; name some of {}", family.name,
            kinds_of_layers(body));
}

std::vector<std::string> chosen_modules(const Model& model, const std::vector<std::string>& asked) {
  const Program program = build_program(model.config, {});
  const std::vector<std::string> body = modules_of_body(program, model.config);
  if (asked == std::vector<std::string>{std::string(all_linear)}) return body;
  const std::vector<std::string> every = adaptable_modules(program);
  std::set<std::string> chosen;
  for (const std::string& target : asked.empty() ? usual_modules(model, body) : asked) {
    const std::vector<std::string> found = matching(every, target, *model.config.family);
    if (found.empty())
      fail_user("--lora: '{}' names no linear layer of {} that can be adapted; it has {}", printable(target),
                model.name, kinds_of_layers(every));
    chosen.insert(found.begin(), found.end());
  }
  return {chosen.begin(), chosen.end()};
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void fill_uniform(float bound, std::uint64_t seed, std::uint64_t stream, Tensor& out) {
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const auto bits = philox(seed, stream, static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
    out.as<float>()[i] = bound * (2 * uniform(bits) - 1);
  }
}

Weight fresh_weight(const std::string& name, const Shape& shape, std::uint64_t seed) {
  Weight weight;
  weight.name = weight.checkpoint_name = name;
  weight.shape = shape;
  weight.stored = "random";
  const bool is_b = name == adapter_b(adapted_module(name));
  weight.load = [is_b, seed, stream = stream_of(name), shape] {
    Tensor values(DType::f32, shape);
    if (is_b) {
      std::fill_n(values.as<float>(), values.count(), 0.0F);
    } else {
      fill_uniform(static_cast<float>(1 / std::sqrt(static_cast<double>(shape[1]))), seed, stream, values);
    }
    return owning(std::move(values));
  };
  return weight;
}

/// Rows of B stand as those of the weight beside which it stands.
StoredOrder order_of(const std::string& parameter, const ModelConfig& config) {
  if (!is_adapter_weight(parameter)) return stored_order(parameter, *config.family);
  const std::string weight = adapted_module(parameter) + std::string(lora_weight_ending);
  const bool moves = stored_order(weight, *config.family) == StoredOrder::by_key_head;
  return moves && parameter == adapter_b(adapted_module(parameter)) ? StoredOrder::by_key_head : StoredOrder::same;
}

/// As PEFT the last layer of a classifier; a head that was drawn anew is trained whole.
std::vector<std::string> heads_to_train(const Model& model) {
  constexpr const char* last_layers[] = {"classifier.", "score."};
  const bool has_classes = model.config.task == Task::classification || model.config.task == Task::token_classification;
  std::vector<std::string> heads;
  for (const auto& [name, weight] : model.weights.by_name) {
    const bool is_last = begins_with_any(name, last_layers);
    const bool is_fresh = weight.stored == "random" && begins_with_any(name, model.config.family->tensors->task_head);
    if (has_classes && (is_last || is_fresh)) heads.push_back(name);
  }
  return heads;
}

/// A folder of PEFT's layout, read.
class AdapterFolder {
 public:
  explicit AdapterFolder(const fs::path& folder)
      : config_path_(folder / adapter_config_file),
        weights_path_(folder / adapter_weights_file),
        config_(read_config()),
        tensors_(std::make_shared<const Safetensors>(open_safetensors(weights_path_))) {}

  Model beside(Model model) const {
    model = with_head(std::move(model));
    std::map<std::string, const StoredTensor*> by_parameter = assigned(model);
    model.config.adapters = adapters_of(model, by_parameter);
    for (const auto& [parameter, tensor] : by_parameter) {
      if (!is_adapter_weight(parameter)) model.config.trained_heads.push_back(parameter);
    }
    check_shapes(model, by_parameter);
    for (const auto& [parameter, tensor] : by_parameter) {
      const StoredOrder order = order_of(parameter, model.config);
      Weight& weight = model.weights.by_name[parameter];
      weight = {};
      weight.name = weight.checkpoint_name = parameter;
      weight.shape = stored_shape(tensor->shape, order);
      weight.stored = tensor->stored;
      weight.order = order;
      weight.file = weights_path_.string();
      weight.bytes = tensor->bytes;
      weight.load = [keep = tensors_, tensor = tensor, order, config = model.config] {
        WeightData data{tensor->view(), {}};
        const bool is_kept = data.view.dtype == DType::bf16 || data.view.dtype == DType::f16;
        if (!is_kept) data = in_f32(std::move(data));
        if (order == StoredOrder::same) return data;
        return owning(from_stored(data.view, order, config));
      };
    }
    model.adapters_identity = sha256_file(weights_path_) + sha256_file(config_path_);
    return model;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_user("{}: {}", config_path_.string(), what); }

  Json read_config() const {
    Json json = parse_json(read_file(config_path_, 16 << 20), config_path_.string());
    if (!json.is_object()) fail("is no object");
    if (json.value("peft_type", Json()) != "LORA")
      fail("peft_type is " + printable(json.value("peft_type", Json()).dump(), 40) + ", LORA is built");
    for (const char* key : {"use_dora", "use_qalora", "lora_bias", "trainable_token_indices", "layer_replication",
                            "corda_config", "target_parameters", "arrow_config"}) {
      const Json entry = json.value(key, Json());
      const bool is_off =
          entry.is_null() || entry == false || ((entry.is_object() || entry.is_array()) && entry.empty());
      if (!is_off) fail(fmt::format("{} is not built", key));
    }
    refuse_changed_base(json.value("init_lora_weights", Json()));
    if (json.value("bias", "none") != "none") fail("trained biases are not built (bias is to be none)");
    return json;
  }

  /// Where PEFT takes the adapters' first values out of the model's own weights, it does so again as it loads them
  /// (its LoraLayer.update_layer).
  void refuse_changed_base(const Json& begin) const {
    if (!begin.is_string()) return;
    const std::string word = lower_case(begin.get<std::string>());
    for (const char* way : {"pissa", "olora", "corda", "loftq", "lora_ga"}) {
      if (word.starts_with(way)) fail(fmt::format("init_lora_weights {} is not built", printable(word, 40)));
    }
  }

  /// Of the module, by the first pattern that it ends with; PEFT takes the pattern as an expression, of which plain
  /// names are built.
  double number_for(const std::string& module, const char* usual, const char* patterns) const {
    const Json listed = config_.value(patterns, Json::object());
    const Json entry = config_.value(usual, Json());
    for (const auto& [pattern, value] : listed.items()) {
      if (ends_module(module, pattern) && value.is_number()) return value.get<double>();
    }
    if (!entry.is_number()) fail(fmt::format("has no number '{}'", usual));
    return entry.get<double>();
  }

  /// An encoder without a head gets the one whose weights stand here.
  Model with_head(Model model) const {
    std::int64_t labels = 0;
    for (const StoredTensor& tensor : tensors_->tensors) {
      const std::string name = tensor.name.substr(std::min(peft_prefix.size(), tensor.name.size()));
      if (!begins_with_any(name, model.config.family->tensors->task_head) || tensor.shape.size() != 2) continue;
      labels = labels == 0 ? tensor.shape[0] : std::min(labels, tensor.shape[0]);
    }
    const bool is_encoder = model.config.task == Task::embedding || model.config.task == Task::masked_language_model;
    return labels > 0 && is_encoder ? with_fresh_head(std::move(model), {.labels = labels}) : std::move(model);
  }

  /// What of the model each tensor is.
  std::map<std::string, const StoredTensor*> assigned(const Model& model) const {
    std::map<std::string, std::string> parameters;
    const auto know = [&](const std::string& parameter) {
      parameters[adapter_file_name(parameter, model.config)] = parameter;
    };
    for (const std::string& module : adaptable_modules(build_program(model.config, {}))) {
      know(adapter_a(module));
      know(adapter_b(module));
    }
    for (const auto& [name, weight] : model.weights.by_name) {
      if (begins_with_any(name, model.config.family->tensors->task_head)) know(name);
    }
    std::map<std::string, const StoredTensor*> found;
    for (const StoredTensor& tensor : tensors_->tensors) {
      const auto known = parameters.find(tensor.name);
      if (known == parameters.end())
        fail_user("{}: tensor '{}' is beside no linear layer of {} that can be adapted", weights_path_.string(),
                  printable(tensor.name), model.name);
      found[known->second] = &tensor;
    }
    return found;
  }

  std::vector<Adapter> adapters_of(const Model& model,
                                   const std::map<std::string, const StoredTensor*>& by_parameter) const {
    std::vector<Adapter> adapters;
    for (const auto& [parameter, tensor] : by_parameter) {
      if (!is_adapter_weight(parameter)) continue;
      const std::string module = adapted_module(parameter);
      const bool is_a = parameter == adapter_a(module);
      if (by_parameter.count(is_a ? adapter_b(module) : adapter_a(module)) == 0)
        fail_user("{}: '{}' stands without its other half", weights_path_.string(), printable(tensor->name));
      if (!is_a) continue;
      if (tensor->shape.size() != 2 || tensor->shape[0] < 1)
        fail_user("{}: '{}' is {}, (rank, inputs) is wanted", weights_path_.string(), printable(tensor->name),
                  to_string(tensor->shape));
      const std::string full = published_name(module, *model.config.family);
      const double alpha = number_for(full, "lora_alpha", "alpha_pattern");
      const auto rank = static_cast<double>(tensor->shape[0]);
      if (number_for(full, "r", "rank_pattern") != rank)
        fail(fmt::format("'{}' has rank {}, not what is said here", printable(tensor->name), tensor->shape[0]));
      const bool by_root = config_.value("use_rslora", false);
      adapters.push_back({module, tensor->shape[0], alpha / (by_root ? std::sqrt(rank) : rank)});
    }
    if (adapters.empty()) fail_user("{}: holds no adapters", weights_path_.string());
    return adapters;
  }

  void check_shapes(const Model& model, const std::map<std::string, const StoredTensor*>& by_parameter) const {
    for (const Value& value : build_program(model.config, {}).values) {
      const auto found = value.source == Source::weight ? by_parameter.find(value.name) : by_parameter.end();
      if (found == by_parameter.end()) continue;
      const StoredTensor& tensor = *found->second;
      const Shape wanted = stored_shape(concrete(value.shape, {}), order_of(value.name, model.config));
      if (tensor.shape != wanted || !tensor.dtype || !is_float(*tensor.dtype))
        fail_user("{}: '{}' is {} {}, {} of floats is wanted beside {}", weights_path_.string(), printable(tensor.name),
                  tensor.stored, to_string(tensor.shape), to_string(wanted), model.name);
    }
  }

  fs::path config_path_;
  fs::path weights_path_;
  Json config_;
  std::shared_ptr<const Safetensors> tensors_;
};

const char* task_type(Task task) {
  switch (task) {
    case Task::language_model:
      return "CAUSAL_LM";
    case Task::classification:
      return "SEQ_CLS";
    case Task::token_classification:
      return "TOKEN_CLS";
    default:
      return nullptr;
  }
}

/// The shortest list that PEFT reads as these modules: their last parts, or else their whole names.
std::vector<std::string> target_modules(const Model& model) {
  const Family& family = *model.config.family;
  std::set<std::string> modules;
  std::set<std::string> kinds;
  for (const Adapter& adapter : model.config.adapters) {
    modules.insert(adapter.module);
    kinds.insert(adapter.module.substr(adapter.module.rfind('.') + 1));
  }
  ModelConfig bare = model.config;
  bare.adapters.clear();
  std::size_t meant = 0;
  const std::vector<std::string> every = adaptable_modules(build_program(bare, {}));
  for (const std::string& kind : kinds) meant += matching(every, kind, family).size();
  if (meant == modules.size()) return {kinds.begin(), kinds.end()};
  std::vector<std::string> whole;
  whole.reserve(modules.size());
  for (const std::string& module : modules) whole.push_back(published_name(module, family));
  return whole;
}

/// Modules that are trained whole.
Json trained_heads(const Model& model) {
  std::set<std::string> heads;
  for (const std::string& name : model.config.trained_heads) heads.insert(name.substr(0, name.rfind('.')));
  return heads.empty() ? Json() : Json(std::vector<std::string>(heads.begin(), heads.end()));
}

/// w += scale b a    w: (out, in), a: (rank, in), b: (out, rank), f32
void add_product(const Tensor& a, const Tensor& b, double scale, Tensor& w) {
  const std::int64_t in = w.shape()[1];
  const std::int64_t rank = a.shape()[0];
  parallel_for(w.shape()[0], 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sums(static_cast<std::size_t>(in));
    for (std::int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t k = 0; k < rank; ++k) {
        const double factor = scale * static_cast<double>(b.as<float>()[row * rank + k]);
        for (std::int64_t i = 0; i < in; ++i)
          sums[static_cast<std::size_t>(i)] += factor * static_cast<double>(a.as<float>()[k * in + i]);
      }
      float* values = w.as<float>() + row * in;
      for (std::int64_t i = 0; i < in; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) + sums[static_cast<std::size_t>(i)]);
    }
  });
}

Tensor loaded_f32(const Weight& weight) {
  WeightData data = in_f32(weight.load());
  return data.owned.data() != nullptr ? std::move(data.owned) : converted(data.view, DType::f32);
}

Weight merged_weight(const Model& model, const Adapter& adapter) {
  const Weight& base = model.weights.at(adapter.module + std::string(lora_weight_ending));
  Weight merged = base;
  merged.is_coded = false;
  merged.blocks = nullptr;
  merged.load_blocks = nullptr;
  merged.bytes = {};
  merged.load = [&model, &base, adapter] {
    Tensor sum = loaded_f32(base);
    add_product(loaded_f32(model.weights.at(adapter_a(adapter.module))),
                loaded_f32(model.weights.at(adapter_b(adapter.module))), adapter.scale, sum);
    return owning(std::move(sum));
  };
  return merged;
}

}  // namespace

LoraOptions parse_lora(std::string_view text, std::string_view option) {
  LoraOptions options;
  const std::string_view rank = text.substr(0, text.find(':'));
  const std::string_view rest = rank.size() == text.size() ? "" : text.substr(rank.size() + 1);
  const std::string_view alpha = rest.substr(0, rest.find(':'));
  const std::string_view modules = alpha.size() == rest.size() ? "" : rest.substr(alpha.size() + 1);
  const bool has_rank = read_number(rank, options.rank) && options.rank >= 1 && options.rank <= 1 << 16;
  const bool has_alpha =
      alpha.empty() || (read_number(alpha, options.alpha) && options.alpha > 0 && options.alpha < 1e6);
  if (!has_rank || !has_alpha)
    fail_user("{} '{}': RANK[:alpha][:modules] is wanted, such as 16, 16:32 or 16:32:q_proj,v_proj", option,
              printable(std::string(text)));
  options.modules = split_list(modules);
  return options;
}

std::string words(const LoraOptions& options) {
  return fmt::format("{}:{}:{}", options.rank, options.alpha, fmt::join(options.modules, ","));
}

Model with_fresh_lora(Model model, const LoraOptions& options, std::uint64_t seed) {
  if (!model.config.adapters.empty()) fail_user("--lora: {} has adapters already", model.name);
  const std::vector<std::string> modules = chosen_modules(model, options.modules);
  model.config.adapters.reserve(modules.size());
  for (const std::string& module : modules)
    model.config.adapters.push_back({module, options.rank, options.alpha / static_cast<double>(options.rank)});
  model.config.trained_heads = heads_to_train(model);
  for (const Value& value : build_program(model.config, {}).values) {
    if (value.source == Source::weight && is_adapter_weight(value.name))
      model.weights.by_name[value.name] = fresh_weight(value.name, concrete(value.shape, {}), seed);
  }
  return model;
}

Model with_lora_from(Model model, const fs::path& folder) {
  if (!model.config.adapters.empty()) fail_user("{}: {} has adapters already", folder.string(), model.name);
  if (!is_there(folder / adapter_config_file))
    fail_user("{}: is no folder of adapters, {} is missing", folder.string(), adapter_config_file);
  return AdapterFolder(folder).beside(std::move(model));
}

bool is_trained_beside_adapters(const std::string& parameter, const ModelConfig& config) {
  const std::vector<std::string>& heads = config.trained_heads;
  return is_adapter_weight(parameter) || std::find(heads.begin(), heads.end(), parameter) != heads.end();
}

std::string adapter_file_name(const std::string& parameter, const ModelConfig& config) {
  return std::string(peft_prefix) + published_name(parameter, *config.family);
}

StoredOrder adapter_file_order(const std::string& parameter, const ModelConfig& config) {
  return order_of(parameter, config);
}

Json adapter_config(const Model& model, double dropout) {
  const Adapter& first = model.config.adapters.front();
  const Family& family = *model.config.family;
  const auto alpha_of = [](const Adapter& adapter) { return adapter.scale * static_cast<double>(adapter.rank); };
  Json ranks = Json::object();
  Json alphas = Json::object();
  bool transposed = false;
  for (const Adapter& adapter : model.config.adapters) {
    if (adapter.rank != first.rank) ranks[published_name(adapter.module, family)] = adapter.rank;
    if (alpha_of(adapter) != alpha_of(first)) alphas[published_name(adapter.module, family)] = alpha_of(adapter);
    transposed = transposed || stored_order(adapter.module + ".weight", family) == StoredOrder::transposed;
  }
  const char* task = task_type(model.config.task);
  return {{"peft_type", "LORA"},
          {"task_type", task == nullptr ? Json() : Json(task)},
          {"base_model_name_or_path", model.files ? model.files->string() : model.name},
          {"r", first.rank},
          {"lora_alpha", alpha_of(first)},
          {"lora_dropout", dropout},
          {"target_modules", target_modules(model)},
          {"modules_to_save", trained_heads(model)},
          {"rank_pattern", ranks},
          {"alpha_pattern", alphas},
          {"bias", "none"},
          {"fan_in_fan_out", transposed},
          {"use_rslora", false},
          {"use_dora", false},
          {"inference_mode", true}};
}

Model with_merged_lora(const Model& model) {
  Model merged = model;
  merged.config.adapters.clear();
  merged.config.trained_heads.clear();
  std::erase_if(merged.weights.by_name, [](const auto& one) { return is_adapter_weight(one.first); });
  for (const Adapter& adapter : model.config.adapters)
    merged.weights.by_name[adapter.module + std::string(lora_weight_ending)] = merged_weight(model, adapter);
  return merged;
}

}  // namespace assay
