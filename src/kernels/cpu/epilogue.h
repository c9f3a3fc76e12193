#pragma once

#include "kernels/cpu/rows.h"
#include "program/program.h"

namespace assay::cpu {

/// What happens to the sums of a matrix product on their way out, 32 outputs at a time:
///
///   y = f((sums - 128 * column_sums) * x_scale * w_scale + bias) + onto
///
/// Scales, sums and rows that are null are left out; pointers stand at the first output of the panel.
struct Epilogue {
  DType sums = DType::f32;                    ///< f32 or s32
  const std::int32_t* column_sums = nullptr;  ///< s32 sums of x + 128: what the 128 has added, by output
  const float* x_scale = nullptr;             ///< by row; stands at the first row
  const float* w_scale = nullptr;
  Source bias;
  Activation activation = Activation::none;
  SourceRows onto;  ///< Stands at the first row and output, as y does; it may be y.
  SinkRows y;

  /// The same, `rows` rows further on.
  Epilogue from_row(std::int64_t rows) const {
    Epilogue later = *this;
    if (later.x_scale != nullptr) later.x_scale += rows;
    if (later.onto.data != nullptr) later.onto.data += rows * later.onto.stride_bytes;
    later.y.data += rows * later.y.stride_bytes;
    return later;
  }
};

/// Finishes `rows` rows of 32 sums, `columns` of which are wanted.
using Finish = void (*)(const Epilogue& epilogue, const std::byte* sums, std::int64_t rows, std::int64_t columns);

/// For the instruction set that choose_vector_target has chosen.
Finish choose_finish();

/// Writes y = sums past the caches, for results that are read long after: a line that is written whole need not be read
/// first. Of f32 sums, whole panels and an f32 or bf16 y whose rows begin with lines; the rest of the epilogue is not
/// heeded.
Finish choose_stream();
/// Behind all that this thread streams, and before another thread reads it. Waits for memory: once a run, not a block.
void end_streams();

}  // namespace assay::cpu
