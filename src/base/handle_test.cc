#include "base/handle.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace assay {
namespace {

std::vector<int>& destroyed() {
  static std::vector<int> values;
  return values;
}

void destroy(int value) {
  destroyed().push_back(value);
}

using Owner = Handle<int, destroy, -1>;

class HandleTest : public testing::Test {
 protected:
  void SetUp() override { destroyed().clear(); }
};

TEST_F(HandleTest, DestroysOnceAndNeverNothing) {
  {
    const Owner nothing;
    EXPECT_FALSE(nothing);
    const Owner zero(0);
    EXPECT_TRUE(zero) << "0 is a descriptor like any other";
  }
  EXPECT_EQ(destroyed(), std::vector<int>{0});
}

TEST_F(HandleTest, AMoveHandsTheResourceOver) {
  {
    Owner first(7);
    const Owner second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), 7);
  }
  EXPECT_EQ(destroyed(), std::vector<int>{7});
}

TEST_F(HandleTest, AnAssignmentDestroysBothInTheEnd) {
  {
    Owner first(1);
    Owner second(2);
    first = std::move(second);
    EXPECT_EQ(first.get(), 2);
  }
  EXPECT_EQ(destroyed().size(), 2U);
}

}  // namespace
}  // namespace assay
