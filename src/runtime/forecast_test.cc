#include "runtime/forecast.h"

#include <gtest/gtest.h>

#include "runtime/testing.h"

namespace assay {
namespace {

/// Forecast and plan of the small model in that precision on the cpu backend.
void expect_equal(const char* precision) {
  SCOPED_TRACE(precision);
  const SmallModel model;
  Instance instance = model.instance(precision, "", cpu_backend());
  const PlanOptions options{.extent = {2, 9}};
  const Forecast seen =
      forecast(instance.program(), {instance.precision(), model.weights, instance.backend(), model.facts}, options);
  const Plan plan(instance, options);
  EXPECT_EQ(seen.constant_bytes(), instance.resident_bytes());
  EXPECT_EQ(seen.arena_bytes(), plan.arena_bytes());
  ASSERT_EQ(seen.ledger.size(), plan.steps().size());
  for (std::size_t i = 0; i < seen.ledger.size(); ++i) {
    const LedgerRow& row = plan.steps()[i].ledger;
    EXPECT_EQ(seen.ledger[i].path, row.path);
    EXPECT_EQ(seen.ledger[i].kernel, row.kernel);
    EXPECT_EQ(seen.ledger[i].evidence, row.evidence);
    EXPECT_EQ(seen.ledger[i].flops, row.flops);
  }
  EXPECT_EQ(seen.layout.nodes.size(), plan.steps().size());
  EXPECT_GE(seen.loading_bytes, seen.constant_bytes() + seen.slab_gap_bytes);
  EXPECT_GE(seen.slab_gap_bytes, 0);
}

TEST(Forecast, EqualsWhatAPlanThenHolds) {
  for (const char* precision : {"fp32", "bf16", "fp16", "mixed-bf16", "int8", "int8-weights"}) expect_equal(precision);
}

}  // namespace
}  // namespace assay
