#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace assay {

/// A parameter p that is divided by factors s, entry by entry or row by row. A norm may multiply by p + offset: that is
/// divided where p becomes (p + offset) / s - offset.
struct DividedParameter {
  std::string name;
  double offset = 0;
};

/// A value that linear layers multiply. It can be smoothed where nothing else reads it and its channels can be divided
/// by any factors in the weights that it comes from: multiplied into the columns of the layers' matrices they leave the
/// function what it is (SmoothQuant, Xiao et al. 2023; also for values and gated activations).
struct LinearPlace {
  ValueId value = no_value;
  std::string name = {};              ///< Of its first layer: "layers.3.attn.q_proj".
  std::vector<std::size_t> layers;    ///< Nodes that multiply it.
  std::int64_t width = 0;             ///< Of the value.
  bool is_smoothable = false;         ///< What follows is for those that are.
  std::vector<std::string> matrices;  ///< Their weights, whose columns are multiplied.
  std::vector<DividedParameter> divided;
  std::vector<std::int32_t> channels;  ///< Of the value, by channel: the row that it comes from.
  std::int64_t rows = 0;               ///< Of what is divided.
};

/// All of them in a program as build_program makes it. Smoothable ones stand behind a norm that has a gain of its own,
/// behind the product of a gate and a linear layer, and behind attention (by its values, the channels of query heads
/// that share them together), and behind rows chosen of those; one whose matrix is used twice (a tied head) is not.
std::vector<LinearPlace> linear_places(const Program& built);

}  // namespace assay
