#pragma once

#include <string>
#include <vector>

#include "base/interrupt.h"
#include "model/model.h"
#include "program/kept_weights.h"
#include "runtime/instance.h"

namespace assay {

/// A model that is written in a precision. `instance`: of the program as assign_dtypes makes it, not fused, on a
/// backend of the host; its constants are what is written.
struct QuantizationSource {
  const Model& model;
  Instance& instance;
  std::string precision;  ///< As tables call it.
  std::string recipe;     ///< Its text; empty: none.
  InterruptFlag interrupted = nullptr;
  std::string calibration = {};  ///< Method, data and its hash, where the model is calibrated for the precision.
};

/// Throws a user error for a row that says more than a file of weights can: what multiplies, what autocast copies.
void check_rows(const PrecisionChoice& precision);

/// Whether ids pick its rows: an embedding's table, which a head may share.
bool is_token_table(const KeptWeight& kept);
/// The operation that decides what the kept weight is for: a linear layer before whatever else reads it.
const Node& main_reader(const KeptWeight& kept);
/// "layers.3.mlp.down_proj (int8)": for errors.
std::string layer_words(const QuantizationSource& source, const Node& node);

/// The weight's elements, as they are kept, in the order of the Program. Throws a user error where one is not finite,
/// and one of `interrupted` where that was set.
TensorView kept_values(const QuantizationSource& source, const KeptWeight& kept);
/// Its scales, f32 (out).
TensorView kept_scales(const QuantizationSource& source, const KeptWeight& kept);

}  // namespace assay
