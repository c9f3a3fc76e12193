#pragma once

#include <optional>
#include <vector>

#include "studies/tune/knapsack.h"
#include "studies/tune/options.h"
#include "studies/tune/request.h"
#include "studies/tune/scoring.h"
#include "tensor/dtype.h"

namespace assay {

inline constexpr DType kept_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::s8};

/// A dtype that keys and values can be kept in, with what the cache takes and loses so.
struct CacheOption {
  DType kv = DType::f32;
  PartOption option = {};  ///< ms of a token of every row, nats of KL.
};

/// Every dtype of a cache that gives finite scores: the time of its operations, appending and attention, of one new
/// token behind a prompt of `--seq`, by their own clocks in fp32 otherwise; the loss of fp32 with that cache alone, on
/// the search's rows. Absent after an interrupt.
std::optional<std::vector<CacheOption>> cache_options(const TuneRequest& request, const Scoring& scoring,
                                                      const LossStore& store);

}  // namespace assay
