// Operations that go over rows of numbers: rows of 3072, a thousand of them, which memory has to give, and few that
// stay in the caches, which show the arithmetic. Outputs have memory of their own. The counters are in vectors of 16
// elements and in bytes a second, each operand counted once, however often the kernel goes over it:
//
//   rows_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/kernel.h"
#include "product_bench.h"
#include "product_call.h"

namespace assay {
namespace {

/// What the operands are, a letter each: r rows, g a gain of their width, l an s32 label a row, s a single number.
struct Rows {
  const Operation* operation;
  std::string_view inputs;
  std::string_view outputs;
};
constexpr Rows operations[] = {{&op::gate, "rr", "r"},
                               {&op::gate_gradient, "rrr", "rr"},
                               {&op::activation, "r", "r"},
                               {&op::activation_gradient, "rr", "r"},
                               {&op::add, "rr", "r"},
                               {&op::add_rms_norm, "rrg", "rr"},
                               {&op::rms_norm_gradient, "rrgr", "rg"},
                               {&op::layer_norm, "rgg", "r"},
                               {&op::softmax_gradient, "rr", "r"},
                               {&op::cross_entropy, "rl", "s"},
                               {&op::cross_entropy_gradient, "rls", "r"}};
constexpr std::int64_t row_counts[] = {8, 1024};
constexpr std::int64_t width = 3072;

Argument argument_of(char kind, DType dtype, std::int64_t count) {
  const auto dense = [](DType of, const Shape& shape) {
    return Argument{.present = true, .dtype = of, .shape = shape, .row_stride = shape.back(), .packing = {}};
  };
  if (kind == 'r') return dense(dtype, {count, width});
  if (kind == 'g') return dense(DType::f32, {width});
  if (kind == 'l') return dense(DType::s32, {count});
  return dense(DType::f32, {1});
}

Call call_of(const Rows& rows, DType dtype, std::int64_t count, int threads) {
  Call call;
  call.operation = rows.operation;
  call.attributes.activation = Activation::silu;
  call.attributes.epsilon = 1e-5;
  for (const char kind : rows.inputs) call.inputs.push_back(argument_of(kind, dtype, count));
  for (const char kind : rows.outputs) call.outputs.push_back(argument_of(kind, dtype, count));
  call.threads = threads;
  return call;
}

Tensor numbers(const Argument& argument) {
  if (argument.dtype != DType::s32) return filled(argument.dtype, argument.shape);
  Tensor labels(DType::s32, argument.shape);
  std::fill_n(labels.as<std::int32_t>(), labels.count(), 7);
  return labels;
}

void run(benchmark::State& state, const Call& call, const Implementation& implementation, const MachineFacts& facts) {
  const Offer offer = implementation.prepare(call, facts);
  const auto& prepared = std::get<Prepared>(offer);
  std::vector<Tensor> tensors;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const Argument& argument : call.inputs) inputs.push_back(tensors.emplace_back(numbers(argument)).data());
  for (const Argument& argument : call.outputs)
    outputs.push_back(tensors.emplace_back(argument.dtype, argument.shape).data());
  Tensor workspace(DType::u8, {static_cast<std::int64_t>(prepared.workspace_bytes)});
  for (auto _ : state) prepared.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.data()});
  double bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<double>(tensor.bytes());
  state.counters["B/s"] = rate_of(bytes);
  state.counters["vectors/s"] = rate_of(static_cast<double>(element_count(call.in(0).shape)) / 16);
  state.SetLabel(prepared.description);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const MachineFacts facts = benchmark_machine(argc, argv);
  for (const Rows& rows : operations) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const std::int64_t count : row_counts) {
        const Call call = call_of(rows, dtype, count, facts.threads);
        for_implementations(call, facts, [&](const Implementation& implementation) {
          const std::string label = fmt::format("{}/{}/{}x{}", rows.operation->name, name(dtype), count, width);
          auto* registered = benchmark::RegisterBenchmark(label.c_str(), run, call, implementation, facts);
          if (call.threads > 1) registered->UseRealTime();
        });
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
