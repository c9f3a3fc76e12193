#pragma once

#include <cstdint>
#include <optional>

#include "program/program.h"
#include "runtime/plan.h"
#include "tensor/precision.h"

namespace assay {

/// How attention is computed.
enum class AttentionMethod : std::uint8_t {
  naive,  ///< Scores, softmax, context: operations of their own, the T x T matrices stored.
  fused   ///< One operation that never stores a T x T matrix; the backward computes the probabilities again.
};
const char* name(AttentionMethod method);

struct AttentionShape {
  AttentionMethod method = AttentionMethod::naive;
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  bool causal = false;
};

/// Attention alone, forward and backward: state q, k, v (B, T, H * D) in the precision's weight dtype, output y
/// (B, T, H * D), input dy of y's shape and dtype, state grad.q, grad.k, grad.v. Throws a user error for a precision
/// in which nothing is trained.
Program attention_program(const AttentionShape& shape, const PrecisionChoice& precision);

/// What a step of attention needs, read off its layout; workspaces of kernels not counted.
struct AttentionMemory {
  std::int64_t saved_bytes = 0;            ///< What the backward reads: q, k, v, casts of them and, naive, p.
  std::int64_t before_backward_bytes = 0;  ///< All that is held between forward and backward: that and y.
  std::int64_t peak_bytes = 0;             ///< Of the whole step, dy and the gradients included.
};
AttentionMemory attention_memory(const Program& program, Extent extent);

/// A step of attention made ready on made-up q, k, v and dy: standard normal numbers of the seed, rounded to their
/// dtypes, the same whatever the method. `program`'s precision and the references must outlive it.
class AttentionStep {
 public:
  /// `free_bytes`: as of PlanOptions. Throws what Plan throws.
  AttentionStep(const Program& program, const PrecisionChoice& precision, const Backend& backend,
                const MachineFacts& facts, Extent extent, std::optional<std::int64_t> free_bytes);
  void fill(std::uint64_t seed);

  Plan& plan() { return *plan_; }
  const Plan& plan() const { return *plan_; }
  const Instance& instance() const { return instance_; }
  const State& state() const { return state_; }
  std::int64_t peak_bytes() const { return state_.bytes() + plan_->arena_bytes(); }

 private:
  Weights no_weights_;
  Instance instance_;
  State state_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace assay
