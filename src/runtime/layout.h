#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/state.h"

namespace assay {

class Plan;

/// Whether what a device is to do again and again is recorded and queued as a whole (a CUDA graph). The host knows no
/// such thing.
enum class Graphs : std::uint8_t { off, on };

/// Whether an attention mask is given with the ids; without one every position is real.
enum class AttentionMask : std::uint8_t { absent, given };

struct PlanOptions {
  Extent extent = {};
  AttentionMask mask = AttentionMask::absent;
  std::vector<std::string> outputs = {"logits"};  ///< Which of the program's outputs are wanted.
  const Plan* arena_of = nullptr;                 ///< Its arena is used where it is large enough; outlives the plan.
  State* state = nullptr;                         ///< Where programs with state have it; outlives the plan.
  Graphs graphs = Graphs::on;
  /// Memory that the plan may take: its buffers and state, and the weights that its instance does not hold yet. Absent:
  /// what the machine had available, less what instance and state hold.
  std::optional<std::int64_t> free_bytes = std::nullopt;
};

/// Where a value lies while a plan runs.
struct Placement {
  std::int64_t offset = -1;  ///< Bytes from the arena's start, or from the state tensor's; -1: nowhere.
  ValueId state = no_value;  ///< The state value in whose memory it lies; no_value: in the arena.
  std::int64_t bytes = 0;
  std::int64_t row_stride = 0;  ///< Elements.
  int first_step = 0;
  int last_step = 0;
};

/// Which nodes run, in order, and where every value that they compute lies.
struct Layout {
  std::vector<std::size_t> nodes;  ///< Those that compute something wanted; windows compute nothing.
  std::vector<Placement> values;   ///< By ValueId.
  std::int64_t bytes = 0;          ///< Of the arena, workspaces not counted.
};

/// Throws a user error for an output that the program does not have.
Layout lay_out(const Program& program, const PlanOptions& options);

}  // namespace assay
