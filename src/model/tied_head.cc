#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/checkpoint.h"
#include "model/families.h"
#include "model/stored_values.h"

namespace assay {
namespace {

/// Every value, as f32. Those of one stored dtype are compared where they lie.
bool have_equal_values(const Weight& a, const Weight& b) {
  if (a.shape != b.shape || a.is_coded || b.is_coded) return false;
  bool equal = false;
  if (a.stored == b.stored && a.order == b.order) {
    equal = a.bytes.size() == b.bytes.size() && std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
  } else {
    const WeightData one = in_f32(a.load());
    const WeightData other = in_f32(b.load());
    equal = std::equal(one.view.as<float>(), one.view.as<float>() + one.view.count(), other.view.as<float>());
  }
  for (const Weight* weight : {&a, &b}) {
    if (weight->release) weight->release();
  }
  return equal;
}

}  // namespace

std::string settle_tied_head(Checkpoint& checkpoint) {
  ModelConfig& config = checkpoint.config;
  const auto head = checkpoint.tensors.find(config.family->tensors->head);
  if (!config.tied_head || !predicts_tokens(config.task) || head == checkpoint.tensors.end()) return "";
  const char* const embedding = config.family->tensors->embedding;
  const auto table = checkpoint.tensors.find(embedding);
  if (table == checkpoint.tensors.end()) {
    auto moved = checkpoint.tensors.extract(head);
    moved.key() = moved.mapped().name = embedding;
    checkpoint.tensors.insert(std::move(moved));
    return "";
  }
  if (have_equal_values(head->second, table->second)) return "";
  config.tied_head = false;
  return fmt::format("'{}' differs from '{}' and is used as it is, although the configuration ties them",
                     head->second.checkpoint_name, table->second.checkpoint_name);
}

}  // namespace assay
