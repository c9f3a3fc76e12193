#include "model/own_head.h"

#include <utility>

#include "model/families.h"

namespace assay {

std::optional<Model> with_own_head(const Model& model) {
  if (!model.config.tied_head || !predicts_tokens(model.config.task)) return std::nullopt;
  const TensorNames& names = *model.config.family->tensors;
  Model apart = model;
  apart.config.tied_head = false;
  Weight head = model.weights.at(names.embedding);
  head.name = names.head;
  head.checkpoint_name = published_name(names.head, *model.config.family);
  apart.weights.by_name[names.head] = std::move(head);
  return apart;
}

}  // namespace assay
