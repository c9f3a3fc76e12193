// The optimizers' passes over memory, in bytes a second:
//
//   optimizer_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//
// Compare with the read bandwidth and the mixed one (bytes read and written of x += y) that stand in the first rows:
// AdamW reads four numbers for each weight and writes three. .../list are the parameters of four layers of GPT-2 in one
// call, .../each the same ones in a call each: what a step costs beside its memory.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/threads.h"
#include "hardware/machine.h"
#include "kernels/kernel.h"
#include "kernels/one_by_one.h"
#include "program/update_list.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

constexpr std::int64_t weights = std::int64_t{1} << 24;  ///< 64 MiB in f32: far beyond the caches

Argument vector_of(DType dtype, std::int64_t count) {
  return {.present = true, .constant = false, .dtype = dtype, .shape = {count}, .row_stride = count, .packing = {}};
}

std::vector<std::int64_t> layers_of_gpt2() {
  constexpr std::int64_t d = 768;
  std::vector<std::int64_t> counts;
  for (int layer = 0; layer < 4; ++layer)
    counts.insert(counts.end(), {d, d, 3 * d * d, 3 * d, d * d, d, d, d, 4 * d * d, 4 * d, 4 * d * d, d});
  return counts;
}

enum class Calls : std::uint8_t { one, each };

struct Setting {
  const Operation* operation = nullptr;
  DType dtype = DType::f32;
  std::vector<std::int64_t> counts = {weights};
  Calls calls = Calls::one;
  std::optional<DType> moments = std::nullopt;  ///< Absent: as the weights; bf16 ones are rounded at random.
};

/// The inputs' memory; outputs take the place of the inputs that they write over.
struct Problem {
  Call call;
  std::vector<Tensor> memory;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

void add_input(Problem& problem, const Argument& argument) {
  problem.call.inputs.push_back(argument);
  Tensor& memory = problem.memory.emplace_back(argument.dtype, argument.shape);
  std::memset(memory.data(), 0, memory.bytes());
  problem.inputs.push_back(memory.data());
}

void add_output(Problem& problem, std::size_t over) {
  problem.call.outputs.push_back(problem.call.in(over));
  problem.outputs.push_back(problem.memory[over].data());
}

constexpr std::int64_t block = 256;  ///< Of moments in codes.

/// Weight, gradient, moments; of codes in blocks their scales.
std::vector<Argument> operands_of(const Setting& setting, std::int64_t count) {
  const Argument number = vector_of(setting.dtype, count);
  if (setting.operation == &op::block_adamw) {
    const Argument codes = vector_of(DType::u8, count);
    const Argument scales = vector_of(DType::f32, (count + block - 1) / block);
    return {number, number, codes, codes, scales, scales};
  }
  const Argument moment = vector_of(setting.moments.value_or(setting.dtype), count);
  if (setting.operation == &op::adamw) return {number, number, moment, moment};
  return {number, number, moment};
}

void add_updates(Problem& problem, const Setting& setting) {
  for (const std::int64_t count : setting.counts) {
    const std::size_t first = problem.inputs.size();
    const std::vector<Argument> operands = operands_of(setting, count);
    for (const Argument& operand : operands) add_input(problem, operand);
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) add_output(problem, first + UpdateList::input_of(i));
  }
  add_input(problem, vector_of(DType::f32, 4));
  const float hyper[] = {1e-4F, 0.1F, 0.05F, 1.0F};
  std::memcpy(problem.memory.back().data(), hyper, sizeof(hyper));
  add_input(problem, vector_of(DType::s32, 2));
}

Problem make_problem(const Setting& setting, int threads) {
  Problem problem;
  Call& call = problem.call;
  call.operation = setting.operation;
  call.attributes.epsilon = 1e-8;
  call.attributes.beta1 = 0.9;
  call.attributes.beta2 = 0.95;
  call.attributes.weight_decay = 0.1;
  call.attributes.rounding = setting.dtype == DType::bf16 ? Rounding::stochastic : Rounding::nearest;
  if (setting.moments == DType::bf16) call.attributes.state_rounding = Rounding::stochastic;
  if (setting.operation == &op::block_adamw) call.attributes.width = block;
  call.threads = threads;
  if (updates_list(*setting.operation)) {
    add_updates(problem, setting);
  } else {
    for (const std::int64_t count : setting.counts) add_input(problem, vector_of(setting.dtype, count));
    if (setting.operation == &op::add) add_input(problem, vector_of(setting.dtype, weights));
    add_output(problem, 0);
    if (setting.operation == &op::l2_norm)
      call.outputs = {vector_of(DType::f32, static_cast<std::int64_t>(setting.counts.size()))};
  }
  return problem;
}

std::int64_t bytes_moved(const Call& call) {
  std::int64_t bytes = 0;
  for (const Argument& a : call.inputs) bytes += element_count(a.shape) * static_cast<std::int64_t>(size_of(a.dtype));
  for (const Argument& a : call.outputs) bytes += element_count(a.shape) * static_cast<std::int64_t>(size_of(a.dtype));
  return bytes;
}

/// A kernel and where it finds its operands.
struct Ready {
  Prepared prepared;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

Ready make_ready(const Call& call, const MachineFacts& facts, std::vector<const std::byte*> inputs,
                 std::vector<std::byte*> outputs) {
  Offer offer = prepare(cpu_backend(), call, facts);
  return {std::move(std::get<Prepared>(offer)), std::move(inputs), std::move(outputs)};
}

std::vector<Ready> ready_kernels(const Problem& problem, const Setting& setting, const MachineFacts& facts) {
  std::vector<Ready> ready;
  if (setting.calls == Calls::one) {
    ready.push_back(make_ready(problem.call, facts, problem.inputs, problem.outputs));
    return ready;
  }
  const UpdateList list = update_list(*setting.operation, problem.inputs.size());
  for (std::size_t k = 0; k < list.parameters; ++k) {
    const auto* in = problem.inputs.data() + list.input(k, 0);
    const auto* out = problem.outputs.data() + list.output(k, 0);
    std::vector<const std::byte*> inputs(in, in + list.inputs_each);
    inputs.insert(inputs.end(), {problem.inputs[list.hyper()], problem.inputs[list.seed()]});
    ready.push_back(make_ready(listed_call(problem.call, k), facts, inputs, {out, out + list.outputs_each}));
  }
  return ready;
}

void run(benchmark::State& state, const Setting& setting, const MachineFacts& facts) {
  const Problem problem = make_problem(setting, facts.threads);
  const std::vector<Ready> ready = ready_kernels(problem, setting, facts);
  std::size_t workspace_bytes = 0;
  for (const Ready& one : ready) workspace_bytes = std::max(workspace_bytes, one.prepared.workspace_bytes);
  const AlignedBytes workspace = allocate_aligned(workspace_bytes);
  for (auto _ : state) {
    for (const Ready& one : ready) one.prepared.kernel->run({one.inputs, one.outputs, workspace.get()});
  }
  benchmark::DoNotOptimize(problem.memory.front().data());
  state.SetBytesProcessed(state.iterations() * bytes_moved(problem.call));
  state.SetLabel(ready.front().prepared.description);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  benchmark::Initialize(&argc, argv);
  const MachineFacts facts = read_machine_facts();
  set_threads(facts.threads);
  const auto add = [&](const std::string& label, const Setting& setting) {
    benchmark::RegisterBenchmark(label.c_str(), run, setting, facts)->UseRealTime();
  };
  for (const Operation* operation : {&op::l2_norm, &op::add, &op::adamw, &op::block_adamw, &op::sgd}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string label = fmt::format("{}/{}", operation->name, name(dtype));
      add(label, {operation, dtype});
      if (!updates_list(*operation)) continue;
      add(label + "/list", {operation, dtype, layers_of_gpt2(), Calls::one});
      add(label + "/each", {operation, dtype, layers_of_gpt2(), Calls::each});
    }
  }
  add("adamw/f32/moments bf16", {.operation = &op::adamw, .moments = DType::bf16});
  benchmark::RunSpecifiedBenchmarks();
}
