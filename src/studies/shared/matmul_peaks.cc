#include "studies/shared/matmul_peaks.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/random.h"
#include "hardware/concurrent_rate.h"
#include "hardware/isa_cap.h"
#include "kernels/kernel.h"
#include "program/operation.h"
#include "tensor/slabs.h"

namespace assay {
namespace {

/// Tells in a moment which kernels are too slow for the shape.
MatmulShape small_shape(const MatmulShape& shape) {
  return {.rows = std::min<std::int64_t>(shape.rows, 64), .in = 256, .out = 256};
}

constexpr double longest_run_s = 0.05;
constexpr double longest_trial_s = 0.2;
constexpr int least_trials = 3;
constexpr int most_trials = 20;
constexpr int least_rounds = 3;
constexpr double longest_turn_s = 0.03;
constexpr std::size_t streaming_bytes = std::size_t{16} << 20;  // second caches have 0.25 to 4 MiB

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

/// A call of one thread and its plain inputs; the output is described and not held.
struct Problem {
  Call call;
  std::vector<Tensor> inputs;
  std::size_t weight = 1;  ///< Its place among them.
};

Argument argument_of(DType dtype, const Shape& shape, bool Argument::*mark) {
  Argument argument;
  argument.present = true;
  argument.dtype = dtype;
  argument.shape = shape;
  argument.row_stride = shape.back();
  argument.*mark = true;
  return argument;
}

Problem make_problem(DType operand, const MatmulShape& shape) {
  const bool quantized = operand == DType::s8;
  constexpr auto varies = &Argument::present;
  constexpr auto constant = &Argument::constant;
  Problem problem;
  problem.inputs.push_back(random_tensor(operand, {shape.rows, shape.in}));
  if (quantized) problem.inputs.push_back(random_tensor(DType::f32, {shape.rows}));
  problem.inputs.push_back(random_tensor(operand, {shape.out, shape.in}));
  if (quantized) problem.inputs.push_back(random_tensor(DType::f32, {shape.out}));

  problem.weight = quantized ? 2 : 1;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    problem.call.inputs.push_back(
        argument_of(problem.inputs[i].dtype(), problem.inputs[i].shape(), i < problem.weight ? varies : constant));
  }
  problem.call.outputs.push_back(argument_of(quantized ? DType::f32 : operand, {shape.rows, shape.out}, varies));
  problem.call.operation = quantized ? &op::quantized_linear : &op::linear;
  problem.call.attributes.accumulator = quantized ? DType::s32 : DType::f32;
  problem.call.threads = 1;
  return problem;
}

/// The inputs of a problem as a kernel wants them, with copies of the packed weight. Refers to the problem.
class PackedInputs {
 public:
  /// As many copies as take `bytes`; one at least.
  PackedInputs(const Problem& problem, const Prepared& prepared, std::size_t bytes = 0) {
    const std::size_t place = problem.weight;
    const Tensor& weight = problem.inputs[place];
    const Packing plain = {.kind = Packing::Kind::plain, .dtype = weight.dtype()};
    const Packing& packing = place < prepared.packing.size() ? prepared.packing[place] : plain;
    const std::size_t copy_bytes = packed_bytes(packing, weight.shape()[0], weight.shape()[1]);
    for (std::size_t taken = 0; taken == 0 || taken < bytes; taken += copy_bytes) {
      std::vector<const std::byte*>& pointers = copies_.emplace_back();
      for (const Tensor& input : problem.inputs) pointers.push_back(input.data());
      std::byte* const copy = slabs_.take(copy_bytes);
      pack(weight.view(), packing, copy);
      pointers[place] = copy;
    }
  }
  std::span<const std::byte* const> copy(std::size_t index) const { return copies_[index % copies_.size()]; }

 private:
  Slabs slabs_;  // as an instance keeps its weights
  std::vector<std::vector<const std::byte*>> copies_;
};

/// One thread's kernel with what it writes to.
class Worker {
 public:
  Worker(const Argument& output, Prepared prepared) : prepared_(std::move(prepared)) {
    output_ = Tensor(output.dtype, output.shape);
    outputs_ = {output_.data()};
    workspace_ = allocate_aligned(std::max<std::size_t>(prepared_.workspace_bytes, 64));
  }
  void run(const PackedInputs& inputs, std::size_t copy = 0) const {
    prepared_.kernel->run({.inputs = inputs.copy(copy), .outputs = outputs_, .workspace = workspace_.get()});
  }
  const Prepared& prepared() const { return prepared_; }

 private:
  Prepared prepared_;
  Tensor output_;
  std::vector<std::byte*> outputs_;
  AlignedBytes workspace_;
};

/// An implementation and the facts under which it accepts.
struct KernelCandidate {
  const Operation* operation;
  const Implementation* implementation;
  const MachineFacts* facts;
};

std::optional<Prepared> prepared_for(const KernelCandidate& candidate, const Problem& problem) {
  Offer offer = candidate.implementation->prepare(problem.call, *candidate.facts);
  if (!std::holds_alternative<Prepared>(offer)) return std::nullopt;
  return std::move(std::get<Prepared>(offer));
}

std::vector<KernelCandidate> candidates_for(const Operation* operation, std::span<const MachineFacts> variants) {
  std::vector<KernelCandidate> candidates;
  for (const MachineFacts& facts : variants) {
    for (const OperationKernels& kernels : cpu_backend().table) {
      if (kernels.operation != operation) continue;
      for (const Implementation& one : kernels.implementations) candidates.push_back({kernels.operation, &one, &facts});
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

MatmulRate rate_of(DType operand, const KernelCandidate& candidate, const Prepared& prepared, double gflops,
                   double streaming_gflops = 0) {
  return {operand,
          prepared.operand,
          {candidate.operation->name, candidate.implementation->name},
          prepared.description,
          prepared.arithmetic,
          gflops,
          streaming_gflops};
}

/// A kernel that takes turns, a worker for each thread.
struct Contestant {
  Contestant(const KernelCandidate& whose, const Problem& problem, Prepared first, int threads)
      : candidate(whose), inputs(problem, first, streaming_bytes) {
    workers.emplace_back(problem.call.out(0), std::move(first));
    while (workers.size() < static_cast<std::size_t>(threads)) {
      workers.emplace_back(problem.call.out(0), std::move(*prepared_for(candidate, problem)));
    }
  }

  KernelCandidate candidate;
  PackedInputs inputs;
  std::vector<Worker> workers;
  std::vector<double> gflops;            ///< Of each round, always with the first copy of the weight.
  std::vector<double> streaming_gflops;  ///< The same, with each copy in turn.
};

/// What is timed for one operand dtype.
struct Contest {
  DType operand;
  MatmulShape shape;
  std::vector<MachineFacts> variants;
  Problem problem;
  std::vector<std::unique_ptr<Contestant>> entries;
  std::vector<MatmulRate> slow;  ///< Too slow for the shape: rates of the small one.
};

double clock_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Processor time of one run on this thread alone: plain loops are told from a kernel that lost its core.
double trial_s(const Worker& worker, const PackedInputs& inputs) {
  worker.run(inputs);  // Some kernels write their code in the first run.
  const double stop_s = now_s() + longest_trial_s;
  double best_s = 1e9;
  for (int i = 0; i < least_trials || (i < most_trials && now_s() < stop_s); ++i) {
    const double begin_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    worker.run(inputs);
    best_s = std::min(best_s, clock_s(CLOCK_THREAD_CPUTIME_ID) - begin_s);
  }
  return best_s;
}

/// Lets the candidate in as an entry, or notes its rate at the small shape where it is too slow for the large one.
void admit(Contest& contest, const KernelCandidate& candidate, const Problem& small, int threads) {
  const Worker trial(small.call.out(0), std::move(*prepared_for(candidate, small)));
  const double seconds = trial_s(trial, PackedInputs(small, trial.prepared()));
  std::optional<Prepared> prepared;
  const double small_flops = small_shape(contest.shape).flops();
  if (seconds * contest.shape.flops() / small_flops <= longest_run_s)
    prepared = prepared_for(candidate, contest.problem);
  if (prepared) {
    contest.entries.push_back(std::make_unique<Contestant>(candidate, contest.problem, std::move(*prepared), threads));
  } else {
    contest.slow.push_back(
        rate_of(contest.operand, candidate, trial.prepared(), small_flops * threads / seconds * 1e-9));
  }
}

std::unique_ptr<Contest> make_contest(const MachineFacts& facts, DType operand, const MatmulShape& shape) {
  auto contest = std::make_unique<Contest>();
  contest->operand = operand;
  contest->shape = shape;
  contest->variants = variants_of(facts, operand);
  contest->problem = make_problem(operand, shape);
  const Problem small = make_problem(operand, small_shape(shape));
  std::set<std::string> seen;
  for (const KernelCandidate& candidate : candidates_for(contest->problem.call.operation, contest->variants)) {
    const std::optional<Prepared> offer = prepared_for(candidate, small);
    if (!offer || !seen.insert(offer->description).second) continue;
    admit(*contest, candidate, small, facts.threads);
  }
  return contest;
}

using Contests = std::vector<std::unique_ptr<Contest>>;

Contests make_contests(const MachineFacts& facts, const MatmulShape& shape) {
  Contests contests;
  for (const DType operand : {DType::f32, DType::f16, DType::bf16, DType::s8})
    contests.push_back(make_contest(facts, operand, shape));
  return contests;
}

enum class WeightCaching : std::uint8_t { warm, streaming };

double turn_gflops(const Contestant& entry, double flops, double turn_s, WeightCaching weights) {
  std::vector<std::size_t> runs(entry.workers.size(), 0);
  const Window window = [&](int thread) {
    const auto worker = static_cast<std::size_t>(thread);
    entry.workers[worker].run(entry.inputs, weights == WeightCaching::streaming ? runs[worker]++ : 0);
    return flops;
  };
  return concurrent_rate(static_cast<int>(entry.workers.size()), turn_s, window) * 1e-9;
}

void take_turns(const Contests& contests, double seconds_each) {
  std::size_t entries = 0;
  for (const auto& contest : contests) entries += contest->entries.size();
  const double stop_s = now_s() + 2 * seconds_each * static_cast<double>(entries);
  const double turn_s = std::min(longest_turn_s, seconds_each / least_rounds);
  for (int round = 0; round < least_rounds || now_s() < stop_s; ++round) {
    for (const auto& contest : contests) {
      const double flops = contest->shape.flops();
      for (const auto& entry : contest->entries) {
        entry->gflops.push_back(turn_gflops(*entry, flops, turn_s, WeightCaching::warm));
        entry->streaming_gflops.push_back(turn_gflops(*entry, flops, turn_s, WeightCaching::streaming));
      }
    }
  }
}

double upper_quartile(std::vector<double> gflops) {
  const auto quartile = gflops.begin() + static_cast<std::ptrdiff_t>(gflops.size() * 3 / 4);
  std::nth_element(gflops.begin(), quartile, gflops.end());
  return *quartile;
}

/// Of all turns together, what others disturbed included: kernels differ in how they bear it.
double overall_rate(const std::vector<double>& gflops) {
  double time = 0;
  for (const double rate : gflops) time += 1 / rate;
  return static_cast<double>(gflops.size()) / time;
}

std::vector<MatmulRate> rates_from(const Contests& contests) {
  std::vector<MatmulRate> rates;
  for (const auto& contest : contests) {
    for (const auto& entry : contest->entries) {
      rates.push_back(rate_of(contest->operand, entry->candidate, entry->workers.front().prepared(),
                              upper_quartile(entry->gflops), overall_rate(entry->streaming_gflops)));
    }
    rates.insert(rates.end(), contest->slow.begin(), contest->slow.end());
  }
  return rates;
}

struct TimedShape {
  std::vector<MatmulRate> rates;
  double processor_share = 0;
};

TimedShape time_shape(const MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  const Contests contests = make_contests(facts, shape);
  const double begin_s = now_s();
  const double processor_begin_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  take_turns(contests, seconds_each);
  const double processor_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - processor_begin_s;
  return {rates_from(contests), processor_s / ((now_s() - begin_s) * facts.threads)};
}

}  // namespace

MatmulRates measure_matmuls(const MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  MatmulShape one_row = shape;
  one_row.rows = 1;
  TimedShape all = time_shape(facts, shape, seconds_each);
  return {std::move(all.rates), time_shape(facts, one_row, seconds_each / 4).rates, all.processor_share};
}

}  // namespace assay
