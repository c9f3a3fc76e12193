#include <algorithm>

#include "base/error.h"
#include "model/checkpoint.h"
#include "model/families.h"
#include "tensor/finite.h"

namespace assay {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// Buffers that checkpoints carry and nobody needs: causal masks, position numbers, rotary frequencies.
bool is_buffer(const std::string& name) {
  return contains(name, ".attn.bias") || contains(name, ".attn.masked_bias") || contains(name, ".attention.bias") ||
         contains(name, ".attention.masked_bias") || contains(name, "position_ids") ||
         contains(name, "rotary_emb.inv_freq") || contains(name, "rope_freqs.weight") ||
         contains(name, "rope_factors_");
}

/// Heads and poolers that published checkpoints carry beside the model that is run.
bool is_unused_head(const std::string& name, const ModelConfig& config) {
  if (begins_with_any(name, config.family->tensors->unused)) return true;
  return config.tied_head && name == config.family->tensors->head;
}

void refuse_codes(const Weight& weight) {
  if (!weight.is_coded) return;
  fail_user("{}: tensor '{}' is stored as {}, codes of a quantisation that the configuration does not define",
            weight.file, weight.checkpoint_name, weight.stored);
}

[[noreturn]] void refuse_value(const std::string& file, const std::string& tensor) {
  fail_user("{}: tensor '{}' holds NaN or infinite values (--allow-nonfinite lets it pass)", file, tensor);
}

void refuse_nonfinite(Weight& weight) {
  weight.load = [load = weight.load, file = weight.file, tensor = weight.checkpoint_name] {
    WeightData data = load();
    if (!all_finite(data.view)) refuse_value(file, tensor);
    return data;
  };
  if (weight.blocks == nullptr) return;
  weight.load_blocks = [load = weight.load_blocks, format = weight.blocks, file = weight.file,
                        tensor = weight.checkpoint_name] {
    WeightData data = load();
    if (!blocks_are_finite(*format, {data.view.data, data.view.bytes()})) refuse_value(file, tensor);
    return data;
  };
}

void note_leftover(const std::string& name, const Checkpoint& checkpoint, const CheckpointOptions& options,
                   std::vector<std::string>& notes) {
  if (is_buffer(name)) return;
  const std::string& tensor = checkpoint.tensors.at(name).checkpoint_name;
  if (is_unused_head(name, checkpoint.config)) {
    notes.push_back(fmt::format("'{}' is not used by this task", tensor));
  } else if (options.unused == Unused::allowed) {
    notes.push_back(fmt::format("unknown tensor '{}' is not used", tensor));
  } else {
    fail_user("{}: tensor '{}' is unknown to {} (--allow-unused lets it pass)", checkpoint.tensors.at(name).file,
              tensor, checkpoint.config.family->name);
  }
}

}  // namespace

Weights bind_weights(const Program& program, Checkpoint checkpoint, const CheckpointOptions& options,
                     std::vector<std::string>& notes) {
  Weights weights;
  for (const Value& value : program.values) {
    if (value.source != Source::weight) continue;
    const auto found = checkpoint.tensors.find(value.name);
    if (found == checkpoint.tensors.end()) fail_user("{}: tensor '{}' is missing", checkpoint.name, value.name);
    const Shape wanted = concrete(value.shape, {1, 1});
    if (found->second.shape != wanted) {
      fail_user("{}: tensor '{}' has shape {}, the config asks for {}", found->second.file,
                found->second.checkpoint_name, to_string(found->second.shape), to_string(wanted));
    }
    refuse_codes(found->second);
    Weight& weight = weights.by_name[value.name] = found->second;
    if (options.nonfinite == Nonfinite::refused) refuse_nonfinite(weight);
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (weights.by_name.count(name) == 0) note_leftover(name, checkpoint, options, notes);
  }
  return weights;
}

}  // namespace assay
