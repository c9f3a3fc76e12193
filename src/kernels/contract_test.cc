#include "kernels/contract.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "hardware/machine.h"

namespace assay::contract {
namespace {

/// The instruction sets under which the suite runs: all that this machine has, and fewer.
constexpr const char* caps[] = {"", "avx2", "none"};

MachineFacts facts_under(const char* cap) {
  static const MachineFacts machine = read_machine_facts();
  MachineFacts facts = machine;
  if (*cap == '\0') return facts;
  const bool avx2 = facts.isa.avx2 && std::string(cap) == "avx2";
  facts.isa = {};
  facts.isa.avx2 = avx2;
  return facts;
}

class Contract : public testing::TestWithParam<const Operation*> {};

struct Tally {
  int ran = 0;
  int declined = 0;
};

/// The implementations of an operation, of every backend, but for the reference that each list ends in.
std::vector<const Implementation*> candidates(const Operation& operation) {
  std::vector<const Implementation*> found;
  for (const OperationKernels& kernels : cpu_backend().table) {
    if (kernels.operation != &operation) continue;
    for (const Implementation& one : kernels.implementations.first(kernels.implementations.size() - 1))
      found.push_back(&one);
  }
  return found;
}

TEST_P(Contract, EveryKernelAgreesWithTheReference) {
  const Operation& operation = *GetParam();
  const std::vector<Case> cases = cases_of(operation);
  ASSERT_FALSE(cases.empty()) << operation.name << " has no cases";
  std::map<std::string, Tally> tallies;
  for (const Case& one : cases) {
    CaseRun run(one);
    for (const char* cap : caps) {
      for (const Implementation* implementation : candidates(operation)) {
        const Outcome outcome = run.compare(*implementation, facts_under(cap));
        const std::string who = fmt::format("{} [{}]", implementation->name, *cap == '\0' ? "all" : cap);
        EXPECT_EQ(outcome.broken, "") << who << ": " << one.label;
        ++(outcome.ran ? tallies[who].ran : tallies[who].declined);
      }
    }
  }
  for (const auto& [who, tally] : tallies)
    fmt::print("{}, {}: {} ran, {} declined\n", operation.name, who, tally.ran, tally.declined);
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

TEST(Backends, TakeEveryCaseOfEveryOperation) {
  const MachineFacts facts = read_machine_facts();
  for (const Operation* operation : computed_operations()) {
    for (const Case& one : cases_of(*operation)) {
      for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
        const Offer offer = prepare(*backend, one.call, facts);
        ASSERT_TRUE(std::holds_alternative<Prepared>(offer)) << backend->name << ": " << one.label;
      }
    }
  }
}

}  // namespace
}  // namespace assay::contract
