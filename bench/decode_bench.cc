// The products of one token of a language model, each by weights of its own, so that memory gives all of them: what
// decoding costs beside one large product, which is threads, rows of x made ready, and streams that begin anew.
//
//   decode_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// "read" is bytes of packed weights a second; NAME/memory is what fp32's bytes take at the bandwidth of reading at that
// moment, by all threads. With one thread the others' times are the processor's.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/team.h"
#include "hardware/bandwidth.h"
#include "product_bench.h"
#include "product_call.h"

namespace assay {
namespace {

/// Layers of four products, then a head, as smollm2-135m has them (biases, norms and attention left out).
struct TokenShape {
  const char* name;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t keys_and_values;
  std::int64_t hidden;
  std::int64_t vocabulary;

  std::vector<ProductShape> products() const {
    std::vector<ProductShape> all;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      all.insert(all.end(), {{1, width, width + 2 * keys_and_values}, {1, width, width}});
      all.insert(all.end(), {{1, width, 2 * hidden}, {1, hidden, width}});
    }
    all.push_back({1, width, vocabulary});
    return all;
  }
};
constexpr TokenShape token_shapes[] = {{"smollm2-135m", 30, 576, 192, 1536, 49152},
                                       {"wide", 4, 2048, 512, 5632, 32000}};

struct NamedKind {
  const char* name;
  Kind kind;
};
constexpr NamedKind kinds[] = {
    {"fp32", {&op::linear, DType::f32, DType::f32, nullptr}},
    {"bf16", {&op::linear, DType::bf16, DType::bf16, nullptr}},
    {"int8", {&op::quantized_linear, DType::s8, DType::s8, nullptr}},
    {"int8-weights", {&op::quantized_linear, DType::f32, DType::s8, nullptr}},
    {"int8-group", {&op::quantized_block_linear, DType::s8, DType::u8, &blocks::q8_0}},
    {"int4-weights", {&op::block_linear, DType::f32, DType::u8, &blocks::q4_0}},
    {"int4-weights-zp", {&op::block_linear, DType::f32, DType::u8, &blocks::int4z_g128}},
    {"int4-weights-k", {&op::block_linear, DType::f32, DType::u8, &blocks::q4_k}},
    {"int4", {&op::quantized_block_linear, DType::s8, DType::u8, &blocks::q4_0}},
};

/// A product with the kernel that the backend chooses.
struct ReadyProduct {
  Product product;
  Prepared prepared;
};

struct Token {
  std::deque<ReadyProduct> products;
  Slabs weights;
  double bytes = 0;
};

std::unique_ptr<Token> make_token(const Kind& kind, const TokenShape& shape, const MachineFacts& facts) {
  auto token = std::make_unique<Token>();
  for (const ProductShape& product : shape.products()) {
    ReadyProduct& last = token->products.emplace_back(ReadyProduct{Product(kind, product, facts.threads), {}});
    last.prepared = std::get<Prepared>(prepare(cpu_backend(), last.product.call(), facts));
    last.product.hand_over(last.prepared, token->weights);
    token->bytes += last.product.weight_bytes();
  }
  return token;
}

/// The last one is kept: the library calls a benchmark several times, and making it takes longer than its runs.
const Token& token_of(const NamedKind& kind, const TokenShape& shape, const MachineFacts& facts) {
  static std::pair<std::string, std::unique_ptr<Token>> held;
  const std::string name = fmt::format("{}/{}", shape.name, kind.name);
  if (held.first != name) {
    held.second.reset();
    held = {name, make_token(kind.kind, shape, facts)};
  }
  return *held.second;
}

void run(benchmark::State& state, const NamedKind& kind, const TokenShape& shape, const MachineFacts& facts) {
  const Token& token = token_of(kind, shape, facts);
  for (auto _ : state) {
    Team::gather(facts.threads, [&] {
      for (const ReadyProduct& one : token.products) one.prepared.kernel->run(one.product.memory());
    });
  }
  state.counters["read"] = rate_of(token.bytes);
  state.SetLabel(token.products.front().prepared.description);
}

/// A moment of measuring the bandwidth is an iteration.
void read_alone(benchmark::State& state, const TokenShape& shape, const MachineFacts& facts) {
  double bytes = 0;
  for (const ProductShape& product : shape.products())
    bytes += static_cast<double>(product.in * product.out) * sizeof(float);
  for (auto _ : state) state.SetIterationTime(bytes / (measure_read_bandwidth(facts).all_cores_gbs * 1e9));
  state.counters["read"] = rate_of(bytes);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const MachineFacts facts = benchmark_machine(argc, argv);
  for (const TokenShape& token : token_shapes) {
    for (const NamedKind& one : kinds) {
      auto* const added =
          benchmark::RegisterBenchmark(fmt::format("{}/{}", token.name, one.name).c_str(), run, one, token, facts);
      added->Unit(benchmark::kMillisecond);
      if (facts.threads > 1) added->UseRealTime();
    }
    auto* const memory =
        benchmark::RegisterBenchmark(fmt::format("{}/memory", token.name).c_str(), read_alone, token, facts);
    memory->Unit(benchmark::kMillisecond)->UseManualTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
