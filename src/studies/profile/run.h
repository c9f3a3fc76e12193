#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "program/operation.h"
#include "results/document.h"
#include "results/parts.h"
#include "runtime/trace.h"
#include "statistics/statistics.h"
#include "studies/profile/gpu_kernels.h"
#include "studies/profile/request.h"

namespace assay {

/// One step of a plan with its median time.
struct ProfiledStep {
  std::string path = {};
  std::string operation = {};
  std::string kernel = {};
  OperationKind kind = OperationKind::other;
  ProductShare products = ProductShare::none;
  Phase phase = Phase::forward;
  DType operand = DType::f32;
  DType accumulator = DType::f32;
  double flops = 0;
  double bytes = 0;
  double ms = 0;
};

/// Where the nodes of the programs went; their sum is all nodes.
struct NodeCounts {
  std::int64_t nodes = 0;
  std::int64_t steps = 0;     ///< Kernels that run.
  std::int64_t windows = 0;   ///< Views into other values: nothing to compute.
  std::int64_t constant = 0;  ///< Made from weights, once.
  std::int64_t unwanted = 0;  ///< Their results are not asked for.
};

constexpr std::size_t phase_count = 3;
using PhaseTimes = std::array<double, phase_count>;  ///< ms, by Phase

/// One precision, run traced and untraced in turn.
struct Profile {
  std::string precision;
  RunMode mode = RunMode::infer;
  std::vector<ProfiledStep> steps;  ///< Of all plans of a run, in their order.
  NodeCounts counts;
  int rounds = 0;
  PhaseTimes untraced_ms{};               ///< Medians of whole phases without a clock inside.
  PhaseTimes traced_ms{};                 ///< Medians of whole phases with one around each step.
  std::optional<Ratio> tracing;           ///< Traced over untraced run, round by round.
  std::vector<StepTime> typical_run;      ///< Of the traced round whose total is the median.
  std::optional<GpuKernels> gpu;          ///< Of plans on a GPU; recorded after all rounds.
  std::int64_t peak_bytes = 0;            ///< Of memory, as `assay memory` predicts it.
  Grade grade;                            ///< Of its untraced times, by the rules that grade any row.
  std::optional<std::string> not_finite;  ///< Where the last run's logits, or loss, hold NaN or infinity.

  double steps_ms() const;  ///< Sum of the steps' medians.
  double total_untraced_ms() const;
  double total_traced_ms() const;
};

struct ProfileStudy {
  std::string model;
  std::int64_t parameters = 0;
  std::string device = "cpu";
  Extent extent = {};
  StepVariant step = {};
  Fusion fusion = Fusion::on;
  Profile profile = {};
  std::optional<Profile> against = {};
  std::optional<Profile> inference = {};  ///< With mode train: a forward pass of the same precision, weights constant.
  MachineFacts facts = {};
  double clock_cost_s = 0;
  Status status = Status::ok;
  std::string lacking = {};  ///< Without figures: what memory or this machine lacks for it.
};

/// Throws what planning throws: user errors, Error(lacking), OutOfMemory.
ProfileStudy profile_study(const ProfileRequest& request, const MachineFacts& facts,
                           const ProfileProgress& progress = {});

/// Models, lengths and ways to do a step, together.
std::size_t cells_of(const ProfileGrid& grid);

/// By model, then length, then way to do a step. One that memory does not hold is there with what it lacks, and where
/// there are several one that this machine cannot run; else throws as profile_study does.
std::vector<ProfileStudy> profile_studies(const ProfileGrid& grid, const MachineFacts& facts,
                                          const ProfileProgress& progress = {});

/// Steps that share a name.
struct ProfileRow {
  std::string name;
  std::int64_t calls = 0;
  std::int64_t paths = 0;  ///< Different layer paths behind it.
  double ms = 0;
  double flops = 0;
  double bytes = 0;
  double compute_floor_ms = 0;  ///< At the rate of the best matmul measured in each step's operand dtype.
  double memory_floor_ms = 0;   ///< At the measured memory bandwidth.

  double gflops() const { return ms > 0 ? flops / ms / 1e6 : 0; }
  double gbs() const { return ms > 0 ? bytes / ms / 1e6 : 0; }
  double compute_share() const { return ms > 0 ? compute_floor_ms / ms : 0; }
  double memory_share() const { return ms > 0 ? memory_floor_ms / ms : 0; }
};

/// Below this share of both rates a step's time is neither arithmetic nor memory: calls, threads, latency, slow code.
constexpr double overhead_below = 0.25;
/// "compute-bound", "memory-bound", "overhead-bound"; "unknown" where nothing was measured.
const char* verdict(const ProfileRow& row);

using StepName = std::function<std::string(const ProfiledStep& step)>;
/// Grouped by that name, the most time first.
std::vector<ProfileRow> rows_by(const std::vector<ProfiledStep>& steps, const StepName& name,
                                const MachineFacts& facts);
/// "layers.3.attn.q_proj" -> "layers.*.attn.q_proj"
std::string folded(const std::string& path);

/// What a kind of operation contributes to the ratio of two runs: parts sum to 1 / speed-up (Amdahl 1967).
struct AmdahlPart {
  OperationKind kind = OperationKind::other;
  std::int64_t calls_before = 0;
  std::int64_t calls_after = 0;
  double bytes_before = 0;
  double bytes_after = 0;
  double ms_before = 0;
  double ms_after = 0;
  double share = 0;  ///< Of the time before.
  double part = 0;   ///< Time after over the whole time before: share / speed-up.
};
/// Kinds that either of them has.
std::vector<AmdahlPart> amdahl(const Profile& before, const Profile& after);

/// Frames of a step, outermost first: phase, "layers.3", "attn", "q_proj", operation. The three parts of unfused
/// attention are "scaled dot product attention" > "computing attention scores", "computing softmax", "final matmul".
std::vector<std::string> frames(const ProfiledStep& step);

/// Steps of one operation as the device saw them.
struct OperationOnGpu {
  std::string operation;
  std::int64_t launches = 0;
  double gpu_ms = 0;    ///< In kernels alone.
  double clock_ms = 0;  ///< By the host's clock around launch and wait.
};
/// The most time on the GPU first; the profile has the GPU's kernels.
std::vector<OperationOnGpu> operations_on_gpu(const Profile& profile);

/// The study's questions, an answer each.
std::vector<std::string> profile_sentences(const ProfileStudy& study);
Document to_document(const ProfileStudy& study);
/// Of one as that; of several a table of them, how time grows over them, and what each would show alone.
Document to_document(const std::vector<ProfileStudy>& studies);
/// Chrome trace events (ph X; ts and dur in us; cat is the phase) of the typical run; opens in Perfetto.
OrderedJson trace_json(const ProfileStudy& study);

}  // namespace assay
