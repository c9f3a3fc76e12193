#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "tensor/parameter_groups.h"

namespace assay {

/// How an optimizer keeps its moments: a row of data.
struct StateFormat {
  const char* name;
  std::optional<DType> dtype;  ///< Absent: the parameter's own.
  Rounding rounding;           ///< To that dtype.
  /// Neighbouring elements that share a scale: codes of 8 bits (op::block_adamw); 0: every element is a float.
  std::int64_t block;
  // Only with blocks: what stays f32.
  std::int64_t least_elements;  ///< Parameters with fewer.
  bool embeddings_stay;         ///< Tables of tokens, positions and types.
  const char* note;
};

/// The table. The first row is what a training has that asks for none.
std::span<const StateFormat> state_formats();
/// Throws a user error that begins with `option` and lists the names.
const StateFormat& find_state_format(std::string_view name, std::string_view option);

/// How one parameter's moments are kept.
struct StateLayout {
  DType dtype = DType::f32;  ///< u8: codes.
  Rounding rounding = Rounding::nearest;
  std::int64_t block = 0;

  bool operator==(const StateLayout&) const = default;
};
/// Of a parameter of that dtype with so many elements.
StateLayout state_layout(const StateFormat& format, DType parameter, std::int64_t elements,
                         std::span<const ParameterKind> kinds);

/// How a training stores what it keeps beside its parameters.
struct TrainingStorage {
  const StateFormat* states = &state_formats().front();
  std::optional<DType> gradients = std::nullopt;  ///< Absent: each in its parameter's dtype.

  /// "", "states 8bit, gradients bf16": what is not as usual.
  std::string words() const;
  bool operator==(const TrainingStorage&) const = default;
};
/// f32, f16 or bf16; "weights": absent. Throws a user error that begins with `option` for any other word.
std::optional<DType> parse_gradient_dtype(std::string_view text, std::string_view option);
/// Every pair of the named; empty lists mean what is usual. Throws likewise, with --states and --gradients.
std::vector<TrainingStorage> storages_of(const std::vector<std::string>& states,
                                         const std::vector<std::string>& gradients);
/// What it parses to the same.
const char* gradient_word(const std::optional<DType>& dtype);

}  // namespace assay
