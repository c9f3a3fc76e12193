#pragma once

#include "kernels/cpu/micro/stripes.h"
#include "kernels/linear.h"

namespace assay::cpu {

/// Where the rows of one run lie as a loop over stripes wants them.
struct PreparedRows {
  const std::byte* x = nullptr;
  std::int64_t x_stride = 0;
  std::byte* copy = nullptr;      ///< Null: x is read where it is.
  const float* scales = nullptr;  ///< Of integers.
  float* made_scales = nullptr;   ///< Where `scales` are made with the rows.
  float* sums = nullptr;
  std::int32_t* starts = nullptr;
};

/// How rows of x become that: in the loop's order, whole stretches filled up with zeros, and beside them what each
/// stretch adds (micro::StripeBlock).
struct StripeRowsOf {
  DType dtype;
  std::int64_t in;
  std::int64_t x_stride;  ///< Elements.
  micro::StripeRows order;
  int zero;            ///< That codes have without saying so.
  std::int64_t parts;  ///< Of a stretch.

  std::int64_t stretches() const { return (in + stretch_values - 1) / stretch_values; }
  /// Of a row, in bytes.
  std::int64_t stride() const;
  /// Workspace for so many rows.
  std::int64_t bytes(std::int64_t rows) const;
  PreparedRows place(const LinearMemory& tensors, std::byte* workspace) const;
  /// Fills rows [begin, end).
  void prepare(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t begin, std::int64_t end) const;
  /// Sets what a block reads of rows from `row` on.
  void point_at(const PreparedRows& rows, std::int64_t row, micro::StripeBlock& block) const;

 private:
  bool is_copied() const;
  std::int64_t starts_of_stretch() const;
  std::int64_t side_bytes() const;
  const std::byte* filled_row(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const;
  void prepare_integers(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const;
  void prepare_floats(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const;
  void prepare_pieces(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const;
};

}  // namespace assay::cpu
