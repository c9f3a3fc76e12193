#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace assay {

struct QualityBatch;

/// What gives logits of a batch beside the instances of this program: another program that runs the same model.
class LogitSource {
 public:
  LogitSource() = default;
  LogitSource(const LogitSource&) = delete;
  LogitSource& operator=(const LogitSource&) = delete;
  virtual ~LogitSource() = default;

  /// f32, of the shape that an instance's logits of that batch have, valid until the next call. Absent where it gives
  /// none: fault() says why, and it is not asked again.
  virtual std::optional<TensorView> logits(const QualityBatch& batch) = 0;
  /// A sentence; empty as long as all went well.
  virtual std::string fault() const = 0;
};

}  // namespace assay
