#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/stored_order.h"
#include "tensor/block_format.h"
#include "tensor/tensor.h"

namespace assay {

/// Values of a weight: a view into the mapped checkpoint, or memory of its own.
struct WeightData {
  TensorView view;  ///< f32, bf16 or f16 (or blocks), row-major
  Tensor owned;     ///< Behind `view` where it is not in the mapping.
};

/// One parameter, as [out, in] under its checkpoint name without the family's prefix.
struct Weight {
  std::string name;             ///< "h.0.attn.c_attn.weight": what the Program calls it
  std::string checkpoint_name;  ///< "transformer.h.0.attn.c_attn.weight"
  Shape shape;
  std::string stored;     ///< Dtype in the checkpoint: "F32", "Q4_1", "random". Never the precision under test.
  std::string file;       ///< That holds it: begins error messages. Empty where none does.
  bool is_coded = false;  ///< `stored` are codes of a quantisation whose scales stand elsewhere: no values.
  StoredOrder order = StoredOrder::same;    ///< How the checkpoint holds it.
  std::span<const std::byte> bytes;         ///< As `file` holds them.
  const BlockFormat* blocks = nullptr;      ///< Where these hold its codes and scales; null otherwise.
  bool rows_moved = false;                  ///< They lie otherwise in the file than they are given.
  std::function<WeightData()> load_blocks;  ///< Reads blocks without a change of value: u8 (rows, bytes of a row).
  std::function<WeightData()> load;         ///< Reads, transposes, de-quantises; see model/stored_values.h.
  std::function<void()> release;            ///< The mapped pages will not be read again soon; may be empty.
};

/// All parameters of a model. Values are read when asked for, one weight at a time.
struct Weights {
  std::map<std::string, Weight> by_name;
  std::string identity;  ///< sha256 of the checkpoint file(s), or "random seed N"

  const Weight& at(const std::string& name) const;
  std::int64_t parameters() const;
  /// "F32", or "Q4_1 210, F32 61, Q8_0 1" where dtypes are mixed.
  std::string stored_dtypes() const;
  WeightFormats formats() const;
};

}  // namespace assay
