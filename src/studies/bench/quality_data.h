#pragma once

#include <optional>
#include <string>

#include "quality/protocols.h"
#include "results/states.h"
#include "studies/bench/request.h"

namespace assay {

/// The set on which a model's precisions are scored, or only why there is none.
struct QualityData {
  std::optional<QualitySet> set;
  QualityStatus status = {};  ///< Scored, or what keeps figures out.
};

/// `--data` (text, labelled TSV or a folder of .npy arrays) cut by the request's protocol, else the bundled text; for
/// random weights random ids, on which only divergence means anything.
QualityData quality_data(const Model& model, const BenchRequest& request);

}  // namespace assay
