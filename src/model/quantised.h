#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "model/weights.h"

namespace assay {

/// What config.json's "quantization_config" says of the weights beside it. Each method keeps a weight as several
/// tensors, whose layouts stand in quantised.cc.
struct StoredQuantisation {
  enum class Method : std::uint8_t { fp8, compressed_tensors, gptq, awq } method = Method::fp8;
  std::string format = {};         ///< compressed_tensors: "pack-quantized", ...
  std::int64_t bits = 8;           ///< Of a code.
  std::int64_t group = 0;          ///< Inputs that share a scale; 0: all of a row.
  std::int64_t block_rows = 0;     ///< fp8: outputs that share a scale; 0: as the scales' shape says.
  std::int64_t block_columns = 0;  ///< fp8: inputs.
  bool zeros_less_one = false;     ///< gptq: zero points are stored less 1.
};

/// Absent where the configuration has none. Throws a user error naming `file` for methods, formats and numbers of bits
/// that are not read.
std::optional<StoredQuantisation> read_quantisation(const Json& config, const std::string& file);

/// Puts a weight of f32 values in the place of the tensors that make one up: code less zero point, times scale, one
/// rounding to f32. Throws a user error naming file and tensor where a part is missing or of another shape. Values are
/// checked where they are read: a group that is not there, a scale that is not finite.
void join_quantised(std::map<std::string, Weight>& tensors, const StoredQuantisation& quantisation);

}  // namespace assay
