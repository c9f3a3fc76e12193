// Matrix products of the shapes that transformers have, every implementation of the cpu backend in turn:
//
//   linear_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// One counter is in 10^9 operations a second, a multiply-add counted as two, the other in 10^9 bytes of weights a
// second: what binds few rows. The widest shapes are heads whose weights no cache holds. With one thread both count
// processor time, which stays meaningful on a machine that others use too.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "kernels/cpu/linear_testing.h"
#include "kernels/kernel.h"
#include "product_bench.h"

namespace assay {
namespace {

using cpu::testing::LinearCase;
using cpu::testing::LinearProblem;

struct MatmulShape {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};
constexpr MatmulShape shapes[] = {{128, 768, 768},  {128, 768, 3072},  {128, 3072, 768}, {1024, 768, 3072},
                                  {128, 576, 1536}, {128, 768, 50257}, {1, 768, 3072},   {1, 2048, 16384},
                                  {2, 2048, 16384}, {4, 2048, 16384}};

struct Dtypes {
  DType x;
  DType weight;
  DType y;
};
constexpr Dtypes dtypes[] = {{DType::f32, DType::f32, DType::f32},  {DType::bf16, DType::bf16, DType::bf16},
                             {DType::f16, DType::f16, DType::f16},  {DType::s8, DType::s8, DType::bf16},
                             {DType::bf16, DType::s8, DType::bf16}, {DType::f32, DType::s8, DType::f32}};

void run(benchmark::State& state, const LinearCase& c, const Implementation& implementation,
         const MachineFacts& facts) {
  LinearProblem problem(c);
  const Offer offer = implementation.prepare(problem.call(), facts);
  const auto& prepared = std::get<Prepared>(offer);
  problem.hand_over(prepared);
  time_product(state, prepared, static_cast<double>(c.rows * c.in * c.out), [&] { problem.run(prepared); });
  const double bytes = static_cast<double>(c.in * c.out) * static_cast<double>(size_of(c.weight));
  state.counters["GB/s"] = rate_of(bytes * 1e-9);
}

void add_benchmarks(const LinearCase& c, const MachineFacts& facts) {
  // Whether an implementation takes the call depends on whether rows are few, and not on how wide it is: a small one
  // asks.
  LinearCase small = c;
  small.in = small.out = 64;
  const LinearProblem probe(small);
  for_implementations(probe.call(), facts, [&](const Implementation& implementation) {
    const std::string title =
        fmt::format("{}x{}x{}/{}*{}/{}", c.rows, c.in, c.out, name(c.x), name(c.weight), implementation.name);
    auto* registered = benchmark::RegisterBenchmark(title.c_str(), run, c, implementation, facts);
    if (c.threads > 1) registered->UseRealTime();
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const MachineFacts facts = benchmark_machine(argc, argv);
  for (const auto& d : dtypes) {
    for (const auto& shape : shapes) {
      LinearCase c;
      c.rows = shape.rows;
      c.in = shape.in;
      c.out = shape.out;
      c.x = d.x;
      c.weight = d.weight;
      c.y = d.y;
      c.threads = facts.threads;
      add_benchmarks(c, facts);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
