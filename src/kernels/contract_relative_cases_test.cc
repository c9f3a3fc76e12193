#include "kernels/contract_cases.h"

// Cases of attention that scores distances.

namespace assay::contract {
namespace {

void add_relative(std::vector<Case>& cases, const Operation& operation, DType dtype, std::int64_t seq,
                  const Attributes& a) {
  const std::int64_t batch = seq % 2 + 1;
  const std::int64_t width = a.heads * a.head_dim;
  const Argument scores = dense(dtype, {batch, a.heads, seq, seq});
  const Argument tokens = dense(dtype, {batch, seq, width});
  const Argument table = dense(dtype, {2 * a.relative.span, width});
  if (&operation == &op::relative_scores)
    add(cases, operation, a, {{scores}, {window(dtype, tokens.shape, 4)}, {table}}, {scores});
  if (&operation == &op::relative_input_gradient) add(cases, operation, a, {{scores}, {table}}, {tokens});
  if (&operation == &op::relative_table_gradient)
    add(cases, operation, a, {{scores}, {window(dtype, tokens.shape, 4)}}, {table});
}

}  // namespace

std::vector<Case> relative_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const std::int64_t seq : {1, 7, 33, 100}) {
      for (const RelativePositions positions : {RelativePositions{5, 0}, RelativePositions{16, 64}}) {
        for (const ScoredBy scored_by : {ScoredBy::query, ScoredBy::key})
          add_relative(cases, operation, dtype, seq,
                       {.heads = 3, .head_dim = 20, .scale = 0.3, .relative = positions, .scored_by = scored_by});
      }
    }
  }
  return cases;
}

}  // namespace assay::contract
