#pragma once

#include <cstdint>

#include "kernels/cpu/matmul.h"

namespace assay::cpu {

/// How the product is cut into tasks of `task_panels` panels and `task_rows` rows.
struct Tasks {
  std::int64_t task_panels = 1;
  std::int64_t panel_tasks = 0;
  std::int64_t task_rows = 0;
  std::int64_t row_tasks = 0;
  std::int64_t count() const { return panel_tasks * row_tasks; }
};

/// Values of K between two stores of the sums: equal parts of K, at most what the code says. Few rows read a widened
/// panel once or twice: it shall not leave the first cache in between.
std::int64_t chunk_of(const LinearCall& call, const MatmulCode& code);
/// Rows are cut so that one chunk of a task's rows stays in the second cache while panels pass by, and further where
/// that divides the work more evenly among the threads.
Tasks divide(const LinearCall& call, const MatmulCode& code, std::int64_t chunk);

}  // namespace assay::cpu
