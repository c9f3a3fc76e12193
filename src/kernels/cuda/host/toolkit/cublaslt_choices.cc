#include "kernels/cuda/host/toolkit/cublaslt_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "base/streams.h"
#include "kernels/choices.h"
#include "kernels/cuda/host/toolkit/gpu.h"

namespace assay::cuda {
namespace {

constexpr std::size_t words = std::extent_v<decltype(cublasLtMatmulAlgo_t::data)>;

/// What choices hold for.
std::string made_for() {
  MachineFacts facts;
  describe(facts);
  return fmt::format("{}, compute capability {}, driver {}, cuBLASLt {}", facts.gpu->name,
                     to_string(facts.gpu->capability), facts.gpu->driver_api, cublaslt().version());
}

KernelChoices& on_disk() {
  static KernelChoices choices = [] {
    KernelChoices opened("cublaslt", made_for());
    if (!opened.fault().empty()) tell(fmt::format("assay: {}; measured anew\n", opened.fault()));
    return opened;
  }();
  return choices;
}

std::map<std::string, Choice>& in_process() {
  static std::map<std::string, Choice> choices;
  return choices;
}

/// The library's opaque words, which may be stored and read again with the same library.
KernelChoice stored(const Choice& choice) {
  KernelChoice kept{{}, choice.how};
  for (const std::uint64_t word : choice.algorithm.algo.data) kept.words.push_back(word);
  return kept;
}

/// Nothing where the library refuses it: the file may be another hand's.
std::optional<Choice> restored(const KernelChoice& kept, const ProductShape& shape, const ProductLayouts& layouts) {
  if (kept.words.size() != words) return std::nullopt;
  cublasLtMatmulAlgo_t algorithm = {};
  std::copy(kept.words.begin(), kept.words.end(), algorithm.data);
  Choice choice{{}, kept.how + " in an earlier run"};
  const cublasStatus_t status =
      cublaslt().algo_check(cublaslt().handle, layouts.description.get(), layouts.a.get(), layouts.b.get(),
                            layouts.onto.get(), layouts.c.get(), &algorithm, &choice.algorithm);
  if (status != CUBLAS_STATUS_SUCCESS || choice.algorithm.workspaceSize > most_workspace) return std::nullopt;
  choice.algorithm.algo = algorithm;
  if (!is_allowed(shape, algorithm)) return std::nullopt;
  return choice;
}

}  // namespace

std::optional<Choice> kept_choice(const ProductShape& shape, const ProductLayouts& layouts) {
  const std::string key = shape.key();
  if (const auto known = in_process().find(key); known != in_process().end()) return known->second;
  const KernelChoice* kept = on_disk().find(key);
  if (kept == nullptr) return std::nullopt;
  const std::optional<Choice> choice = restored(*kept, shape, layouts);
  if (choice) in_process()[key] = *choice;
  return choice;
}

void keep_choice(const ProductShape& shape, const Choice& choice) {
  in_process()[shape.key()] = choice;
  on_disk().keep(shape.key(), stored(choice));
}

}  // namespace assay::cuda
