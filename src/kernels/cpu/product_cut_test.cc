#include "kernels/cpu/product_cut.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/matmul_codes.h"

namespace assay::cpu {
namespace {

MachineFacts machine_with(std::int64_t second_cache) {
  MachineFacts facts;
  facts.caches = {{.level = 1, .bytes = 32 * 1024}, {.level = 2, .bytes = second_cache}};
  return facts;
}

Product product_between(std::int64_t rows, std::int64_t columns, std::int64_t depth, Factor::Order order, int threads) {
  const Factor factor = {.data = nullptr, .dtype = DType::bf16, .rounded = DType::bf16, .order = order};
  return {.rows = rows,
          .columns = columns,
          .depth = depth,
          .a = factor,
          .b = factor,
          .onto = {},
          .y = {nullptr, DType::f32, columns * 4},
          .threads = threads};
}

/// How often the cut's tasks come to each of the product's rows in each of its panels.
std::vector<int> visits(const Product& product, const Cut& cut) {
  const std::int64_t panels = ceil_div(product.columns, micro::panel_width);
  std::vector<int> counts(static_cast<std::size_t>(panels * product.rows));
  for (std::int64_t index = 0; index < cut.tasks(); ++index) {
    const Cut::Task task = cut.task(index);
    for (std::int64_t panel = task.first_panel; panel < std::min(task.first_panel + cut.panels, panels); ++panel) {
      for (std::int64_t row = task.first_row; row < std::min(task.end_row, product.rows); ++row)
        ++counts[static_cast<std::size_t>(panel * product.rows + row)];
    }
  }
  return counts;
}

TEST(ProductCut, ComesToEveryPlaceOnce) {
  for (const MatmulCode& code :
       {codes::bf16_dot_products(), codes::bf16_tiles(), codes::f32(), codes::f32_strips_avx2()}) {
    for (const Factor::Order order : {Factor::Order::k_contiguous, Factor::Order::k_strided}) {
      for (const auto& [rows, columns, depth] :
           {std::tuple{1, 1, 1}, std::tuple{13, 33, 7}, std::tuple{512, 768, 3072}, std::tuple{3072, 768, 512},
            std::tuple{509, 10007, 768}, std::tuple{5, 64, 0}, std::tuple{9, 0, 3}}) {
        for (const int threads : {1, 2, 7, 64}) {
          const Product product = product_between(rows, columns, depth, order, threads);
          for (const int count : visits(product, choose_cut(product, machine_with(1 << 20), code)))
            ASSERT_EQ(count, 1) << rows << " x " << columns << " x " << depth << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(ProductCut, EndsWithSmallPiecesWhereThreadsWaitForOneAnother) {
  const Product product = product_between(512, 768, 3072, Factor::Order::k_contiguous, 2);
  const Cut shared = choose_cut(product, machine_with(1 << 20), codes::bf16_dot_products());
  EXPECT_GE(shared.split(), 2);
  EXPECT_GE(shared.pieces(), 2);
  const Product alone = product_between(512, 768, 3072, Factor::Order::k_contiguous, 1);
  EXPECT_EQ(choose_cut(alone, machine_with(1 << 20), codes::bf16_dot_products()).split(), 0);
}

TEST(ProductCut, KeepsWhatIsPackedInTheSecondCache) {
  for (const std::int64_t cache : {256 * 1024, 512 * 1024, 1024 * 1024, 2048 * 1024}) {
    const Product product = product_between(2048, 3072, 4096, Factor::Order::k_strided, 2);
    const Cut cut = choose_cut(product, machine_with(cache), codes::bf16_dot_products());
    EXPECT_LE(cut.panels * cut.groups * sum_row_bytes, cache);
    EXPECT_LE(cut.panels * cut.rows * sum_row_bytes, cache) << "sums, which outlive a chunk of this depth";
  }
}

}  // namespace
}  // namespace assay::cpu
