#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "program/program.h"
#include "statistics/statistics.h"
#include "studies/autocast/norm_sensitivity.h"
#include "studies/autocast/request.h"

namespace assay {

/// What a value of a training step is.
enum class ValueKind : std::uint8_t {
  input,
  parameter,
  cast,
  activation,
  logits,
  loss,
  gradient,            ///< Of a parameter.
  activation_gradient  ///< Of anything else, casts of the backward included.
};
const char* name(ValueKind kind);

/// Values of one kind, place, operation and dtype. In models, numbers in paths and names are one: "layers.*.ln1".
struct DtypeRow {
  ValueKind kind = ValueKind::activation;
  std::string name;       ///< Parameters: the name in the checkpoint. Others: the layer path.
  std::string operation;  ///< That computes it; empty: none.
  DType dtype = DType::f32;
  std::int64_t count = 1;
};

/// The dtype of every value of a training step, read off the Program: inputs, parameters, what the forward computes in
/// its order, gradients.
std::vector<DtypeRow> dtype_rows(const Program& step);

/// Linear(16, 10) - ReLU - LayerNorm(10) - Linear(10, 4) - cross-entropy, the linears without biases, as a training
/// step in that precision: paths fc1, relu, ln, fc2, loss. Inputs x f32 (B, 16), labels s32 (B), loss_scale f32 (1).
Program toy_step(const PrecisionChoice& precision, Fusion fusion);

/// What a run of a step of the toy gave, on 8 rows of made-up numbers.
struct ToyRun {
  struct Figure {
    std::string name;
    double largest = 0;  ///< Magnitude; NaN or infinite where a value is.
  };
  double loss = 0;
  std::vector<Figure> figures;  ///< Logits and every gradient.
};
ToyRun run_toy(const Program& step, const PrecisionChoice& precision, const MachineFacts& facts, std::uint64_t seed);

struct AutocastTable {
  std::string precision;
  Fusion fusion = Fusion::off;
  std::vector<DtypeRow> rows;
  std::optional<ToyRun> run;  ///< Of the toy.
};

/// PyTorch's CUDA lists, as the operations carry them.
struct AutocastLists {
  std::vector<std::string> cast_down;
  std::vector<std::string> kept_in_f32;
  std::vector<std::string> widest;
};
AutocastLists autocast_lists();

/// How long all norms of a model take, in one precision.
struct NormCost {
  std::string precision;  ///< "fp16", "fp16[norm=f16]", "mixed-fp16"
  std::string kernel;
  Verdict verdict = Verdict::native;
  Summary time_ms;
};
struct NormCosts {
  std::string model;
  Extent extent;
  std::int64_t norms = 0;
  std::vector<NormCost> rows;
};
/// The norms of that model alone, with their widths and kernels, interleaved: fp16 (f16 in and out, f32 arithmetic),
/// the same --with norm=f16 (f16 arithmetic), and mixed-fp16 (f32 in and out, as autocast keeps them).
NormCosts norm_costs(const std::string& name, const ModelConfig& config, const MachineFacts& facts, double seconds);

struct AutocastResult {
  std::string model;
  std::vector<AutocastTable> tables;
  AutocastLists lists;
  NormSensitivity sensitivity;
  NormCosts costs;
};

/// Throws user errors for a model or precision that does not exist, cannot be trained, or that is not autocast.
AutocastResult autocast_result(const AutocastRequest& request, const FactsSource& facts);

Document to_document(const AutocastResult& result);

}  // namespace assay
