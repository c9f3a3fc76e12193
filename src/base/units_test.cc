#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

TEST(Units, BytesAreDecimal) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(91'300'000), "91.3 MB");
  EXPECT_EQ(format_bytes(1e6), "1.00 MB") << "10^6, not 2^20";
  EXPECT_EQ(format_bytes(1'200'000'000), "1.20 GB");
  EXPECT_EQ(format_bytes(2500), "2.50 kB");
}

TEST(Units, SignificantDigitsHoldOverMagnitudes) {
  EXPECT_EQ(format_significant(0.01234), "0.0123");
  EXPECT_EQ(format_significant(1.2345), "1.23");
  EXPECT_EQ(format_significant(12.345), "12.3");
  EXPECT_EQ(format_significant(1234.4), "1234");
  EXPECT_EQ(format_significant(-0.5), "-0.500");
  EXPECT_EQ(format_significant(0), "0");
  EXPECT_EQ(format_significant(3.14159, 5), "3.1416");
  EXPECT_EQ(format_significant(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_significant(std::nan("")), "nan");
}

TEST(Units, CountsHaveThousandsSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(124'439'808), "124,439,808");
  EXPECT_EQ(format_count(-12'345), "-12,345");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace assay
