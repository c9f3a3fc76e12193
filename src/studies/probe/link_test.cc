#include "studies/probe/link.h"

#include <gtest/gtest.h>

#include "processes/thread_ranks.h"
#include "results/table.h"

namespace assay {
namespace {

TEST(Link, AllRanksGetTheSameFiguresOfWhatTheyExchanged) {
  std::vector<Link> links(3);
  run_as_ranks(3, [&](Group& group) { links[static_cast<std::size_t>(group.rank())] = measure_link(group); });
  for (const Link& link : links) {
    EXPECT_EQ(link.ranks, 3);
    EXPECT_EQ(link.machines, 1);
    EXPECT_GT(link.latency_us.value, 0);
    EXPECT_GT(link.bandwidth_gb_s.value, 0);
    EXPECT_EQ(link.latency_us.value, links.front().latency_us.value);
    EXPECT_EQ(link.bandwidth_gb_s.value, links.front().bandwidth_gb_s.value);
    ASSERT_TRUE(link.latency_us.interval);
    EXPECT_LE(link.latency_us.interval->low, link.latency_us.value);
    EXPECT_GE(link.latency_us.interval->high, link.latency_us.value);
  }
  Document document;
  add_link(links.front(), document);
  const OrderedJson json = to_json(document);
  EXPECT_EQ(json.at("link").at("ranks"), 3);
  EXPECT_GT(json.at("link").at("bandwidth_gb_s").get<double>(), 0);
}

}  // namespace
}  // namespace assay
