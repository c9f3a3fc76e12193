// Text to ids and back, on one core: bytes of text a second. Run as tokenizer_bench TEXT TOKENIZER..., each tokenizer
// a folder, a tokenizer.json or a .gguf file.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "text/tokenizer.h"

namespace assay {
namespace {

void count_text(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}

void encode_text(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text).data());
  count_text(state, text);
}

void decode_ids(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids).data());
  count_text(state, text);
}

void run(int argc, char** argv) {
  if (argc < 3) fail_user("tokenizer_bench TEXT TOKENIZER...: a text and a tokenizer are needed");
  const std::string text = read_file(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const auto tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(argv[i]));
    benchmark::RegisterBenchmark(fmt::format("encode {}", argv[i]).c_str(),
                                 [=](auto& state) { encode_text(state, *tokenizer, text); });
    benchmark::RegisterBenchmark(fmt::format("decode {}", argv[i]).c_str(),
                                 [=](auto& state) { decode_ids(state, *tokenizer, text); });
  }
  benchmark::RunSpecifiedBenchmarks();
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  try {
    assay::run(argc, argv);
  } catch (const assay::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
