#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "tensor/block_format.h"
#include "tensor/tensor.h"

namespace assay {

/// How compressed-tensors name the way in which a layer is quantised. What its tensors are: quantised_layouts.cc.
struct CompressedScheme {
  enum class Inputs : std::uint8_t {
    as_they_are,
    by_token,  ///< In the weights' type, with a scale a row, as the model runs;
    by_group   ///< s8, by groups of 32.
  };
  const char* format;      ///< "pack-quantized"
  std::int64_t bits;       ///< Of a weight's code.
  const char* type;        ///< "int", "float"
  std::int64_t group = 0;  ///< Inputs that share a scale; 0: all of a row.
  Zero zero = Zero::middle;
  Inputs inputs = Inputs::as_they_are;

  bool operator==(const CompressedScheme&) const;
};

/// A weight W[n][k] = (codes[n][k] - zeros[n][g]) scales[n][g], g = k / group. Codes of four bits lie in -8 .. 7.
struct CodedRows {
  Tensor codes;   ///< s8 or e4m3 (out, in)
  Tensor scales;  ///< f32 or f16 (out, groups)
  Tensor zeros;   ///< s8 (out, groups); empty: zero
};
/// Codes of one scale a row. `codes`: s8 or e4m3 (out, in), `scales`: f32 (out).
CodedRows rows_with_scales(const TensorView& codes, const TensorView& scales);
/// Codes of blocks that make_blocks makes, which fill whole blocks. `blocks`: u8 (out, bytes of a row).
CodedRows rows_of_blocks(const BlockFormat& format, const TensorView& blocks);

/// The tensors that make up the weight in a file, each with what stands behind the module's name in its own.
std::vector<std::pair<std::string, Tensor>> compressed_parts(const CompressedScheme& scheme, const CodedRows& rows);

/// Modules in one scheme; by name as the file has them, "model.layers.0.mlp.down_proj".
struct CompressedGroup {
  CompressedScheme scheme;
  std::vector<std::string> modules;
};
/// config.json's "quantization_config", as the compressed-tensors package writes it. `plain`: modules of linear layers
/// that are not quantised.
Json compression_config(const std::vector<CompressedGroup>& groups, const std::vector<std::string>& plain);

}  // namespace assay
