#include "studies/calibrate/tied_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/config.h"
#include "model/families.h"
#include "program/passes.h"
#include "program/program.h"

namespace assay {
namespace {

bool takes_calibration_at(const Node& node, const PrecisionChoice& row) {
  if (const LayerOverride* const layer = layer_override(row, node)) return takes_calibration(layer->row.scheme);
  return takes_calibration(row.row.scheme) && !row.override_for(node.role);
}

}  // namespace

bool rounds_tied_head(const Model& model, const PrecisionChoice& row) {
  if (!model.config.tied_head || !predicts_tokens(model.config.task)) return false;
  const Program built = build_program(model.config, {});
  const std::string table = model.config.family->tensors->embedding;
  return std::ranges::any_of(built.nodes, [&](const Node& node) {
    return node.operation == &op::linear && built.value(node.inputs[1]).name == table &&
           takes_calibration_at(node, row);
  });
}

HeadTable settled_head(const Model& tied, WeightChanges& changes) {
  const TensorNames& names = *tied.config.family->tensors;
  const auto head = changes.find(names.head);
  if (head == changes.end()) return HeadTable::shared;
  if (!head->second.by_column.empty()) return HeadTable::own;
  auto found = changes.extract(head);
  found.key() = names.embedding;
  changes.insert(std::move(found));
  return HeadTable::shared;
}

}  // namespace assay
