// The optimizers' passes over memory, in bytes a second:
//
//   optimizer_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//
// Compare with the read bandwidth and the mixed one (bytes read and written of x += y) that stand in the first rows:
// AdamW reads four numbers for each weight and writes three.

#include <benchmark/benchmark.h>

#include <cstring>

#include "base/error.h"
#include "base/threads.h"
#include "hardware/machine.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

constexpr std::int64_t weights = std::int64_t{1} << 24;  ///< 64 MiB in f32: far beyond the caches

Argument vector_of(DType dtype, std::int64_t count) {
  return {.present = true, .constant = false, .dtype = dtype, .shape = {count}, .row_stride = count, .packing = {}};
}

/// The inputs' memory; outputs take the place of the inputs that they write over.
struct Problem {
  Call call;
  std::vector<Tensor> inputs;
  std::vector<std::size_t> over;  ///< of each output: which input
};

Problem make_problem(const Operation& operation, DType dtype, int threads) {
  Problem problem;
  Call& call = problem.call;
  call.operation = &operation;
  call.attributes.epsilon = 1e-8;
  call.attributes.beta1 = 0.9;
  call.attributes.beta2 = 0.95;
  call.attributes.weight_decay = 0.1;
  call.attributes.rounding = dtype == DType::bf16 ? Rounding::stochastic : Rounding::nearest;
  call.threads = threads;
  const int tensors = &operation == &op::adamw ? 4 : &operation == &op::sgd ? 3 : &operation == &op::add ? 2 : 1;
  for (int i = 0; i < tensors; ++i) call.inputs.push_back(vector_of(dtype, weights));
  if (tensors > 2) {
    call.inputs.push_back(vector_of(DType::f32, 4));
    call.inputs.push_back(vector_of(DType::s32, 2));
  }
  problem.over = {0};
  if (tensors > 2) problem.over.push_back(2);
  if (tensors > 3) problem.over.push_back(3);
  for (const std::size_t input : problem.over) call.outputs.push_back(call.in(input));
  if (tensors == 1) call.outputs = {vector_of(DType::f32, 1)};
  for (const Argument& input : call.inputs) {
    problem.inputs.emplace_back(input.dtype, input.shape);
    std::memset(problem.inputs.back().data(), 0, problem.inputs.back().bytes());
  }
  if (tensors > 2) {
    const float hyper[] = {1e-4F, 0.1F, 0.05F, 1.0F};
    std::memcpy(problem.inputs[static_cast<std::size_t>(tensors)].data(), hyper, sizeof(hyper));
  }
  return problem;
}

std::int64_t bytes_moved(const Call& call) {
  std::int64_t bytes = 0;
  for (const Argument& a : call.inputs) bytes += element_count(a.shape) * static_cast<std::int64_t>(size_of(a.dtype));
  for (const Argument& a : call.outputs) bytes += element_count(a.shape) * static_cast<std::int64_t>(size_of(a.dtype));
  return bytes;
}

void run(benchmark::State& state, const Operation* operation, DType dtype, const MachineFacts& facts) {
  Problem problem = make_problem(*operation, dtype, facts.threads);
  const Offer offer = prepare(cpu_backend(), problem.call, facts);
  const auto& prepared = std::get<Prepared>(offer);
  std::vector<const std::byte*> inputs;
  for (Tensor& input : problem.inputs) inputs.push_back(input.data());
  float norm = 0;
  std::vector<std::byte*> outputs;
  for (const std::size_t input : problem.over) outputs.push_back(problem.inputs[input].data());
  if (operation == &op::l2_norm) outputs = {reinterpret_cast<std::byte*>(&norm)};
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  for (auto _ : state) prepared.kernel->run({inputs, outputs, workspace.get()});
  benchmark::DoNotOptimize(norm);
  state.SetBytesProcessed(state.iterations() * bytes_moved(problem.call));
  state.SetLabel(prepared.description);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  benchmark::Initialize(&argc, argv);
  const MachineFacts facts = read_machine_facts();
  set_threads(facts.threads);
  for (const Operation* operation : {&op::l2_norm, &op::add, &op::adamw, &op::sgd}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string label = fmt::format("{}/{}", operation->name, name(dtype));
      benchmark::RegisterBenchmark(label.c_str(), run, operation, dtype, facts)->UseRealTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
