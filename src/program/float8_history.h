#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

/// The name of a history, in front of "<x, w or dy>.<layer>".
inline constexpr std::string_view scale_history_prefix = "optimizer.float8.";

/// Where op::round_float8 keeps what it saw of a tensor, f32 (float8_history_size). Between steps a training moves
/// `largest` to the front of the steps before and clears it.
constexpr std::int64_t float8_steps =
    16;  ///< Before this one, the newest first: amax_history_len of Transformer Engine.
enum Float8History : std::int64_t {
  float8_largest = 0,    ///< Largest magnitude of this step so far.
  float8_saturated = 1,  ///< Share of the last run's values that the scale did not let in,
  float8_flushed = 2,    ///< and of those that are not zero and became it.
  float8_before = 3      ///< The first of float8_steps.
};
constexpr std::int64_t float8_history_size = float8_before + float8_steps;

}  // namespace assay
