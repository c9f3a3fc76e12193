#include "studies/train/merge.h"

#include "model/stored_values.h"
#include "quantization/folder.h"
#include "quantization/new_path.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

/// The row whose weights are what the file holds.
const char* merged_row(const Model& model) {
  std::int64_t values[3] = {};
  constexpr const char* rows[] = {"fp32", "bf16", "fp16"};
  for (const auto& [name, weight] : model.weights.by_name) {
    const DType dtype = read_dtype(weight);
    values[dtype == DType::bf16 ? 1 : dtype == DType::f16 ? 2 : 0] += element_count(weight.shape);
  }
  return rows[std::max_element(std::begin(values), std::end(values)) - std::begin(values)];
}

}  // namespace

void write_merged(const Model& model, const std::filesystem::path& folder, const MachineFacts& facts) {
  EngineOptions engine;
  engine.fusion = Fusion::off;
  const std::string row = merged_row(model);
  const auto instance = make_instance(model, row, engine, facts);
  const QuantizationSource source{model, *instance, row, ""};
  check_folder(source);
  write_new_folder(folder, Existing::refused, [&](const auto& to) { write_model_folder(source, to); });
}

}  // namespace assay
