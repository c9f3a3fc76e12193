#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "hardware/facts.h"
#include "results/document.h"
#include "studies/bench/request.h"
#include "studies/shared/quality_data.h"

namespace assay {

/// A model, and the text that it is scored on in its own tokenizer's ids.
struct ComparedModel {
  const Model* model = nullptr;
  const QualityData* data = nullptr;
};

/// Throws a user error where no logit of `other` stands beside one of the baseline's: another task, vocabulary, or
/// other ids for the same text.
void check_comparable(const ComparedModel& baseline, const ComparedModel& other);

/// How each model differs from the first one, position by position on the same ids: KL, agreement, log-perplexity; with
/// what its file and this precision take, and the speed that `records` have of it. The first model runs in the first
/// precision. Two models lie in memory at a time. What was scored in part only, since `interrupted` was set, has no
/// figures; nor has anything where memory or kernels lack for the baseline.
Table compared_models(std::span<const ComparedModel> models, const BenchRequest& request, const MachineFacts& facts,
                      std::span<const Record> records, InterruptFlag interrupted);

}  // namespace assay
