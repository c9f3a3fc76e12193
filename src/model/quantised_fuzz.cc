#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/json.h"
#include "formats/fuzzing.h"
#include "formats/safetensors.h"
#include "model/quantised.h"

namespace assay {
namespace {

/// What a model's "quantization_config" may be; the first byte says which.
constexpr const char* configurations[] = {
    R"({"quant_method": "fp8", "weight_block_size": [16, 40]})",
    R"({"quant_method": "compressed-tensors", "format": "naive-quantized",
        "config_groups": {"all": {"weights": {"num_bits": 8}}}})",
    R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": {"all": {"weights": {"num_bits": 4, "group_size": 32}}}})",
    R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": {"all": {"weights": {"num_bits": 3, "group_size": 32}}}})",
    R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
        "config_groups": {"all": {"weights": {"num_bits": 4, "group_size": 16}}}})",
    R"({"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
        "config_groups": {"all": {"weights": {"num_bits": 4, "group_size": 32}}}})",
    R"({"quant_method": "gptq", "bits": 4, "group_size": 32})",
    R"({"quant_method": "gptq", "bits": 8, "group_size": 96, "checkpoint_format": "gptq_v2"})",
    R"({"quant_method": "awq", "bits": 4, "group_size": 32})",
    R"({"quant_method": "bitsandbytes"})",
};

Weight part_of(const StoredTensor& tensor) {
  Weight weight;
  weight.name = weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = tensor.stored;
  weight.file = "fuzz";
  weight.bytes = tensor.bytes;
  weight.load = [&tensor] {
    const TensorView view = tensor.view();
    Tensor aligned(view.dtype, view.shape);  // Bytes of an input lie anywhere; those of a file do not.
    std::memcpy(aligned.data(), view.data, view.bytes());
    WeightData data{{}, converted(aligned.view(), DType::f32)};
    data.view = data.owned.view();
    return data;
  };
  return weight;
}

/// The blocks of a weight are its values.
void compare_forms(const Weight& weight) {
  const WeightData values = weight.load();
  if (weight.blocks == nullptr) return;
  const WeightData rows = weight.load_blocks();
  Tensor expanded(DType::f32, weight.shape);
  const auto count = static_cast<std::size_t>(expanded.count());
  expand_blocks(*weight.blocks, {rows.view.data, rows.view.bytes()}, {expanded.as<float>(), count});
  for (std::size_t i = 0; i < count; ++i) {
    const float a = values.view.as<float>()[i];
    const float b = expanded.as<float>()[i];
    if (a != b && !(std::isnan(a) && std::isnan(b))) std::abort();
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  return expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const char* const text = configurations[static_cast<std::size_t>(bytes[0]) % std::size(configurations)];
    const auto quantisation = read_quantisation({{"quantization_config", parse_json(text, "fuzz")}}, "fuzz");
    const SafetensorsContent content = parse_safetensors(bytes.subspan(1), "fuzz");
    std::map<std::string, Weight> tensors;
    for (const StoredTensor& tensor : content.tensors) tensors[tensor.name] = part_of(tensor);
    for (const std::string& name : join_quantised(tensors, *quantisation)) compare_forms(tensors.at(name));
  });
}
