// Products by weights in blocks beside those by whole elements, every implementation of the cpu backend in turn:
//
//   block_linear_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// "read" is bytes of the packed weight a second, which bounds few rows where the weight is larger than the last cache;
// "Gop/s" counts a multiply-add as two.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "product_bench.h"
#include "product_call.h"

namespace assay {
namespace {

constexpr ProductShape shapes[] = {{1, 1024, 131072}, {4, 1024, 131072}, {128, 576, 1536}, {128, 1536, 576}};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {{&op::linear, DType::bf16, DType::bf16, nullptr},
                           {&op::quantized_linear, DType::bf16, DType::s8, nullptr},
                           {&op::quantized_linear, DType::s8, DType::s8, nullptr}};
  for (const BlockFormat* format :
       {&blocks::q4_0, &blocks::int4_g128, &blocks::int4z_g128, &blocks::q4_k, &blocks::q8_0, &blocks::q6_k}) {
    all.push_back({&op::block_linear, DType::bf16, DType::u8, format});
    all.push_back({&op::quantized_block_linear, DType::s8, DType::u8, format});
  }
  return all;
}

void run(benchmark::State& state, const Kind& kind, const ProductShape& s, const Implementation& implementation,
         const MachineFacts& facts) {
  Product product(kind, s, facts.threads);
  const Offer offer = implementation.prepare(product.call(), facts);
  const auto& prepared = std::get<Prepared>(offer);
  Slabs slabs;
  product.hand_over(prepared, slabs);
  time_product(state, prepared, static_cast<double>(s.rows * s.in * s.out),
               [&] { prepared.kernel->run(product.memory()); });
  state.counters["read"] = rate_of(product.weight_bytes());
}

void add_benchmarks(const Kind& kind, const ProductShape& s, const MachineFacts& facts) {
  ProductShape small = s;
  small.out = 32;
  const Product probe(kind, small, facts.threads);
  const char* const weight = kind.blocks != nullptr ? kind.blocks->name : name(kind.weight);
  for_implementations(probe.call(), facts, [&](const Implementation& implementation) {
    const std::string title =
        fmt::format("{}x{}x{}/{}*{}/{}", s.rows, s.in, s.out, name(kind.x), weight, implementation.name);
    benchmark::RegisterBenchmark(title.c_str(), run, kind, s, implementation, facts)->UseRealTime();
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const MachineFacts facts = benchmark_machine(argc, argv);
  for (const ProductShape& s : shapes) {
    for (const Kind& kind : kinds()) add_benchmarks(kind, s, facts);
  }
  benchmark::RunSpecifiedBenchmarks();
}
