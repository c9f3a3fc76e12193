#pragma once

// For the benchmarks of matrix products.

#include <benchmark/benchmark.h>

#include <string_view>
#include <variant>

#include "base/threads.h"
#include "hardware/machine.h"
#include "kernels/kernel.h"
#include "threads_option.h"

namespace assay {

/// Reads what the benchmark's own options say; the machine with so many threads as they ask for.
inline MachineFacts benchmark_machine(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  MachineFacts facts = read_machine_facts({.max_isa = {}, .threads = wanted_threads(argc, argv), .root = "/"});
  set_threads(facts.threads);
  return facts;
}

/// Calls `add` with every implementation of the cpu backend that takes the call, but the reference loops.
template <typename Add>
void for_implementations(const Call& call, const MachineFacts& facts, const Add& add) {
  for (const OperationKernels& kernels : cpu_backend().table) {
    if (kernels.operation != call.operation) continue;
    for (const Implementation& implementation : kernels.implementations) {
      if (std::string_view(implementation.name) == "reference loops") continue;
      if (std::holds_alternative<Prepared>(implementation.prepare(call, facts))) add(implementation);
    }
  }
}

/// `amount` an iteration, as an amount a second.
inline benchmark::Counter rate_of(double amount) {
  return {amount, benchmark::Counter::kIsIterationInvariantRate};
}

/// Times `product`, a run of the kernel, which multiplies and adds `multiply_adds` times.
template <typename Product>
void time_product(benchmark::State& state, const Prepared& prepared, double multiply_adds, const Product& product) {
  for (auto _ : state) product();
  state.counters["Gop/s"] = rate_of(2e-9 * multiply_adds);
  state.SetLabel(prepared.description);
}

}  // namespace assay
