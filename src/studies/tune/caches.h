#pragma once

#include <optional>
#include <vector>

#include "studies/tune/knapsack.h"
#include "studies/tune/options.h"
#include "studies/tune/request.h"
#include "studies/tune/scoring.h"
#include "tensor/dtype.h"

namespace assay {

/// A dtype that keys and values can be kept in, with what the cache takes and loses so.
struct CacheOption {
  DType kv = DType::f32;
  PartOption option = {};  ///< ms of a token of every row, nats of KL.
};

/// Every dtype of a cache: the time of its operations, appending and attention, of one new token behind a prompt of
/// `--seq`, by their own clocks in fp32 otherwise; the loss of fp32 with that cache alone, on the search's rows. None
/// after an interrupt.
std::vector<CacheOption> cache_options(const TuneRequest& request, const Scoring& scoring, const LossStore& store);

}  // namespace assay
