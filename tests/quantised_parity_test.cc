#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "formats/safetensors.h"
#include "hardware/machine.h"
#include "kernels/kernel.h"

// e4m3 as PyTorch's float8_e4m3fn makes it (tools/generate_quantised_fixture.py).

namespace assay {
namespace {

const std::filesystem::path e4m3_fixture = ASSAY_SOURCE_DIR "/tests/fixtures/e4m3.safetensors";

Argument plain_argument(DType dtype, const Shape& shape) {
  return {.present = true, .dtype = dtype, .shape = shape, .row_stride = shape.back(), .packing = {}};
}

/// Runs the first implementation that takes the call, on plain inputs.
void run_plain(const Backend& backend, const Call& call, std::vector<const std::byte*> inputs,
               const std::vector<std::byte*>& outputs) {
  Offer offer = prepare(backend, call, read_machine_facts());
  ASSERT_TRUE(std::holds_alternative<Prepared>(offer)) << std::get<Declined>(offer).why;
  const Prepared& prepared = std::get<Prepared>(offer);
  std::vector<Tensor> packed;
  for (std::size_t i = 0; i < prepared.packing.size() && i < inputs.size(); ++i) {
    const Packing& packing = prepared.packing[i];
    if (packing.kind == Packing::Kind::plain) continue;
    const Argument& in = call.inputs[i];
    packed.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(packed_bytes(packing, in.shape[0], in.shape[1]))});
    pack({in.dtype, in.shape, inputs[i]}, packing, packed.back().data());
    inputs[i] = packed.back().data();
  }
  const Tensor workspace(DType::u8, {static_cast<std::int64_t>(prepared.workspace_bytes)});
  prepared.kernel->run({inputs, outputs, const_cast<std::byte*>(workspace.data())});
}

struct Quantiser {
  const char* input;
  const Operation& operation;
};

TEST(QuantisedParity, ScalesAndRoundingAreTheSameBits) {
  const Safetensors expected = open_safetensors(e4m3_fixture);
  for (const Quantiser& one : {Quantiser{"x", op::quantize_rows}, Quantiser{"w", op::quantize_weight}}) {
    const TensorView values = expected.find(one.input)->view();
    const TensorView q = expected.find(std::string(one.input) + ".q")->view();
    const TensorView scale = expected.find(std::string(one.input) + ".scale")->view();
    ASSERT_EQ(q.dtype, DType::e4m3);
    for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
      Call call;
      call.operation = &one.operation;
      call.inputs = {plain_argument(DType::f32, values.shape)};
      call.outputs = {plain_argument(DType::e4m3, values.shape), plain_argument(DType::f32, {values.shape[0]})};
      Tensor found(DType::e4m3, values.shape);
      Tensor scales(DType::f32, {values.shape[0]});
      run_plain(*backend, call, {values.data}, {found.data(), scales.data()});
      for (std::int64_t i = 0; i < values.count(); ++i)
        ASSERT_EQ(found.data()[i], q.data[i]) << backend->name << " " << one.input << " element " << i;
      EXPECT_EQ(std::memcmp(scales.data(), scale.data, scale.bytes()), 0) << backend->name << " " << one.input;
    }
  }
}

TEST(QuantisedParity, ProductsAreThoseOfTheRoundedValues) {
  const Safetensors expected = open_safetensors(e4m3_fixture);
  const auto view = [&](const char* name) { return expected.find(name)->view(); };
  const TensorView y = view("y");
  Call call;
  call.operation = &op::quantized_linear;
  for (const char* name : {"x.q", "x.scale", "w.q", "w.scale"})
    call.inputs.push_back(plain_argument(view(name).dtype, view(name).shape));
  call.inputs[2].constant = true;
  call.outputs = {plain_argument(DType::f32, y.shape)};
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Tensor found(DType::f32, y.shape);
    run_plain(*backend, call, {view("x.q").data, view("x.scale").data, view("w.q").data, view("w.scale").data},
              {found.data()});
    for (std::int64_t row = 0; row < y.shape[0]; ++row) {
      const float* right = y.as<float>() + row * y.shape[1];
      double largest = 0;
      for (std::int64_t n = 0; n < y.shape[1]; ++n) largest = std::max<double>(largest, std::abs(right[n]));
      for (std::int64_t n = 0; n < y.shape[1]; ++n)
        EXPECT_NEAR(found.as<float>()[row * y.shape[1] + n], right[n], 4e-6 * largest) << backend->name << " " << row;
    }
  }
}

}  // namespace
}  // namespace assay
