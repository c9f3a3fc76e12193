// Attention and norms, every implementation of the cpu backend in turn (but for the reference loops):
//
//   attention_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// Attention counts 10^9 operations a second of its two products, half of them where it is causal; that of T tokens
// over a cache of 2,048 counts all that they see. Norms count 10^9 bytes a second, read and written once. With one
// thread they count processor time.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/random.h"
#include "base/threads.h"
#include "hardware/machine.h"
#include "kernels/kernel.h"

namespace assay {
namespace {

Argument window(DType dtype, Shape shape, std::int64_t row_stride) {
  return {.present = true, .dtype = dtype, .shape = std::move(shape), .row_stride = row_stride, .packing = {}};
}

Tensor tensor_for(const Argument& argument, std::int32_t integer) {
  if (argument.dtype == DType::s32) {
    Tensor all(DType::s32, argument.shape);
    std::fill_n(all.as<std::int32_t>(), all.count(), integer);
    return all;
  }
  Tensor values(DType::f32, {argument.rows() * argument.row_stride});
  Random random(1);
  for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] = static_cast<float>(random.next_normal());
  return converted(values.view(), argument.dtype);
}

/// A call with memory for everything in it.
struct Problem {
  Call call;
  double work = 0;  ///< operations or bytes
  std::int32_t value_of_integers = 0;
};

Problem attention_problem(DType dtype, std::int64_t seq, std::int64_t causal) {
  const std::int64_t heads = 12;
  const std::int64_t head_dim = 64;
  const std::int64_t width = heads * head_dim;
  Problem problem;
  problem.call.operation = &op::attention;
  problem.call.attributes = {
      .heads = heads, .kv_heads = heads, .head_dim = head_dim, .scale = 0.125, .causal = causal != 0};
  for (int i = 0; i < 3; ++i) problem.call.inputs.push_back(window(dtype, {1, seq, width}, 3 * width));
  problem.call.outputs.push_back(window(dtype, {1, seq, width}, width));
  problem.work = 4.0 * static_cast<double>(seq * seq * width) / (causal != 0 ? 2 : 1);
  return problem;
}

/// smollm2-135m's heads.
Problem cached_problem(DType dtype, std::int64_t seq) {
  constexpr std::int64_t depth = 2048;
  constexpr std::int64_t heads = 9;
  constexpr std::int64_t kv_heads = 3;
  constexpr std::int64_t head_dim = 64;
  Problem problem;
  problem.call.operation = &op::cached_attention;
  problem.call.attributes = {
      .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .scale = 0.125, .causal = true};
  const Argument cache = window(dtype, {1, depth + seq, kv_heads * head_dim}, kv_heads * head_dim);
  const Argument queries = window(dtype, {1, seq, heads * head_dim}, heads * head_dim);
  problem.call.inputs = {queries, cache, cache, {}, window(DType::s32, {1}, 1), {}, {}, {}};
  problem.call.outputs = {queries};
  problem.value_of_integers = depth;
  problem.work = 4.0 * static_cast<double>(seq * (depth + seq / 2) * heads * head_dim);
  return problem;
}

Problem norm_problem(const Operation& operation, DType dtype) {
  const Shape shape = {128, 768};
  Problem problem;
  problem.call.operation = &operation;
  problem.call.attributes = {.epsilon = 1e-5, .activation = Activation::gelu_erf};
  const std::size_t tensors = &operation == &op::add_layer_norm ? 2 : 1;
  const bool norm = &operation != &op::activation;
  for (std::size_t i = 0; i < tensors; ++i) problem.call.inputs.push_back(window(dtype, shape, 768));
  for (int i = 0; norm && i < 2; ++i) problem.call.inputs.push_back(window(DType::f32, {768}, 768));
  for (std::size_t i = 0; i < tensors; ++i) problem.call.outputs.push_back(window(dtype, shape, 768));
  problem.work = static_cast<double>(2 * tensors * 128 * 768 * size_of(dtype));
  return problem;
}

void run(benchmark::State& state, const Problem& problem, const Implementation& implementation,
         const MachineFacts& facts) {
  const Offer offer = implementation.prepare(problem.call, facts);
  const auto& prepared = std::get<Prepared>(offer);
  std::vector<Tensor> tensors;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  const auto place = [&](const Argument& argument) {
    tensors.push_back(argument.present ? tensor_for(argument, problem.value_of_integers) : Tensor());
    return tensors.back().data();
  };
  for (const Argument& input : problem.call.inputs) inputs.push_back(place(input));
  for (const Argument& output : problem.call.outputs) outputs.push_back(place(output));
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  for (auto _ : state) prepared.kernel->run({inputs, outputs, workspace.get()});
  state.counters["G/s"] = benchmark::Counter(problem.work * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(prepared.description);
}

void add_benchmarks(const std::string& what, const Problem& problem, const MachineFacts& facts) {
  for (const OperationKernels& kernels : cpu_backend().table) {
    if (kernels.operation != problem.call.operation) continue;
    for (const Implementation& one : kernels.implementations.first(kernels.implementations.size() - 1)) {
      if (std::holds_alternative<Declined>(one.prepare(problem.call, facts))) continue;
      const std::string label = fmt::format("{}/{}", what, one.name);
      auto* added = benchmark::RegisterBenchmark(
          label.c_str(), [problem, one, &facts](benchmark::State& state) { run(state, problem, one, facts); });
      if (facts.threads > 1) added->UseRealTime();
    }
  }
}

void add_all(const MachineFacts& facts) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t seq : {128, 1024}) {
      for (const std::int64_t causal : {0, 1}) {
        Problem problem = attention_problem(dtype, seq, causal);
        problem.call.threads = facts.threads;
        add_benchmarks(fmt::format("attention{} {} T={}", causal != 0 ? " causal" : "", name(dtype), seq), problem,
                       facts);
      }
    }
    for (const std::int64_t seq : {1, 4, 8, 16, 64, 512}) {
      Problem problem = cached_problem(dtype, seq);
      problem.call.threads = facts.threads;
      add_benchmarks(fmt::format("attention over a cache {} T={}", name(dtype), seq), problem, facts);
    }
    for (const Operation* operation : {&op::layer_norm, &op::add_layer_norm, &op::activation}) {
      Problem problem = norm_problem(*operation, dtype);
      problem.call.threads = facts.threads;
      add_benchmarks(fmt::format("{} {} 128x768", operation->name, name(dtype)), problem, facts);
    }
  }
}

int threads_option(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (!option.starts_with("--threads=")) continue;
    std::rotate(argv + i, argv + i + 1, argv + argc);
    --argc;
    return std::atoi(option.substr(10).data());
  }
  return 1;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const int threads = assay::threads_option(argc, argv);
  static const assay::MachineFacts facts = assay::read_machine_facts({.max_isa = "", .threads = threads, .root = "/"});
  assay::set_threads(threads);
  assay::add_all(facts);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
