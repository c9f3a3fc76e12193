#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "kernels/kernel.h"

// Properties that hold by the operations' definitions, so that the oracle itself stands on something.

namespace assay {
namespace {

Argument dense(DType dtype, Shape shape) {
  const std::int64_t stride = shape.back();
  return {.present = true, .dtype = dtype, .shape = std::move(shape), .row_stride = stride, .packing = {}};
}

std::vector<float> normal(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.next_normal());
  return values;
}

void run(const Call& call, const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
  Offer offer = prepare(reference_backend(), call, {});
  auto& prepared = std::get<Prepared>(offer);
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  in.reserve(inputs.size());
  out.reserve(outputs.size());
  for (const void* input : inputs) in.push_back(static_cast<const std::byte*>(input));
  for (void* output : outputs) out.push_back(static_cast<std::byte*>(output));
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  prepared.kernel->run({in, out, workspace.get()});
}

Call call_of(const Operation& operation, const Attributes& attributes, std::vector<Argument> inputs,
             std::vector<Argument> outputs) {
  Call call;
  call.operation = &operation;
  call.attributes = attributes;
  call.inputs = std::move(inputs);
  call.outputs = std::move(outputs);
  call.threads = 2;
  return call;
}

constexpr Attributes two_heads = {.heads = 2, .kv_heads = 1, .head_dim = 4, .scale = 0.5, .causal = true};

TEST(Reference, LayerNormGivesMeanZeroAndVarianceOne) {
  const std::vector<float> x = normal(3 * 257, 1);
  std::vector<double> y(x.size());
  run(call_of(op::layer_norm, {}, {dense(DType::f32, {3, 257})}, {dense(DType::f64, {3, 257})}), {x.data()},
      {y.data()});
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < 257; ++i) {
      sum += y[row * 257 + i];
      squares += y[row * 257 + i] * y[row * 257 + i];
    }
    EXPECT_NEAR(sum / 257, 0, 1e-12);
    EXPECT_NEAR(squares / 257, 1, 1e-12);
  }
}

TEST(Reference, RotationKeepsLengthsAndTurnsByThePosition) {
  for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
    const std::vector<float> x = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    std::vector<double> y(x.size());
    run(call_of(op::rope, {.heads = 1, .head_dim = 4, .pairs = pairs}, {dense(DType::f32, {1, 3, 4})},
                {dense(DType::f64, {1, 3, 4})}),
        {x.data()}, {y.data()});
    const std::size_t partner = pairs == RotaryPairs::halves ? 2 : 1;
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_NEAR(y[4 * t], std::cos(static_cast<double>(t)), 1e-12);
      EXPECT_NEAR(y[4 * t + partner], std::sin(static_cast<double>(t)), 1e-12);
    }
  }
}

TEST(Reference, SoftmaxRowsSumToOneOverTheVisibleKeysAndBlindRowsAreZero) {
  const std::vector<float> scores = normal(2 * 2 * 5 * 5, 2);
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 0, 0, 0, 0, 0, 1};
  std::vector<double> p(scores.size());
  run(call_of(op::softmax, two_heads, {dense(DType::f32, {2, 2, 5, 5}), dense(DType::u8, {2, 5})},
              {dense(DType::f64, {2, 2, 5, 5})}),
      {scores.data(), mask.data()}, {p.data()});
  for (std::size_t row = 0; row < 20; ++row) {
    const std::size_t batch = row / 10;
    const std::size_t query = row % 5;
    double sum = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      const bool seen = key <= query && mask[batch * 5 + key] != 0;
      EXPECT_TRUE(seen || p[row * 5 + key] == 0) << row << ' ' << key;
      sum += p[row * 5 + key];
    }
    EXPECT_NEAR(sum, batch == 1 && query < 4 ? 0 : 1, 1e-12);
  }
}

TEST(Reference, AttentionIsItsThreeParts) {
  const Argument q = dense(DType::f32, {2, 5, 8});
  const Argument kv = dense(DType::f32, {2, 5, 4});
  const Argument mask = dense(DType::u8, {2, 5});
  const Argument scores = dense(DType::f64, {2, 2, 5, 5});
  const std::vector<float> qs = normal(80, 3);
  const std::vector<float> ks = normal(40, 4);
  const std::vector<float> vs = normal(40, 5);
  const std::vector<std::uint8_t> real = {1, 1, 0, 1, 0, 0, 0, 1, 1, 1};
  std::vector<double> s(100), p(100), parts(80), whole(80);
  const Argument y = dense(DType::f64, {2, 5, 8});
  run(call_of(op::attention_scores, two_heads, {q, kv}, {scores}), {qs.data(), ks.data()}, {s.data()});
  run(call_of(op::softmax, two_heads, {scores, mask}, {scores}), {s.data(), real.data()}, {p.data()});
  Attributes unscaled = two_heads;
  unscaled.scale = 1;
  run(call_of(op::attention_context, unscaled, {scores, kv}, {y}), {p.data(), vs.data()}, {parts.data()});
  run(call_of(op::attention, two_heads, {q, kv, kv, mask}, {y}), {qs.data(), ks.data(), vs.data(), real.data()},
      {whole.data()});
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-12);
}

TEST(Reference, QuantisedRowsAreWithinHalfAStep) {
  const std::vector<float> x = normal(4 * 33, 6);
  std::vector<std::int8_t> q(x.size());
  std::vector<float> scale(4);
  run(call_of(op::quantize_rows, {}, {dense(DType::f32, {4, 33})}, {dense(DType::s8, {4, 33}), dense(DType::f32, {4})}),
      {x.data()}, {q.data(), scale.data()});
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(std::abs(q[i] * static_cast<double>(scale[i / 33]) - x[i]), scale[i / 33] * 0.5001) << i;
}

// The largest of a row becomes 448 whatever its magnitude; what is 2^-19 of it is below half of the least e4m3.
TEST(Reference, E4m3RowsReach448AndLoseWhatIsTooSmall) {
  const std::vector<float> x = {3, -1.5F, 3 * 0x1p-19F, 0, 0, 0, -7e30F, 7e28F};
  std::vector<std::uint8_t> q(x.size());
  std::vector<float> scale(2);
  run(call_of(op::quantize_rows, {}, {dense(DType::f32, {2, 4})}, {dense(DType::e4m3, {2, 4}), dense(DType::f32, {2})}),
      {x.data()}, {q.data(), scale.data()});
  EXPECT_EQ(q, (std::vector<std::uint8_t>{0x7e, 0xf6, 0, 0, 0, 0, 0xfe, 0x49}));
  EXPECT_FLOAT_EQ(scale[0], 3 / 448.0F);
  EXPECT_FLOAT_EQ(scale[1], 7e30F / 448);
}

// s8 has no NaN and no infinity: the row's scale says it, so that no product with the row comes out finite.
TEST(Reference, RowsThatAreNotFiniteGetTheScaleNan) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> x = {1, bad, 1, -2};
    std::vector<std::uint8_t> q(x.size());
    std::vector<float> scale(2);
    for (const DType dtype : {DType::e4m3, DType::s8}) {
      run(call_of(op::quantize_rows, {}, {dense(DType::f32, {2, 2})}, {dense(dtype, {2, 2}), dense(DType::f32, {2})}),
          {x.data()}, {q.data(), scale.data()});
      EXPECT_TRUE(std::isnan(scale[0])) << name(dtype) << " " << bad;
      EXPECT_TRUE(std::isfinite(scale[1])) << name(dtype) << " " << bad;
    }
  }
}

TEST(Reference, E4m3KeepsNanAndS8GivesZero) {
  const std::vector<float> x = {1, NAN};
  std::vector<std::uint8_t> q(2);
  float scale = 0;
  for (const DType dtype : {DType::e4m3, DType::s8}) {
    run(call_of(op::quantize_rows, {}, {dense(DType::f32, {1, 2})}, {dense(dtype, {1, 2}), dense(DType::f32, {1})}),
        {x.data()}, {q.data(), &scale});
    EXPECT_EQ(q[1] & 0x7f, dtype == DType::e4m3 ? 0x7f : 0) << name(dtype);
  }
}

// Adding 1 in f16 stops at 2048, where the next number is 2050; a flush to f32 after every 1024 goes on.
TEST(Reference, F16AccumulatorsSaturateUnlessTheyAreFlushed) {
  const std::vector<float> ones(4096, 1);
  for (const int chunk : {0, 1024}) {
    float sum = 0;
    run(call_of(op::linear, {.chunk = chunk, .accumulator = DType::f16},
                {dense(DType::f32, {1, 4096}), dense(DType::f32, {1, 4096})}, {dense(DType::f32, {1, 1})}),
        {ones.data(), ones.data()}, {&sum});
    EXPECT_EQ(sum, chunk == 0 ? 2048 : 4096);
  }
}

TEST(Reference, MeanPoolCountsRealPositionsOnly) {
  const std::vector<float> x = {1, 2, 3, 4, 100, 200, 5, 6, 7, 8, 9, 10};
  const std::vector<std::uint8_t> mask = {1, 1, 0, 0, 0, 0};
  std::vector<double> y(4);
  run(call_of(op::mean_pool, {}, {dense(DType::f32, {2, 3, 2}), dense(DType::u8, {2, 3})}, {dense(DType::f64, {2, 2})}),
      {x.data(), mask.data()}, {y.data()});
  EXPECT_EQ(y, (std::vector<double>{2, 3, 0, 0}));
}

}  // namespace
}  // namespace assay
