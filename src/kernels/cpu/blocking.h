#pragma once

#include <cstdint>

#include "base/threads.h"
#include "tensor/dtype.h"

/// What the blocked matrix products share.
namespace assay::cpu {

constexpr std::int64_t line_bytes = 64;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}
inline std::int64_t bytes_of(DType dtype) {
  return static_cast<std::int64_t>(size_of(dtype));
}

/// Threads worth starting for that many multiply-adds in that many tasks.
inline int useful_threads(std::int64_t products, std::int64_t tasks, int threads) {
  constexpr std::int64_t products_worth_a_thread = 100 * 1000;  // some microseconds: what starting one costs
  const std::int64_t worth = ceil_div(products, products_worth_a_thread);
  const std::int64_t useful = worth < tasks ? worth : tasks;
  return static_cast<int>(useful < 1 || threads < 1 ? 1 : useful < threads ? useful : threads);
}

}  // namespace assay::cpu
