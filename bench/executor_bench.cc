// What the executor itself costs an operation: a GPT-2-sized program whose kernels do nothing.
#include <benchmark/benchmark.h>

#include <vector>

#include "model/architecture.h"
#include "model/presets.h"
#include "model/random_weights.h"
#include "runtime/plan.h"

namespace assay {
namespace {

Offer prepare_nothing(const Call&, const MachineFacts&) {
  Prepared prepared;
  prepared.kernel = make_kernel([](const Memory& memory) { benchmark::DoNotOptimize(memory.outputs.data()); });
  prepared.description = "nothing";
  return prepared;
}

const Backend& null_backend() {
  static const Implementation nothing[] = {{"nothing", prepare_nothing}};
  static const std::vector<OperationKernels> table = [] {
    std::vector<OperationKernels> rows;
    for (const Operation* operation : all_operations()) rows.push_back({operation, nothing});
    return rows;
  }();
  static const Backend backend{"null", "cpu", table};
  return backend;
}

void executor(benchmark::State& state) {
  ModelConfig config = find_preset("gpt2")->config;
  config.vocab_size = 64;
  config.d_model = 64;
  config.d_ff = 64;
  config.heads = config.kv_heads = 1;
  config.head_dim = 64;
  const Program program = build_program(config, {});
  const Weights weights = random_weights(program, config, 1);
  const MachineFacts facts;
  Instance instance(program, choose_precision("fp32", "", std::nullopt), weights, null_backend(), facts);
  Plan plan(instance, {.extent = {1, 8}});
  for (auto _ : state) plan.run();
  state.counters["per_operation"] =
      benchmark::Counter(static_cast<double>(plan.steps().size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(executor);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
