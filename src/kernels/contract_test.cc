#include "kernels/contract.h"

#include <gtest/gtest.h>

#include <tuple>

#include "hardware/machine.h"

namespace assay::contract {
namespace {

/// The instruction sets under which the suite runs: all that this machine has, and fewer.
constexpr const char* caps[] = {"", "avx2", "none"};

MachineFacts facts_under(const char* cap) {
  MachineFacts facts = read_machine_facts();
  if (*cap == '\0') return facts;
  const bool avx2 = facts.isa.avx2 && std::string(cap) == "avx2";
  facts.isa = {};
  facts.isa.avx2 = avx2;
  return facts;
}

using Parameter = std::tuple<const Operation*, const char*>;

class Contract : public testing::TestWithParam<Parameter> {};

struct Tally {
  int ran = 0;
  int declined = 0;
};

Tally run_all(const Implementation& implementation, const std::vector<Case>& cases, const MachineFacts& facts) {
  Tally tally;
  for (const Case& one : cases) {
    const Outcome outcome = run_case(one, implementation, facts);
    EXPECT_EQ(outcome.broken, "") << implementation.name << ": " << one.label;
    ++(outcome.ran ? tally.ran : tally.declined);
  }
  return tally;
}

TEST_P(Contract, EveryKernelAgreesWithTheReference) {
  const auto& [operation, cap] = GetParam();
  const MachineFacts facts = facts_under(cap);
  const std::vector<Case> cases = cases_of(*operation);
  ASSERT_FALSE(cases.empty()) << operation->name << " has no cases";
  for (const Backend* backend : {&cpu_backend()}) {
    for (const OperationKernels& kernels : backend->table) {
      if (kernels.operation != operation) continue;
      for (const Implementation& implementation : kernels.implementations.first(kernels.implementations.size() - 1)) {
        const Tally tally = run_all(implementation, cases, facts);
        std::printf("%s %s, %s: %d ran, %d declined\n", backend->name, operation->name, implementation.name, tally.ran,
                    tally.declined);
      }
    }
  }
}

std::vector<const Operation*> computed_operations() {
  std::vector<const Operation*> computed;
  for (const Operation* operation : all_operations()) {
    if (!operation->alias) computed.push_back(operation);
  }
  return computed;
}

std::string test_name(const testing::TestParamInfo<Parameter>& info) {
  const char* cap = std::get<1>(info.param);
  return std::string(std::get<0>(info.param)->name) + (*cap == '\0' ? "" : "_") + cap;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Contract,
                         testing::Combine(testing::ValuesIn(computed_operations()), testing::ValuesIn(caps)),
                         test_name);

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
