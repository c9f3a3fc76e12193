#include "quantization/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/published_files.h"
#include "tensor/finite.h"

namespace assay {
namespace {

/// Why files of weights cannot say what the row is; null where they can.
struct UnsaidRow {
  bool (*is)(const Precision& row);
  const char* why;
};
constexpr UnsaidRow unsaid_rows[] = {
    {[](const Precision& row) { return takes_formats(row.scheme); },
     "is what a file holds already; name what it is to hold"},
    {[](const Precision& row) { return row.rule == Activations::autocast_lists; },
     "keeps f32 weights and casts them as it runs, which no file says; fp32 writes the same weights"},
    {[](const Precision& row) { return row.operand == DType::tf32; },
     "multiplies f32 weights in another way, which no file says; fp32 writes the same weights"},
    {[](const Precision& row) { return row.scheme == Scheme::static_int8; },
     "multiplies by scales of activations, which go into no file; int8 has such weights"},
    {[](const Precision& row) { return row.chunk > 0; },
     "adds in 16 bits, which no file says; fp16 writes the same weights"},
};

void check_row(const Precision& row) {
  for (const UnsaidRow& one : unsaid_rows) {
    if (one.is(row)) fail_user("{}: {}", row.name, one.why);
  }
}

bool reads_ids(const Node* node) {
  return node->operation == &op::embedding || node->operation == &op::block_embedding;
}

TensorView held_view(const QuantizationSource& source, ValueId id) {
  const Value& value = source.instance.program().value(id);
  return {value.dtype, concrete(value.shape, {1, 1}), source.instance.hold(id, {}).data};
}

void check_finite(const QuantizationSource& source, const KeptWeight& kept, const TensorView& view) {
  const bool are_blocks_finite = kept.blocks == nullptr || blocks_are_finite(*kept.blocks, {view.data, view.bytes()});
  if (all_finite(view) && are_blocks_finite) return;
  fail_user("{}: tensor '{}' holds NaN or infinite values in {}", source.model.name,
            checkpoint_name(source.model, kept.name), source.precision);
}

}  // namespace

void check_rows(const PrecisionChoice& precision) {
  check_row(precision.row);
  for (const LayerOverride& layer : precision.layers) check_row(layer.row);
}

bool is_token_table(const KeptWeight& kept) {
  return std::any_of(kept.readers.begin(), kept.readers.end(), reads_ids);
}

const Node& main_reader(const KeptWeight& kept) {
  const auto linear = std::find_if_not(kept.readers.begin(), kept.readers.end(), reads_ids);
  return linear == kept.readers.end() ? *kept.readers.front() : **linear;
}

std::string layer_words(const QuantizationSource& source, const Node& node) {
  const char* row = *node.precision == 0 ? source.instance.precision().row.name : node.precision;
  return fmt::format("{} ({})", node.path, row);
}

TensorView kept_values(const QuantizationSource& source, const KeptWeight& kept) {
  if (is_set(source.interrupted))
    throw Error(ExitCode::interrupted, fmt::format("{}: interrupted, nothing is written", source.model.name));
  const TensorView view = held_view(source, kept.value);
  check_finite(source, kept, view);
  return view;
}

TensorView kept_scales(const QuantizationSource& source, const KeptWeight& kept) {
  const TensorView view = held_view(source, kept.scales);
  check_finite(source, {.name = kept.name}, view);
  return view;
}

}  // namespace assay
