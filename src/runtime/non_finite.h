#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/plan.h"

namespace assay {

/// A value that is NaN or infinite, and its place in the tensor.
struct NonFinite {
  float value = 0;
  Shape place;
};

/// What became of a run whose output is no number: the output, and the first operation that made such a value.
struct NonFiniteRun {
  std::string output;  ///< "logits", "loss", ...
  NonFinite found;     ///< In it.
  std::string path;    ///< Of the first operation; empty where a second run was finite.
  std::string operation;
  NonFinite first;            ///< In what that operation made.
  bool was_run_again = true;  ///< Of another program's output nothing is known but that.
};
/// "logits holds NaN at [0, 3, 17]".
std::string words(const std::string& tensor, const NonFinite& found);
/// "logits holds NaN at [0, 3, 17]; the first operation that made such a value is layers.1.mlp.up_proj (linear),
/// +infinity at [0, 2, 5]".
std::string words(const NonFiniteRun& run);

/// Of a dense f32 tensor.
std::optional<NonFinite> first_non_finite(const TensorView& tensor);

/// Looks at what the plan's last run left in that output, and where that is not finite runs the plan once more with a
/// look at what each step makes; where all is well, nothing is run again. Values count where `real` (B, T; empty: all)
/// says that their token is real: what stands at padding is nobody's result. A score of minus infinity does not count
/// before softmax, which makes a weight of 0 of it. The plan's state, if it has one, is as after one more run.
std::optional<NonFiniteRun> find_non_finite(const Plan& plan, const std::string& output,
                                            std::span<const std::uint8_t> real);

/// The second half of find_non_finite, for a tensor that the caller has found not to be finite.
NonFiniteRun trace_non_finite(const Plan& plan, const std::string& output, NonFinite found,
                              std::span<const std::uint8_t> real);

}  // namespace assay
