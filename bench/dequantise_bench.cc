// Expansion of GGUF blocks to f32, every type: gigabytes of f32 written a second, and of blocks read.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "formats/ggml_type.h"

namespace assay {
namespace {

constexpr std::size_t elements = std::size_t{1} << 22;

void expand_type(benchmark::State& state, const GgmlLayout& layout) {
  Random random(1, 0);
  std::vector<std::byte> blocks(elements / layout.block_elements * layout.block_bytes);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.below(100));
  std::vector<float> out(elements);
  for (auto _ : state) {
    dequantise(layout.type, blocks, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<std::int64_t>(state.iterations());
  state.SetBytesProcessed(runs * static_cast<std::int64_t>(elements * sizeof(float)));
  state.counters["blocks"] = benchmark::Counter(static_cast<double>(runs) * static_cast<double>(blocks.size()),
                                                benchmark::Counter::kIsRate, benchmark::Counter::kIs1024);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  for (std::uint32_t number = 0; number < 64; ++number) {
    const assay::GgmlLayout* layout = assay::find_ggml_layout(number);
    if (layout != nullptr) benchmark::RegisterBenchmark(layout->name, assay::expand_type, *layout)->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
