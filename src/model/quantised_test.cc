#include "model/quantised.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "formats/safetensors.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path quantised_fixtures = fs::path(ASSAY_SOURCE_DIR) / "tests/fixtures/quantised";

/// The tensors of one layer as a checkpoint's, and the values that they stand for.
struct StoredLayer {
  std::shared_ptr<Safetensors> file;
  std::map<std::string, Weight> tensors = {};
  StoredQuantisation quantisation = {};

  explicit StoredLayer(const std::string& name)
      : file(std::make_shared<Safetensors>(open_safetensors(quantised_fixtures / (name + ".safetensors")))) {
    const std::string config = (quantised_fixtures / (name + ".json")).string();
    quantisation = *read_quantisation({{"quantization_config", parse_json(read_file(config), config)}}, config);
    for (const StoredTensor& tensor : file->tensors) {
      if (tensor.name == "values") continue;
      Weight& weight = tensors[tensor.name];
      weight.name = weight.checkpoint_name = tensor.name;
      weight.shape = tensor.shape;
      weight.stored = tensor.stored;
      weight.file = name;
      weight.is_coded = true;
      weight.bytes = tensor.bytes;
      weight.load = [kept = file, &tensor] {
        WeightData data{{}, converted(tensor.view(), DType::f32)};
        data.view = data.owned.view();
        return data;
      };
    }
  }

  const Weight& weight() {
    join_quantised(tensors, quantisation);
    return tensors.at("x.weight");
  }
  WeightData joined() { return weight().load(); }
  std::string fault() {
    return user_error_of([&] { (void)joined(); });
  }
};

std::vector<std::string> stored_layers() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(quantised_fixtures)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Quantised : public testing::TestWithParam<std::string> {};

TEST_P(Quantised, ValuesAreThoseOfItsDefinitionBitForBit) {
  StoredLayer layer(GetParam());
  const TensorView values = layer.file->find("values")->view();
  const WeightData got = layer.joined();
  EXPECT_EQ(layer.tensors.size(), 1U) << "the parts are gone";
  EXPECT_FALSE(layer.tensors.at("x.weight").is_coded);
  ASSERT_EQ(got.view.shape, values.shape);
  EXPECT_EQ(std::memcmp(got.view.data, values.data, values.bytes()), 0);
}

/// What no format holds: groups out of order, groups of another length than blocks have, products of two roundings.
constexpr const char* no_blocks[] = {"fp8-blocks",     "gptq4-order", "ct-pack4-zeros",
                                     "ct-pack8-zeros", "bnb-int8",    "bnb-fp4-odd"};

/// Bit for bit, but for the sign of a zero, which MXFP4's blocks do not have.
TEST_P(Quantised, BlocksHoldTheSameValues) {
  StoredLayer layer(GetParam());
  const Weight& weight = layer.weight();
  const bool is_held =
      std::none_of(std::begin(no_blocks), std::end(no_blocks), [](const char* name) { return GetParam() == name; });
  ASSERT_EQ(weight.blocks != nullptr, is_held);
  if (!is_held) return;
  const TensorView values = layer.file->find("values")->view();
  const WeightData rows = weight.load_blocks();
  EXPECT_EQ(rows.view.shape, (Shape{weight.shape[0], weight.blocks->bytes_of(weight.shape[1])}));
  Tensor expanded(DType::f32, weight.shape);
  expand_blocks(*weight.blocks, {rows.view.data, rows.view.bytes()},
                {expanded.as<float>(), static_cast<std::size_t>(expanded.count())});
  const auto* held = expanded.as<float>();
  EXPECT_TRUE(std::equal(held, held + expanded.count(), values.as<float>())) << weight.blocks->name;
}

/// Each part is missing, of another shape and of another dtype once: one line, never a crash.
TEST_P(Quantised, PartsThatDoNotFitAreNamed) {
  const StoredLayer sound(GetParam());
  for (const auto& [name, weight] : sound.tensors) {
    if (name.ends_with("input_scale") || name.ends_with("weight_format")) continue;
    if (name == "x.weight" && (GetParam().starts_with("bnb-nf4") || GetParam().starts_with("bnb-fp4")))
      continue;  // Bytes of any dtype.
    for (const auto spoil : {+[](Weight& w) { w.shape.push_back(3); }, +[](Weight& w) { w.shape[0] += 32; },
                             +[](Weight& w) { w.stored = "I16"; }}) {
      StoredLayer layer(GetParam());
      spoil(layer.tensors.at(name));
      if (GetParam() == "fp8-one" && layer.tensors.at(name).shape[0] == 72) continue;  // One scale fits any matrix.
      const bool is_scale = name.find("scale") != std::string::npos;
      const bool is_dtype = layer.tensors.at(name).stored == "I16";
      if (is_scale && is_dtype) continue;  // Any float will do, and others do not load.
      EXPECT_TRUE(layer.fault().starts_with(GetParam() + ": tensor 'x.")) << name << ": " << layer.fault();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Quantised, testing::ValuesIn(stored_layers()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(QuantisedFiles, AGroupThatIsNotThereIsNamed) {
  StoredLayer layer("gptq4-order");
  std::vector<std::int32_t> groups(96, 3);
  Weight& part = layer.tensors.at("x.g_idx");
  part.bytes = std::as_bytes(std::span(groups));
  EXPECT_EQ(layer.fault(), "gptq4-order: tensor 'x.g_idx' names a group that is none of 3");
}

/// Of a layer of bitsandbytes, with another JSON text beside it.
std::string fault_of_state(const std::string& text) {
  StoredLayer layer("bnb-nf4-nested");
  Weight& state = layer.tensors.at("x.weight.quant_state.bitsandbytes__nf4");
  state.bytes = std::as_bytes(std::span(text));
  state.shape = {std::ssize(text)};
  return layer.fault();
}

TEST(QuantisedFiles, AStateThatIsNoneIsNamed) {
  const std::string begin = "bnb-nf4-nested: tensor 'x.weight.quant_state.bitsandbytes__nf4'";
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"[1]", "is not a JSON object"},
      {R"({"quant_type": "fp4"})", "'quant_type' is not nf4"},
      {R"({"quant_type": "nf4", "blocksize": 64})", "'shape'"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [40, -96]})", "'shape'"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [40, 96, 2]})", "'shape'"},
      {R"({"quant_type": "nf4", "blocksize": 48, "shape": [40, 96]})", "'blocksize' is 48"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [40, 96]})", "'nested_blocksize' is missing"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [40, 96], "nested_blocksize": 256})", "'nested_offset'"},
  };
  for (const auto& [text, named] : cases) {
    const std::string fault = fault_of_state(text);
    EXPECT_TRUE(fault.starts_with(begin) && fault.find(named) != std::string::npos) << fault;
    EXPECT_EQ(fault.find('\n'), std::string::npos);
  }
  const std::string wide =
      R"({"quant_type": "nf4", "blocksize": 64, "shape": [40, 1048576], "nested_blocksize": 256, "nested_offset": 1})";
  EXPECT_TRUE(fault_of_state(wide).starts_with("bnb-nf4-nested: tensor 'x.weight' has 1920 bytes"))
      << fault_of_state(wide);
}

TEST(QuantisedFiles, AnotherTableThanThePackagesIsRefused) {
  StoredLayer layer("bnb-nf4");
  std::vector<float> table(nf4_values.begin(), nf4_values.end());
  table[3] = -0.4F;
  Weight& part = layer.tensors.at("x.weight.quant_map");
  part.load = [&table] { return WeightData{{DType::f32, {16}, reinterpret_cast<const std::byte*>(table.data())}, {}}; };
  EXPECT_EQ(layer.fault(), "bnb-nf4: tensor 'x.weight.quant_map' is not the table of its type");
}

TEST(QuantisedFiles, CodesThatLieInAnotherOrderAreRefused) {
  StoredLayer layer("bnb-int8");
  const std::byte order{2};
  layer.tensors.at("x.weight_format").bytes = {&order, 1};
  EXPECT_EQ(layer.fault(), "bnb-int8: tensor 'x.weight_format' says that codes lie otherwise than row by row");
}

TEST(QuantisedFiles, AMissingPartIsNamed) {
  StoredLayer without_zeros("gptq4");
  without_zeros.tensors.erase("x.qzeros");
  EXPECT_EQ(without_zeros.fault(), "gptq4: tensor 'x.qweight' lacks 'x.qzeros' beside it");
  StoredLayer without_codes("awq4");
  without_codes.tensors.erase("x.qweight");
  EXPECT_EQ(without_codes.fault(), "awq4: tensor 'x.scales' lacks 'x.qweight' beside it");
}

/// compressed-tensors of two groups with these targets.
Json two_groups(const Json& first, const Json& second) {
  const Json weights = {{"num_bits", 8}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "mixed-precision"},
          {"config_groups",
           {{"group_0", {{"format", "int-quantized"}, {"weights", weights}, {"targets", first}}},
            {"group_1", {{"format", "pack-quantized"}, {"weights", weights}, {"targets", second}}}}}};
}

TEST(QuantisedFiles, OfSeveralGroupsNameTheirModules) {
  const auto fault = [](const Json& config) {
    return user_error_of([&] { (void)read_quantisation({{"quantization_config", config}}, "config.json"); });
  };
  EXPECT_EQ(read_quantisation({{"quantization_config", two_groups({"a.q"}, {"a.k"})}}, "config.json")->by_module.size(),
            2U);
  EXPECT_NE(fault(two_groups({"a.q"}, {"Linear"})).find("'targets' that name modules are read"), std::string::npos);
  EXPECT_NE(fault(two_groups({"a.q"}, {"re:.*mlp.*"})).find("'targets' that name modules are read"), std::string::npos);
  EXPECT_NE(fault(two_groups({"a.q"}, {"a.q"})).find("module 'a.q' is in two of the 'config_groups'"),
            std::string::npos);
  EXPECT_NE(fault(two_groups({"a.q"}, "a.k")).find("has no list of 'targets'"), std::string::npos);
}

TEST(QuantisedFiles, WhatIsNotReadIsRefusedByItsName) {
  const std::pair<Json, const char*> cases[] = {
      {{{"quant_method", "hqq"}}, "hqq"},
      {{{"bits", 4}}, "not named"},
      {"int8", "no object"},
      {{{"quant_method", "gptq"}, {"bits", 3}}, "3 bits"},
      {{{"quant_method", "awq"}, {"version", "gemv"}}, "gemv"},
      {{{"quant_method", "awq"}, {"zero_point", false}}, "zero_point"},
      {{{"quant_method", "fp8"}, {"weight_block_size", {128}}}, "weight_block_size"},
      {{{"quant_method", "compressed-tensors"}, {"format", "marlin-24"}}, "marlin-24"},
      {{{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"}}, "config_groups"},
  };
  for (const auto& one : cases) {
    const std::string fault =
        user_error_of([&] { (void)read_quantisation({{"quantization_config", one.first}}, "config.json"); });
    EXPECT_TRUE(fault.starts_with("config.json: ") && fault.find(one.second) != std::string::npos) << fault;
  }
  EXPECT_FALSE(read_quantisation({{"quantization_config", nullptr}}, "config.json"));
}

}  // namespace
}  // namespace assay
