#include "kernels/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "hardware/isa_cap.h"
#include "hardware/machine.h"
#include "kernels/contract_cases.h"
#include "kernels/cuda/on_host/on_host.h"
#include "kernels/cuda/on_host/team_on_host.h"
#include "kernels/one_by_one.h"
#include "program/update_list.h"

namespace assay::contract {
namespace {

/// The instruction sets under which the suite runs: all that this machine has, and fewer.
constexpr const char* caps[] = {"", "avx512", "avx2", "baseline"};

MachineFacts facts_under(const char* cap) {
  static const MachineFacts machine = read_machine_facts();
  MachineFacts facts = machine;
  if (*cap != '\0') facts.isa = facts.isa & find_isa_cap(cap).allowed;
  return facts;
}

/// Why no GPU's kernels can be run; empty where they can.
std::string lacks_gpu() {
  const Backend& backend = cuda_backend();
  if (backend.absent != nullptr) return backend.absent;
  try {
    backend.memory();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class Contract : public testing::TestWithParam<const Operation*> {};

struct Tally {
  int ran = 0;
  int declined = 0;
};

/// An implementation where it may run.
struct Candidate {
  const Implementation* implementation;
  std::string who;
  MachineFacts facts;
  const Device* device = &host_device();
};

std::span<const Implementation> implementations(const Backend& backend, const Operation& operation) {
  for (const OperationKernels& kernels : backend.table) {
    if (kernels.operation == &operation) return kernels.implementations;
  }
  return {};
}

/// The cpu backend's, under every cap that leaves something else than those before it, but for the reference that each
/// list ends in.
void add_cpu_candidates(const Operation& operation, std::vector<Candidate>& candidates) {
  const std::span<const Implementation> all = implementations(cpu_backend(), operation);
  std::set<std::string> left;
  for (const char* cap : caps) {
    const MachineFacts facts = facts_under(cap);
    if (!left.insert(to_string(facts.isa)).second) continue;
    for (const Implementation& one : all.first(all.size() - 1))
      candidates.push_back({&one, fmt::format("{} [{}]", one.name, *cap == '\0' ? "all" : cap), facts});
  }
}

/// The GPU's kernels: on the GPU where there is one, and those of ours on the host too.
void add_cuda_candidates(const Operation& operation, std::vector<Candidate>& candidates) {
  for (const Implementation& one : implementations(cuda_on_host_backend(), operation))
    candidates.push_back({&one, fmt::format("{} [on the host]", one.name), facts_under("")});
  if (!lacks_gpu().empty()) return;
  MachineFacts facts = facts_under("");
  cuda_backend().describe(facts);
  for (const Implementation& one : implementations(cuda_backend(), operation))
    candidates.push_back({&one, fmt::format("{} [gpu]", one.name), facts, &cuda_backend().memory()});
}

std::vector<Candidate> candidates_of(const Operation& operation) {
  std::vector<Candidate> candidates;
  add_cpu_candidates(operation, candidates);
  add_cuda_candidates(operation, candidates);
  return candidates;
}

TEST_P(Contract, EveryKernelAgreesWithTheReference) {
  const Operation& operation = *GetParam();
  const std::vector<Case> cases = cases_of(operation);
  const std::vector<Candidate> candidates = candidates_of(operation);
  ASSERT_FALSE(cases.empty()) << operation.name << " has no cases";
  std::map<std::string, Tally> tallies;
  for (const Case& one : cases) {
    CaseRun run(one);
    for (const Candidate& candidate : candidates) {
      const Outcome outcome = run.compare(*candidate.implementation, candidate.facts, *candidate.device);
      EXPECT_EQ(outcome.broken, "") << candidate.who << ": " << one.label;
      ++(outcome.ran ? tallies[candidate.who].ran : tallies[candidate.who].declined);
    }
  }
  for (const auto& [who, tally] : tallies)
    fmt::print("{}, {}: {} ran, {} declined\n", operation.name, who, tally.ran, tally.declined);
}

void count_lost_updates(Call& call) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  call.outputs.resize(list.lost());
  call.outputs.push_back(dense(DType::s32, {static_cast<std::int64_t>(list.parameters)}));
}

/// Whoever takes a list at once writes the very bits that it writes for each tensor alone: weights, moments, random
/// numbers of stochastic rounding, counts of lost updates, norms.
TEST(Lists, GiveTheBitsOfTheirTensorsAlone) {
  for (const Operation* operation : {&op::l2_norm, &op::adamw, &op::sgd, &op::block_adamw}) {
    for (const Case& one : cases_of(*operation)) {
      if (listed(one.call) == 1) continue;
      Case counted = one;
      if (operation != &op::l2_norm) count_lost_updates(counted.call);
      CaseRun run(counted);
      for (const Candidate& candidate : candidates_of(*operation)) {
        const auto prepare_it = candidate.implementation->prepare;
        Offer together = prepare_it(counted.call, candidate.facts);
        Offer alone = one_by_one(counted.call, candidate.facts, prepare_it);
        ASSERT_TRUE(std::holds_alternative<Prepared>(together) && std::holds_alternative<Prepared>(alone));
        EXPECT_EQ(run.outputs(std::move(std::get<Prepared>(together)), *candidate.device),
                  run.outputs(std::move(std::get<Prepared>(alone)), *candidate.device))
            << candidate.who << ": " << one.label;
      }
    }
  }
}

/// Elements, teams and threads in one order and in the opposite one: threads that read what others write without
/// waiting for it make other bits. Of many cases every seventh: dtypes and masks change little in who waits for whom.
TEST_P(Contract, ThreadsOfAGpuMayTakeTurnsInAnyOrder) {
  if (cuda_on_host::most_threads == 1) GTEST_SKIP() << "under the address sanitizer teams are single threads";
  using cuda_on_host::Turns;
  using Bits = std::vector<std::vector<std::byte>>;
  const MachineFacts facts = facts_under("");
  const std::vector<Case> cases = cases_of(*GetParam());
  for (std::size_t i = 0; i < cases.size(); i += cases.size() > 50 ? 7 : 1) {
    const Case& one = cases[i];
    CaseRun run(one);
    for (const Implementation& implementation : implementations(cuda_on_host_backend(), *GetParam())) {
      const auto bits = [&](Turns turns) {
        Offer offer = implementation.prepare(one.call, facts);
        if (std::holds_alternative<Declined>(offer)) return Bits{};
        const cuda_on_host::InTurns order(turns);
        return run.outputs(std::move(std::get<Prepared>(offer)));
      };
      EXPECT_EQ(bits(Turns::first_to_last), bits(Turns::last_to_first)) << implementation.name << ": " << one.label;
    }
  }
}

/// s8 has no NaN: a row's scale is where every kernel says that the row is not finite.
TEST(Quantised, RowsThatAreNotFiniteGetTheScaleNan) {
  constexpr std::int64_t width = 37;
  Call call;
  call.operation = &op::quantize_rows;
  call.inputs = {dense(DType::f32, {4, width})};
  call.outputs = {dense(DType::s8, {4, width}), dense(DType::f32, {4})};
  call.threads = 2;
  std::vector<float> x(4 * width, 0.5F);
  x[0] = std::numeric_limits<float>::quiet_NaN();
  x[2 * width - 1] = std::numeric_limits<float>::infinity();
  std::fill_n(x.begin() + 2 * width, width, std::numeric_limits<float>::quiet_NaN());
  for (const Candidate& candidate : candidates_of(op::quantize_rows)) {
    Offer offer = candidate.implementation->prepare(call, candidate.facts);
    auto* prepared = std::get_if<Prepared>(&offer);
    if (prepared == nullptr || !candidate.device->is_host()) continue;
    std::vector<std::int8_t> q(x.size());
    std::vector<float> scale(4);
    std::vector<std::byte> workspace(prepared->workspace_bytes);
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(x.data())};
    std::byte* outputs[] = {reinterpret_cast<std::byte*>(q.data()), reinterpret_cast<std::byte*>(scale.data())};
    prepared->kernel->run({inputs, outputs, workspace.data()});
    for (std::size_t row = 0; row < 3; ++row) EXPECT_TRUE(std::isnan(scale[row])) << candidate.who << " " << row;
    EXPECT_FLOAT_EQ(scale[3], 0.5F / 127) << candidate.who;
  }
}

TEST(Gpu, RunsTheContractSuite) {
  const std::string why = lacks_gpu();
  if (!why.empty()) GTEST_SKIP() << "the CUDA backend's kernels ran on the host only: " << why;
  EXPECT_FALSE(cuda_backend().memory().is_host());
}

std::vector<const Operation*> computed_operations() {
  std::vector<const Operation*> computed;
  for (const Operation* operation : all_operations()) {
    if (!operation->alias) computed.push_back(operation);
  }
  return computed;
}

std::string test_name(const testing::TestParamInfo<const Operation*>& info) {
  return info.param->name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Contract, testing::ValuesIn(computed_operations()), test_name);

/// What CUDA devices have no kernels for: making blocks, static scales, experts, and attention with sinks.
bool lacks_on_cuda(const Call& call) {
  const Operation* lacking[] = {&op::route,
                                &op::group_rows,
                                &op::merge_rows,
                                &op::quantize_blocks,
                                &op::route_gradient,
                                &op::group_rows_gradient,
                                &op::merge_rows_gradient,
                                &op::expert_linear_weight_gradient,
                                &op::clamped_gate,
                                &op::relative_scores,
                                &op::relative_input_gradient,
                                &op::relative_table_gradient};
  const bool has_sinks = (call.operation == &op::softmax && call.in(2).present) ||
                         (call.operation == &op::attention && call.in(4).present) ||
                         (call.operation == &op::cached_attention && call.in(7).present);
  const bool has_static_scale =
      call.attributes.output_scale != 0 ||
      (call.operation == &op::quantized_linear && call.in(0).dtype == DType::s8 && !call.in(1).present);
  return has_sinks || has_static_scale || expert_places(*call.operation) ||
         std::find(std::begin(lacking), std::end(lacking), call.operation) != std::end(lacking);
}

TEST(Backends, TakeEveryCaseOfEveryOperation) {
  const MachineFacts facts = read_machine_facts();
  for (const Operation* operation : computed_operations()) {
    for (const Case& one : cases_of(*operation)) {
      for (const Backend* backend : {&reference_backend(), &cpu_backend(), &cuda_on_host_backend()}) {
        const Offer offer = prepare(*backend, one.call, facts);
        const bool is_lacking = backend == &cuda_on_host_backend() && lacks_on_cuda(one.call);
        ASSERT_EQ(std::holds_alternative<Prepared>(offer), !is_lacking) << backend->name << ": " << one.label;
      }
    }
  }
}

}  // namespace
}  // namespace assay::contract
