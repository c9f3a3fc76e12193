#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/builder.h"
#include "program/operation.h"

namespace assay {

/// What the gradient rule of an operation works with: the program so far, the gradient of the node's outputs, and a
/// place to put its inputs'. Reverse-mode differentiation, node by node from the last to the first.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;

  /// Gradient of the node's output; no_value where the result does not depend on it.
  virtual ValueId of_output(std::size_t index) const = 0;
  /// Whether anybody asks for that input's gradient: it leads to a parameter.
  virtual bool wanted(std::size_t input) const = 0;
  /// Rows of a table.
  virtual std::int64_t rows_of(ValueId table) const = 0;
  /// The last axis of a value.
  virtual std::int64_t width_of(ValueId value) const = 0;
  /// An input or output of the node as the backward sees it: kept from the forward, or computed again.
  virtual ValueId saved(ValueId forward) = 0;
  /// Adds a node under the forward node's path and role; its outputs get the dtypes of `like`, one each (an output
  /// whose place in `like` is no_value is not wanted).
  virtual std::vector<ValueId> add(const Operation& operation, std::vector<ValueId> inputs,
                                   const Attributes& attributes, const std::vector<ValueId>& like) = 0;
  /// Adds to what is known of the input's gradient; no_value adds nothing.
  virtual void give(std::size_t input, ValueId gradient) = 0;
  /// Adds to the gradient of the columns [offset, offset + width) of the input, of which that gradient is a part.
  virtual void give_columns(std::size_t input, std::int64_t offset, ValueId gradient) = 0;
};

// Rules that several operations share.

/// Adds a node of one output and gives that to the input, with the input's dtype; nothing where it is not wanted.
void give_result(GradientBuilder& g, const Node& node, std::size_t input, const Operation& operation,
                 std::vector<ValueId> inputs, const Attributes& attributes = {});
/// The input's dtype stands in for the wish: no_value where nobody wants that input's gradient.
ValueId like_wanted(const GradientBuilder& g, const Node& node, std::size_t input);

}  // namespace assay
