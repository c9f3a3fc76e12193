// Products by weights in blocks beside those by whole elements, every implementation of the cpu backend in turn:
//
//   block_linear_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5 [--threads=N]
//
// "read" is bytes of the packed weight a second, which bounds few rows where the weight is larger than the last cache;
// "Gop/s" counts a multiply-add as two.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "product_bench.h"
#include "tensor/make_blocks.h"
#include "tensor/slabs.h"

namespace assay {
namespace {

struct ProductShape {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};
constexpr ProductShape shapes[] = {{1, 1024, 131072}, {4, 1024, 131072}, {128, 576, 1536}, {128, 1536, 576}};

/// Of what the weight is, and what multiplies it.
struct Kind {
  const Operation* operation;
  DType x;
  DType weight;
  const BlockFormat* blocks;
};

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

/// A call with its tensors; blocks are bytes at random with scales of one size.
class Product {
 public:
  Product(const Kind& kind, const ProductShape& s, int threads) {
    call_.operation = kind.operation;
    call_.attributes.blocks = kind.blocks;
    call_.threads = threads;
    const bool has_scales = kind.operation != &op::linear && kind.operation != &op::block_linear;
    add(kind.x, {s.rows, s.in});
    if (has_scales && kind.x == DType::s8)
      add(DType::f32, kind.blocks != nullptr ? Shape{s.rows, activation_groups(s.in)} : Shape{s.rows});
    if (has_scales && kind.x != DType::s8) add_absent();
    weight_ = call_.inputs.size();
    add(kind.weight, {s.out, kind.blocks != nullptr ? kind.blocks->bytes_of(s.in) : s.in});
    if (kind.operation == &op::quantized_linear) add(DType::f32, {s.out});
    for (std::size_t i = weight_; i < call_.inputs.size(); ++i) call_.inputs[i].constant = true;
    add_absent();
    y_ = Tensor(DType::bf16, {s.rows, s.out});
    call_.outputs = {
        {.present = true, .dtype = DType::bf16, .shape = {s.rows, s.out}, .row_stride = s.out, .packing = {}}};
  }
  const Call& call() const { return call_; }

  void hand_over(const Prepared& prepared) {
    const Packing& packing = prepared.packing[weight_];
    const Shape& shape = call_.inputs[weight_].shape;
    packed_ = packed_bytes(packing, shape[0], shape[1]);
    std::byte* const to = slabs_.take(packed_);
    pack(tensors_[weight_].view(), packing, to);
    data_[weight_] = to;
    tensors_[weight_] = Tensor();
    workspace_ = allocate_aligned(std::max<std::size_t>(prepared.workspace_bytes, 64));
  }
  void run(const Prepared& prepared) {
    std::byte* outputs[] = {y_.data()};
    prepared.kernel->run({.inputs = data_, .outputs = outputs, .workspace = workspace_.get()});
  }
  double weight_bytes() const { return static_cast<double>(packed_); }

 private:
  void add(DType dtype, const Shape& shape) {
    Tensor& tensor = tensors_.emplace_back(dtype, shape);
    for (std::size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>((i * 7 + i / 64) % 48);
    call_.inputs.push_back(
        {.present = true, .dtype = dtype, .shape = shape, .row_stride = shape.back(), .packing = {}});
    data_.push_back(tensor.data());
  }
  void add_absent() {
    tensors_.emplace_back();
    call_.inputs.emplace_back();
    data_.push_back(nullptr);
  }

  Call call_;
  std::size_t weight_ = 1;
  std::vector<Tensor> tensors_;
  std::vector<const std::byte*> data_;
  Slabs slabs_;
  std::size_t packed_ = 0;
  AlignedBytes workspace_;
  Tensor y_;
};

void run(benchmark::State& state, const Kind& kind, const ProductShape& s, const Implementation& implementation,
         const MachineFacts& facts) {
  Product product(kind, s, facts.threads);
  const Offer offer = implementation.prepare(product.call(), facts);
  const auto& prepared = std::get<Prepared>(offer);
  product.hand_over(prepared);
  time_product(state, prepared, static_cast<double>(s.rows * s.in * s.out), [&] { product.run(prepared); });
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
