#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/weights.h"

namespace assay {

/// What config.json's "quantization_config" says of the weights beside it. Each method keeps a weight as several
/// tensors, whose layouts stand in quantised_layouts.cc and bitsandbytes.h.
struct StoredQuantisation {
  enum class Method : std::uint8_t { fp8, compressed_tensors, gptq, awq, bitsandbytes, mxfp4 } method = Method::fp8;
  std::string format = {};         ///< compressed_tensors: "pack-quantized", ...
  std::int64_t bits = 8;           ///< Of a code.
  std::int64_t group = 0;          ///< Inputs that share a scale; 0: all of a row.
  std::int64_t block_rows = 0;     ///< fp8: outputs that share a scale; 0: as the scales' shape says.
  std::int64_t block_columns = 0;  ///< fp8: inputs.
  bool zeros_less_one = false;     ///< gptq: zero points are stored less 1.
  /// compressed_tensors of several kinds: that of each module, by its name in the file; empty: all are of this one.
  std::map<std::string, StoredQuantisation> by_module = {};
};

/// Absent where the configuration has none. Throws a user error naming `file` for methods, formats and numbers of bits
/// that are not read.
std::optional<StoredQuantisation> read_quantisation(const Json& config, const std::string& file);

/// Puts one weight in the place of the tensors that make one up: (out, in) whatever the family's order is, its values
/// in f32 and, where a block format holds it without a change of value, those blocks. Returns their names. Throws a
/// user error naming file and tensor where a part is missing or of another shape. Values are checked where they are
/// read: a scale that is not finite.
std::vector<std::string> join_quantised(std::map<std::string, Weight>& tensors, const StoredQuantisation& quantisation);

}  // namespace assay
