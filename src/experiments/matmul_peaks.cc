#include "experiments/matmul_peaks.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/random.h"
#include "hardware/isa_cap.h"
#include "kernels/kernel.h"
#include "program/operation.h"

namespace assay {
namespace {

constexpr MatmulShape small_shape{.rows = 128, .in = 256, .out = 512};
constexpr double longest_run_s = 0.25;
constexpr double longest_trial_s = 0.2;
constexpr int trial_runs = 20;
constexpr int least_rounds = 3;
constexpr int runs_a_turn = 2;  // The first finds the caches full of another kernel's weights.

/// Normal values, for s8 spread over its range; a block of them repeated, since only their bits' variety matters.
Tensor random_tensor(DType dtype, const Shape& shape) {
  constexpr std::int64_t block = 4096;
  Random random(1);
  Tensor values(DType::f32, shape);
  float* const to = values.as<float>();
  const std::int64_t count = values.count();
  const double scale = is_float(dtype) ? 0.1 : 40.0;
  for (std::int64_t i = 0; i < std::min(block, count); ++i) to[i] = static_cast<float>(random.next_normal() * scale);
  for (std::int64_t i = block; i < count; i += block) {
    std::memcpy(to + i, to, static_cast<std::size_t>(std::min(block, count - i)) * sizeof(float));
  }
  return converted(values.view(), dtype);
}

/// A call and its plain tensors.
struct Problem {
  Call call;
  std::vector<Tensor> inputs;
  Tensor output;
};

Argument argument_of(const Tensor& tensor, bool Argument::*mark) {
  Argument argument;
  argument.present = true;
  argument.dtype = tensor.dtype();
  argument.shape = tensor.shape();
  argument.row_stride = tensor.shape().back();
  argument.*mark = true;
  return argument;
}

Problem make_problem(DType operand, const MatmulShape& shape, int threads) {
  const bool quantized = operand == DType::s8;
  constexpr auto varies = &Argument::present;
  constexpr auto constant = &Argument::constant;
  Problem problem;
  problem.output = Tensor(quantized ? DType::f32 : operand, {shape.rows, shape.out});
  problem.inputs.push_back(random_tensor(operand, {shape.rows, shape.in}));
  if (quantized) problem.inputs.push_back(random_tensor(DType::f32, {shape.rows}));
  problem.inputs.push_back(random_tensor(operand, {shape.out, shape.in}));
  if (quantized) problem.inputs.push_back(random_tensor(DType::f32, {shape.out}));

  const std::size_t first_constant = quantized ? 2 : 1;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    problem.call.inputs.push_back(argument_of(problem.inputs[i], i < first_constant ? varies : constant));
  }
  problem.call.outputs.push_back(argument_of(problem.output, varies));
  problem.call.operation = quantized ? &op::quantized_linear : &op::linear;
  problem.call.attributes.accumulator = quantized ? DType::s32 : DType::f32;
  problem.call.threads = threads;
  return problem;
}

/// A prepared kernel with its packed inputs. Refers to the problem, which has to live longer.
class Matmul {
 public:
  Matmul(Problem& problem, Prepared prepared) : prepared_(std::move(prepared)) {
    for (std::size_t i = 0; i < problem.inputs.size(); ++i) inputs_.push_back(packed(problem.inputs[i], i));
    outputs_.push_back(problem.output.data());
    workspace_ = allocate_aligned(std::max<std::size_t>(prepared_.workspace_bytes, 64));
  }

  double time_s() const {
    const Memory memory{.inputs = inputs_, .outputs = outputs_, .workspace = workspace_.get()};
    const double begin_s = now_s();
    prepared_.kernel->run(memory);
    return now_s() - begin_s;
  }
  const Prepared& prepared() const { return prepared_; }

 private:
  const std::byte* packed(const Tensor& plain, std::size_t index) {
    if (index >= prepared_.packing.size()) return plain.data();
    const Packing& packing = prepared_.packing[index];
    if (packing.kind == Packing::Kind::plain) return plain.data();
    packed_.push_back(allocate_aligned(packed_bytes(packing, plain.shape()[0], plain.shape()[1])));
    pack(plain.view(), packing, packed_.back().get());
    return packed_.back().get();
  }

  Prepared prepared_;
  std::vector<AlignedBytes> packed_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  AlignedBytes workspace_;
};

/// An implementation and the facts under which it accepts.
struct Candidate {
  const Implementation* implementation;
  const MachineFacts* facts;
};

std::optional<Matmul> prepare(const Candidate& candidate, Problem& problem) {
  Offer offer = candidate.implementation->prepare(problem.call, *candidate.facts);
  if (!std::holds_alternative<Prepared>(offer)) return std::nullopt;
  return Matmul(problem, std::move(std::get<Prepared>(offer)));
}

std::vector<Candidate> candidates_for(const Operation* operation, std::span<const MachineFacts> variants) {
  std::vector<Candidate> candidates;
  for (const MachineFacts& facts : variants) {
    for (const OperationKernels& kernels : cpu_backend().table) {
      if (kernels.operation != operation) continue;
      for (const Implementation& one : kernels.implementations) candidates.push_back({&one, &facts});
    }
  }
  return candidates;
}

/// The facts without anything measured, so that no kernel steps back for another, and the same without the
/// instructions of the dtype. The full set comes first: oneDNN's own limit is set by its first use.
std::vector<MachineFacts> variants_of(MachineFacts facts, DType operand) {
  facts.peaks.clear();
  std::vector<MachineFacts> variants{facts};
  if (operand != DType::bf16 && operand != DType::f16) return variants;
  variants.push_back(facts);
  variants.back().isa = facts.isa & find_isa_cap(operand == DType::bf16 ? "no-bf16" : "no-fp16").allowed;
  return variants;
}

/// What is timed for one operand dtype.
struct Contest {
  std::vector<MachineFacts> variants;
  Problem problem;
  std::vector<Matmul> entries;
  std::vector<double> best_s;
  std::vector<MatmulRate> slow;  ///< Too slow for the shape: rates of the small one.
};

MatmulRate rate_of(DType operand, const Prepared& prepared, double flops, double best_s) {
  return {operand, prepared.operand, prepared.description, flops / best_s * 1e-9};
}

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Trial {
  double wall_s = 1e9;
  double processor_s = 1e9;  ///< Of all threads together.
};

/// The best of many runs where they are short. Processor time tells plain loops from a kernel that lost its core.
Trial try_out(const Matmul& matmul) {
  const double stop_s = now_s() + longest_trial_s;
  Trial best;
  for (int i = 0; i < trial_runs && now_s() < stop_s; ++i) {
    const double processor_begin_s = processor_s();
    best.wall_s = std::min(best.wall_s, matmul.time_s());
    best.processor_s = std::min(best.processor_s, processor_s() - processor_begin_s);
  }
  return best;
}

std::unique_ptr<Contest> make_contest(const MachineFacts& facts, DType operand, const MatmulShape& shape) {
  auto contest = std::make_unique<Contest>();
  contest->variants = variants_of(facts, operand);
  contest->problem = make_problem(operand, shape, facts.threads);
  Problem small = make_problem(operand, small_shape, facts.threads);
  std::set<std::string> seen;
  for (const Candidate& candidate : candidates_for(contest->problem.call.operation, contest->variants)) {
    const std::optional<Matmul> trial = prepare(candidate, small);
    if (!trial || !seen.insert(trial->prepared().description).second) continue;
    const Trial small_trial = try_out(*trial);
    const double expected_s = small_trial.processor_s / facts.threads * shape.flops() / small_shape.flops();
    if (expected_s > longest_run_s) {
      contest->slow.push_back(rate_of(operand, trial->prepared(), small_shape.flops(), small_trial.wall_s));
    } else if (std::optional<Matmul> entry = prepare(candidate, contest->problem)) {
      contest->entries.push_back(std::move(*entry));
      contest->best_s.push_back(1e9);
    }
  }
  return contest;
}

void take_turns(std::span<const std::unique_ptr<Contest>> contests, double seconds_each) {
  std::size_t entries = 0;
  for (const auto& contest : contests) entries += contest->entries.size();
  const double stop_s = now_s() + seconds_each * static_cast<double>(entries);
  for (int round = 0; round < least_rounds || now_s() < stop_s; ++round) {
    for (const auto& contest : contests) {
      for (std::size_t i = 0; i < contest->entries.size() * runs_a_turn; ++i) {
        double& best_s = contest->best_s[i / runs_a_turn];
        best_s = std::min(best_s, contest->entries[i / runs_a_turn].time_s());
      }
    }
  }
}

}  // namespace

MatmulShape peak_shape(int threads) {
  return {.rows = 256 * std::int64_t{threads}, .in = 1024, .out = 1024};
}

MatmulRates measure_matmuls(const MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  std::vector<std::unique_ptr<Contest>> contests;
  constexpr DType operands[] = {DType::f32, DType::f16, DType::bf16, DType::s8};
  for (const DType operand : operands) contests.push_back(make_contest(facts, operand, shape));

  MatmulRates result;
  const double begin_s = now_s();
  const double processor_begin_s = processor_s();
  take_turns(contests, seconds_each);
  result.processor_share = (processor_s() - processor_begin_s) / ((now_s() - begin_s) * facts.threads);
  for (std::size_t c = 0; c < contests.size(); ++c) {
    const Contest& contest = *contests[c];
    for (std::size_t i = 0; i < contest.entries.size(); ++i) {
      result.rates.push_back(rate_of(operands[c], contest.entries[i].prepared(), shape.flops(), contest.best_s[i]));
    }
    result.rates.insert(result.rates.end(), contest.slow.begin(), contest.slow.end());
  }
  return result;
}

}  // namespace assay
