// The three matrix products of training, and the packed one of inference beside them:
//
//   trained_linear_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// The counter is in 10^9 operations a second, a multiply-add counted as two.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kernels/kernel.h"
#include "product_bench.h"

namespace assay {
namespace {

struct Shapes {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};
constexpr Shapes shapes[] = {{512, 768, 3072}, {512, 3072, 768}, {512, 768, 768}, {512, 768, 10000}};

struct Dtypes {
  DType x;
  DType weight;
};
constexpr Dtypes dtypes[] = {{DType::f32, DType::f32}, {DType::bf16, DType::f32}, {DType::bf16, DType::bf16}};

enum class Way : std::uint8_t { packed_once, forward, input_gradient, weight_gradient };
constexpr Way ways[] = {Way::packed_once, Way::forward, Way::input_gradient, Way::weight_gradient};

const char* name(Way way) {
  switch (way) {
    case Way::packed_once:
      return "inference";
    case Way::forward:
      return "forward";
    case Way::input_gradient:
      return "input_gradient";
    default:
      return "weight_gradient";
  }
}

Argument dense(DType dtype, Shape shape) {
  const std::int64_t stride = shape.back();
  return {.present = true, .dtype = dtype, .shape = std::move(shape), .row_stride = stride, .packing = {}};
}

/// The weight gradient of a bf16 operand is f32 where the weight is.
Call call_of(Way way, const Shapes& s, const Dtypes& d, int threads) {
  const Argument x = dense(d.x, {s.rows, s.in});
  const Argument dy = dense(d.x, {s.rows, s.out});
  Argument weight = dense(d.weight, {s.out, s.in});
  Call call;
  call.threads = threads;
  call.attributes.operand = d.x;
  if (way == Way::input_gradient) {
    call.operation = &op::linear_input_gradient;
    call.inputs = {dy, weight};
    call.outputs = {x};
  } else if (way == Way::weight_gradient) {
    call.operation = &op::linear_weight_gradient;
    call.inputs = {dy, x};
    call.outputs = {weight};
  } else {
    call.operation = &op::linear;
    weight.constant = way == Way::packed_once;
    if (weight.constant) weight.dtype = d.x;
    call.inputs = {x, weight};
    call.outputs = {dy};
  }
  return call;
}

Tensor random_tensor(const Argument& argument) {
  Tensor wide(DType::f32, argument.shape);
  Random random(11, 0);
  for (std::int64_t i = 0; i < wide.count(); ++i)
    wide.as<float>()[i] = static_cast<float>(random.next_uniform()) - 0.5F;
  return converted(wide.view(), argument.dtype);
}

void run(benchmark::State& state, const Call& call, const Implementation& implementation, const MachineFacts& facts) {
  const Offer offer = implementation.prepare(call, facts);
  const auto& prepared = std::get<Prepared>(offer);
  std::vector<Tensor> tensors;
  std::vector<const std::byte*> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    tensors.push_back(random_tensor(call.in(i)));
    if (i < prepared.packing.size() && prepared.packing[i].kind == Packing::Kind::panels) {
      const Packing& packing = prepared.packing[i];
      const std::size_t bytes = packed_bytes(packing, call.in(i).shape[0], call.in(i).shape[1]);
      Tensor packed(DType::u8, {static_cast<std::int64_t>(bytes)});
      pack(tensors.back().view(), packing, packed.data());
      tensors.back() = std::move(packed);
    }
    inputs.push_back(tensors.back().data());
  }
  Tensor result(call.out(0).dtype, call.out(0).shape);
  Tensor workspace(DType::u8, {static_cast<std::int64_t>(prepared.workspace_bytes)});
  std::byte* const outputs[] = {result.data()};
  const Argument& matrix = call.operation == &op::linear_weight_gradient ? call.out(0) : call.in(1);
  time_product(state, prepared, static_cast<double>(call.in(0).rows() * element_count(matrix.shape)),
               [&] { prepared.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.data()}); });
}

void add_benchmarks(Way way, const Shapes& s, const Dtypes& d, const MachineFacts& facts) {
  const Call call = call_of(way, s, d, facts.threads);
  for_implementations(call, facts, [&](const Implementation& implementation) {
    const std::string label = fmt::format("{}/{}x{}x{}/{}*{}/{}", name(way), s.rows, s.in, s.out, assay::name(d.x),
                                          assay::name(d.weight), implementation.name);
    auto* registered = benchmark::RegisterBenchmark(label.c_str(), run, call, implementation, facts);
    if (call.threads > 1) registered->UseRealTime();
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const MachineFacts facts = benchmark_machine(argc, argv);
  for (const Dtypes& d : dtypes) {
    for (const Shapes& s : shapes) {
      for (const Way way : ways) add_benchmarks(way, s, d, facts);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
