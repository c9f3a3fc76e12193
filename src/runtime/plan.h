#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "runtime/instance.h"
#include "runtime/layout.h"
#include "tensor/ledger.h"

namespace assay {

struct Step {
  std::size_t node = 0;  ///< Index into program().nodes.
  std::unique_ptr<Kernel> kernel;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  std::byte* workspace = nullptr;
  LedgerRow ledger;
  double flops = 0;
  double bytes = 0;
};

/// A result of a run: rows may be windows into wider ones.
struct OutputView {
  TensorView tensor;
  std::int64_t row_stride = 0;
};

/// Told the index of a node in the program.
using NodeHook = std::function<void(std::size_t node)>;

/// An instance at one (B, T): kernels ready, every buffer at its place in one arena. Running it allocates nothing and
/// decides nothing. One run at a time, of all plans in one arena; each run overwrites the others' inputs and outputs.
class Plan {
 public:
  /// Throws Error(lacking) where no kernel takes an operation (with every refusal), OutOfMemory where memory would not
  /// suffice (before a weight is read or a buffer allocated).
  Plan(Instance& instance, PlanOptions options);

  /// Copies ids (B*T, each inside the vocabulary, which the caller has checked) and the mask (B*T where the plan is
  /// made for one, else empty).
  /// Token types (B*T, each of the model's), where the program has them: empty, all are 0.
  void set_inputs(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask,
                  std::span<const std::int32_t> token_types = {});
  /// Copies the values of another input; bytes as its dtype and shape say. Nothing where this plan never reads it.
  void set_input(const std::string& name, std::span<const std::byte> bytes);
  /// Runs all steps and waits for the device. From the second run on, a device's steps are a recording (Graphs).
  void run();
  /// The same without waiting, of all steps or of a phase's: a device still works when it returns.
  void enqueue(std::optional<Phase> phase = std::nullopt) { enqueue_until(phase, nullptr, {}); }
  /// Runs the steps of one phase and waits; they follow one another in `steps`. False where `interrupted` ended it
  /// before its last step: then what the phase computes holds nothing. A recording is not ended. `after` is told each
  /// node that has run, where the host computes: a device is still at work when its steps are queued.
  bool run(Phase phase, InterruptFlag interrupted = nullptr, const NodeHook& after = {});
  /// Whether all that ran more than once is a recording: not where graphs are off, or the device made none.
  bool is_recorded() const;
  /// Why the device made none, where it did not; its steps are queued one by one then. Empty: it was not asked, or did.
  std::string why_not_recorded() const;
  /// Where the output lies: in the arena; of a device's plan, a copy on the host that the next call for it overwrites.
  OutputView output(const std::string& name) const;
  /// The first element of an output, which has one.
  float first_value(const std::string& name) const;
  /// A copy of an output as dense f32.
  Tensor output_f32(const std::string& name) const;
  /// Copies rows (all axes but the last) of a value that lies in memory as the last step left it, as dense f32.
  /// `to`: rows * width elements.
  struct RowSpan {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  void read_rows(ValueId value, RowSpan rows, float* to) const;

  const Program& program() const { return instance_.program(); }
  const PlanOptions& options() const { return options_; }
  const Device& device() const { return instance_.device(); }
  /// Threads that run() gathers for all its steps (base/team.h); 1 where they open regions of their own.
  int team_threads() const { return device().is_host() && !brings_threads_ ? instance_.facts().threads : 1; }
  const std::vector<Step>& steps() const { return steps_; }
  const Placement& placement(ValueId value) const { return layout_.values[static_cast<std::size_t>(value)]; }
  std::int64_t arena_bytes() const { return arena_bytes_; }
  /// What it allocated for itself: its arena, or nothing.
  std::int64_t own_bytes() const { return borrows() ? 0 : arena_bytes_; }
  std::int64_t peak_bytes() const;  ///< Held constants and arena.
  double flops() const;
  double bytes() const;
  Ledger ledger() const;

 private:
  std::optional<std::int64_t> free_bytes() const;
  /// Whether another plan's arena holds what is known of this one's.
  bool borrows() const { return options_.arena_of != nullptr && options_.arena_of->arena_bytes() >= arena_bytes_; }
  void refuse_large_arena() const;
  void refuse_what_does_not_fit() const;
  void prepare_steps();
  void prepare_step(std::size_t index);
  Call call_for(const Node& node) const;
  bool is_absent_mask(ValueId id) const;
  std::vector<const std::byte*> hold_constants(const Node& node, const Call& call, const Prepared& prepared);
  void bind();
  std::byte* address(ValueId value) const;
  const std::byte* fetch(ValueId value, const std::byte* from) const;
  bool enqueue_until(std::optional<Phase> phase, InterruptFlag interrupted, const NodeHook& after);
  bool enqueue_steps(std::optional<Phase> phase, InterruptFlag interrupted, const NodeHook& after) const;
  bool has_steps(std::optional<Phase> phase) const;

  /// Steps that are queued together: all, or those of a phase.
  struct Segment {
    int runs = 0;
    std::unique_ptr<Recording> recording;  ///< Made in the second run; null before, and where the device makes none.
    std::string refusal;                   ///< Why it made none.
  };
  void record(Segment& segment, std::optional<Phase> phase) const;

  Instance& instance_;
  PlanOptions options_;
  std::vector<Step> steps_;
  Layout layout_;
  DeviceBytes arena_;                          ///< Empty where another plan's is used.
  std::byte* memory_ = nullptr;                ///< Of the arena, whosever it is.
  mutable std::map<ValueId, Tensor> fetched_;  ///< Outputs of a device, on the host.
  std::int64_t arena_bytes_ = 0;
  std::int64_t workspace_bytes_ = 0;
  bool brings_threads_ = false;      ///< Some kernel does: the steps cannot share a team.
  std::array<Segment, 4> segments_;  ///< All; forward, backward, optimizer. Recordings end before the arena does.
};

}  // namespace assay
