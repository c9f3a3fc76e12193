#pragma once

#include <memory>
#include <vector>

#include "program/operation.h"

namespace assay::cpu {

/// Cosines and sines of every position, (positions, columns), times the magnitude. Pairs in halves: columns =
/// rotary_columns / 2. Interleaved pairs: columns = rotary_columns, every cosine twice and every sine as -sin, sin.
/// With attributes.inverse every sine has the other sign.
struct RopeTable {
  std::int64_t positions = 0;
  std::int64_t columns = 0;
  std::vector<float> cosines;
  std::vector<float> sines;
};

/// The table for `positions` positions; the kernels of all layers share one.
std::shared_ptr<const RopeTable> rope_table(const Attributes& attributes, std::int64_t positions);

}  // namespace assay::cpu
