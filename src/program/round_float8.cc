#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

DType format_of(Operand operand) {
  return operand == Operand::dy ? DType::e5m2 : DType::e4m3;
}

/// Copies a program node by node, with rounded operands.
class Rounder {
 public:
  Rounder(const Program& program, const Precision& rest, ScaleHistory history)
      : result_(program), rest_(rest), keeps_history_(history == ScaleHistory::kept) {}

  Program run() {
    std::vector<Node> nodes = std::exchange(result_.nodes, {});
    for (Node& node : nodes) {
      const Precision& row = *node.precision == '\0' ? rest_ : find_precision(node.precision);
      if (node.role != Role::head && row.float8 != Float8Training::none) round_operands(node, row);
      result_.nodes.push_back(std::move(node));
    }
    return std::move(result_);
  }

 private:
  void round_operands(Node& node, const Precision& row) {
    Operand first = Operand::x;
    Operand second = Operand::w;
    if (node.operation == &op::linear_input_gradient)
      first = Operand::dy;
    else if (node.operation == &op::linear_weight_gradient)
      first = Operand::dy, second = Operand::x;
    else if (node.operation != &op::linear)
      return;
    if (row.float8 == Float8Training::delayed) node.attributes.math = format_of(first);
    node.inputs[0] = rounded({node.inputs[0], first, &row}, node);
    node.inputs[1] = rounded({node.inputs[1], second, &row}, node);
    node.attributes.operand = DType::f32;  // Weights are rounded already.
  }

  /// A value that is multiplied, and the row that says how.
  struct Multiplied {
    ValueId id;
    Operand operand;
    const Precision* row;

    bool operator<(const Multiplied& other) const {
      return std::tie(id, operand, row) < std::tie(other.id, other.operand, other.row);
    }
  };

  /// Once for all that multiply it.
  ValueId rounded(const Multiplied& one, const Node& reader) {
    const auto known = rounded_.find(one);
    if (known != rounded_.end()) return known->second;
    Node node{&op::round_float8, {one.id}, {}, {}, reader.path, reader.role, reader.phase, reader.precision};
    node.attributes.operand = format_of(one.operand);
    const Value from = result_.value(one.id);
    const ValueId to = add({reader.path, one.row->operand, from.shape, Source::computed, from.constant});
    node.outputs = {to};
    if (one.row->float8 == Float8Training::blocks) {
      node.attributes.width = tile;
      node.attributes.rows = one.operand == Operand::w ? tile : 1;
    }
    // What never changes needs none: its own largest is that of the steps before.
    if (keeps_history_ && !from.constant) {
      node.inputs.push_back(history(one.operand, reader.path));
      node.outputs.push_back(node.inputs.back());
    }
    result_.nodes.push_back(std::move(node));
    return rounded_[one] = to;
  }

  /// One state for all that is computed again of it.
  ValueId history(Operand operand, const std::string& path) {
    const std::string name = fmt::format("{}{}.{}", scale_history_prefix, word(operand), path);
    const auto known = histories_.find(name);
    if (known != histories_.end()) return known->second;
    return histories_[name] = add({name, DType::f32, {dim(float8_history_size)}, Source::state, false});
  }

  ValueId add(Value value) {
    result_.values.push_back(std::move(value));
    return static_cast<ValueId>(result_.values.size()) - 1;
  }

  Program result_;
  const Precision& rest_;
  bool keeps_history_;
  std::map<Multiplied, ValueId> rounded_;
  std::map<std::string, ValueId> histories_;
};

}  // namespace

Program round_products_to_float8(const Program& program, const PrecisionChoice& precision, ScaleHistory history) {
  const auto rounds = [](const Precision& row) { return row.float8 != Float8Training::none; };
  const auto is_rounded = [&](const LayerOverride& layer) { return rounds(layer.row); };
  if (!rounds(precision.row) && std::ranges::none_of(precision.layers, is_rounded)) return program;
  return Rounder(program, precision.row, history).run();
}

}  // namespace assay
