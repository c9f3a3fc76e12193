#pragma once

#include <cstdint>
#include <vector>

#include "results/record.h"
#include "studies/train_benchmark/cell.h"

namespace assay {

/// The record of one variant, its first `warmup` steps left out. The latency fields of a step are those of `bench`.
Record record_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup);

/// Times of whole steps behind the warm-up.
std::vector<double> steps_ms(const Variant& variant, std::int64_t warmup);

}  // namespace assay
