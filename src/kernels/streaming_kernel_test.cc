#include "kernels/streaming_kernel.h"

#include <gtest/gtest.h>

#include <vector>

#include "hardware/machine.h"
#include "kernels/cpu/linear_testing.h"

namespace assay::cpu {
namespace {

using testing::LinearCase;
using testing::LinearProblem;

/// What the chosen kernel says that it streams of a weight at `weight`; nothing where it streams none.
ReadSoon streamed(const LinearProblem& problem, const MachineFacts& facts, const std::byte* weight) {
  const Offer offer = prepare(cpu_backend(), problem.call(), facts);
  const Prepared& prepared = std::get<Prepared>(offer);
  const auto* const kernel = dynamic_cast<const StreamingKernel*>(prepared.kernel.get());
  if (kernel == nullptr) return {};
  std::vector<const std::byte*> inputs(problem.call().inputs.size());
  inputs[prepared.packing.size() - 1] = weight;
  std::byte* const outputs[] = {nullptr};
  return kernel->reads({.inputs = inputs, .outputs = outputs});
}

TEST(StreamingKernel, AFewRowsReadTheWholeWeightAndManyStreamNone) {
  const MachineFacts facts = read_machine_facts({.max_isa = {}, .threads = 2, .root = "/"});
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  const std::byte weight{};
  for (const DType dtype : {DType::f32, DType::bf16, DType::s8}) {
    LinearCase c;
    c.in = 96;
    c.out = 200;
    c.weight = dtype;
    c.threads = 2;
    const LinearProblem one(c);
    const ReadSoon read = streamed(one, facts, &weight);
    EXPECT_EQ(read.data, &weight) << name(dtype);
    EXPECT_EQ(read.units, 7);  // panels of 32 rows
    EXPECT_EQ(read.unit_bytes, 32 * 96 * static_cast<std::int64_t>(size_of(dtype)));
    c.rows = 64;
    const LinearProblem many(c);
    EXPECT_EQ(streamed(many, facts, &weight).data, nullptr) << name(dtype);
  }
}

}  // namespace
}  // namespace assay::cpu
