#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/memory/request.h"

namespace assay {

/// What a byte is for. Together they are the whole predicted peak.
enum class Held : std::uint8_t {
  weights,             ///< As the precision stores them; mixed-*: f32.
  packed,              ///< Copies in another layout or dtype, the padding of layouts and of the pages that they lie in.
  gradients,           ///< Of parameters.
  optimizer,           ///< Moments.
  cache,               ///< Keys and values of generation.
  saved_for_backward,  ///< Values written by the forward and read by the backward, at the peak.
  temporaries,         ///< Other values of the arena, at the peak.
  workspace,           ///< Scratch of kernels: the largest.
  gaps,                ///< What the arena is larger than what ever lives in it at once.
};
constexpr std::size_t held_kinds = 9;
const char* name(Held held);
using HeldBytes = std::array<std::int64_t, held_kinds>;

/// One step of a plan.
struct MemoryMoment {
  std::string phase;  ///< "forward", "backward", "optimizer"
  std::string operation;
  std::string path;
  std::int64_t live_bytes = 0;   ///< Values of the arena that are needed now.
  std::int64_t saved_bytes = 0;  ///< Of them, those that the forward wrote and the backward reads.
  std::int64_t workspace_bytes = 0;
};

/// Bytes that share a name: a block, a kind of operation.
struct NamedBytes {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t values = 0;
};

struct Allocation {
  std::string name;       ///< Of the value: "layers.0.mlp.up", "lm_head.weight".
  std::string operation;  ///< That makes it; "parameter", "gradient", "moment", "workspace of linear".
  std::string path;
  std::int64_t bytes = 0;
};

/// A run in a process of its own.
struct MeasuredPeak {
  std::int64_t resident_bytes = 0;  ///< The most, from the start of the process on.
  std::int64_t program_bytes = 0;   ///< Resident before the model was opened: program and libraries.
  /// Predicted over what the model added.
  double agreement(std::int64_t predicted_bytes) const;
};

enum class Fits : std::uint8_t { yes, no, unsupported };

/// One model, precision, sequence length and recomputation.
struct MemoryCell {
  std::string model;
  std::int64_t parameters = 0;
  std::string precision;
  Extent extent;
  Recompute recompute = Recompute::none;
  TrainingStorage storage;
  Fits fits = Fits::yes;
  std::string reason;  ///< Where it does not fit or is unsupported.
  HeldBytes held{};
  std::int64_t total_bytes = 0;    ///< While it runs: the sum of `held`.
  std::int64_t loading_bytes = 0;  ///< The most while weights are read, cast and packed.
  std::int64_t arena_bytes = 0;    ///< Buffers of the plans, workspace included.
  /// Of the residual stream: (B, T, d_model), as the embedding writes it; of generation that of a piece of the prompt.
  std::int64_t residual_bytes = 0;
  std::vector<MemoryMoment> timeline;
  std::int64_t saved_bytes = 0;  ///< When the forward ends.
  std::vector<NamedBytes> saved_by_block;
  std::vector<NamedBytes> saved_by_operation;  ///< Most first.
  Allocation largest;
  std::optional<MeasuredPeak> measured;
  std::string fault;  ///< Why it was not measured.

  /// Its precision, and how a training stores the rest: "fp32 (states 8bit)".
  std::string row() const;
  std::int64_t peak_bytes() const { return total_bytes > loading_bytes ? total_bytes : loading_bytes; }
  /// What stays for the whole step: weights, copies, gradients, optimizer, cache.
  std::int64_t persistent_bytes() const;
  /// What no layout goes below: weights, gradients, optimizer, cache, and what the forward leaves for the backward.
  std::int64_t floor_bytes() const;
};

struct MemoryStudy {
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t active_parameters = 0;  ///< That a token meets: all but those of other experts.
  RunMode mode = RunMode::infer;
  std::int64_t available_bytes = 0;
  std::vector<MemoryCell> cells;  ///< By model, sequence length, precision, recomputation, as asked.

  /// Whether cells differ in their model.
  bool has_models() const { return !cells.empty() && cells.front().model != cells.back().model; }
};

/// Every cell predicted from layouts, no weight read and no buffer allocated; with Measure::yes those that fit then run
/// one after another in processes of their own. Throws user errors for what does not exist before anything else.
MemoryStudy memory_study(const MemoryRequest& request, const MachineFacts& facts, const MemoryProgress& progress = {});

/// One cell, predicted.
MemoryCell predict_memory(const Model& model, const PrecisionChoice& precision, const MemoryCell& blank,
                          const MemoryRequest& request, const MachineFacts& facts);

}  // namespace assay
