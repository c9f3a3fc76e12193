#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/float8_history.h"
#include "program/operation.h"
#include "program/passes.h"

namespace assay {
namespace {

constexpr std::int64_t tile = 128;

/// Which operand of a product a value is.
enum class Operand : std::uint8_t { x, w, dy };

const char* word(Operand operand) {
  constexpr const char* words[] = {"x", "w", "dy"};
  return words[static_cast<std::size_t>(operand)];
}

/// Copies a program node by node, with rounded operands.
class Rounder {
 public:
  Rounder(const Program& program, const Precision& row, ScaleHistory history)
      : result_(program), row_(row), keeps_history_(history == ScaleHistory::kept) {}

  Program run() {
    std::vector<Node> nodes = std::exchange(result_.nodes, {});
    for (Node& node : nodes) {
      if (node.role != Role::head) round_operands(node);
      result_.nodes.push_back(std::move(node));
    }
    return std::move(result_);
  }

 private:
  void round_operands(Node& node) {
    Operand first = Operand::x;
    Operand second = Operand::w;
    if (node.operation == &op::linear_input_gradient)
      first = Operand::dy;
    else if (node.operation == &op::linear_weight_gradient)
      first = Operand::dy, second = Operand::x;
    else if (node.operation != &op::linear)
      return;
    node.inputs[0] = rounded(node.inputs[0], first, node);
    node.inputs[1] = rounded(node.inputs[1], second, node);
    node.attributes.operand = DType::f32;  // Weights are rounded already.
  }

  /// Once for all that multiply it.
  ValueId rounded(ValueId id, Operand operand, const Node& reader) {
    const auto known = rounded_.find({id, operand});
    if (known != rounded_.end()) return known->second;
    Node node{&op::round_float8, {id}, {}, {}, reader.path, reader.role, reader.phase};
    node.attributes.operand = operand == Operand::dy ? DType::e5m2 : DType::e4m3;
    const Value from = result_.value(id);
    const ValueId to = add({reader.path, row_.operand, from.shape, Source::computed, from.constant});
    node.outputs = {to};
    if (row_.float8 == Float8Training::blocks) {
      node.attributes.width = tile;
      node.attributes.rows = operand == Operand::w ? tile : 1;
    }
    if (keeps_history_) {
      node.inputs.push_back(history(operand, reader.path));
      node.outputs.push_back(node.inputs.back());
    }
    result_.nodes.push_back(std::move(node));
    return rounded_[{id, operand}] = to;
  }

  /// One state for all that is computed again of it.
  ValueId history(Operand operand, const std::string& path) {
    const std::string name = fmt::format("optimizer.float8.{}.{}", word(operand), path);
    const auto known = histories_.find(name);
    if (known != histories_.end()) return known->second;
    return histories_[name] = add({name, DType::f32, {dim(float8_history_size)}, Source::state, false});
  }

  ValueId add(Value value) {
    result_.values.push_back(std::move(value));
    return static_cast<ValueId>(result_.values.size()) - 1;
  }

  Program result_;
  const Precision& row_;
  bool keeps_history_;
  std::map<std::pair<ValueId, Operand>, ValueId> rounded_;
  std::map<std::string, ValueId> histories_;
};

}  // namespace

Program round_products_to_float8(const Program& program, const Precision& row, ScaleHistory history) {
  ASSAY_ASSERT(row.float8 != Float8Training::none);
  return Rounder(program, row, history).run();
}

}  // namespace assay
