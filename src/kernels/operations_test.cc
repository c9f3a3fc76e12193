#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/contract.h"
#include "kernels/cuda/on_host/on_host.h"

// What every operation of program/operation.h must have in this room. Its gradient's check: gradient_test.cc.

namespace assay {
namespace {

class EveryOperation : public testing::TestWithParam<const Operation*> {};

/// The GPU's table is one for GPUs and for the host.
TEST_P(EveryOperation, HasOneRowInTheTableOfEachBackend) {
  const Operation& operation = *GetParam();
  for (const Backend* backend : {&reference_backend(), &cpu_backend(), &cuda_on_host_backend()}) {
    const auto rows = std::count_if(backend->table.begin(), backend->table.end(), [&](const OperationKernels& row) {
      return row.operation == &operation && !row.implementations.empty();
    });
    EXPECT_EQ(rows, operation.alias ? 0 : 1) << operation.name << " in the table of " << backend->name;
  }
}

TEST_P(EveryOperation, HasContractCases) {
  EXPECT_EQ(contract::cases_of(*GetParam()).empty(), GetParam()->alias) << GetParam()->name;
}

TEST_P(EveryOperation, IsTheOnlyOneOfItsName) {
  const auto all = all_operations();
  const auto alike = [&](const Operation* other) { return std::string_view(other->name) == GetParam()->name; };
  EXPECT_EQ(std::count_if(all.begin(), all.end(), alike), 1) << GetParam()->name;
}

INSTANTIATE_TEST_SUITE_P(Operations, EveryOperation,
                         testing::ValuesIn(all_operations().begin(), all_operations().end()),
                         [](const auto& test) { return test.param->name; });

}  // namespace
}  // namespace assay
