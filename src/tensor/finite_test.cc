#include "tensor/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

TEST(AllFinite, OneElementThatIsNotIsFoundWhereverItStands) {
  constexpr std::int64_t count = 200'001;  // over several threads' parts, and a remainder
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::e5m2, DType::e4m3}) {
    for (const std::int64_t at : {std::int64_t{0}, count / 2, count - 1}) {
      for (const float value : {INFINITY, -INFINITY, NAN}) {
        Tensor wide(DType::f32, {count});
        for (std::int64_t i = 0; i < count; ++i) wide.as<float>()[i] = static_cast<float>(i % 7) - 3.5F;
        EXPECT_TRUE(all_finite(converted(wide.view(), dtype).view())) << name(dtype);
        wide.as<float>()[at] = value;
        EXPECT_FALSE(all_finite(converted(wide.view(), dtype).view())) << name(dtype) << " " << value << " at " << at;
      }
    }
  }
}

TEST(AllFinite, TheLargestValuesAreFinite) {
  Tensor wide(DType::f32, {2});
  wide.as<float>()[0] = std::numeric_limits<float>::max();
  wide.as<float>()[1] = std::numeric_limits<float>::lowest();
  EXPECT_TRUE(all_finite(wide.view()));
  wide.as<float>()[0] = 65504;
  wide.as<float>()[1] = -65504;
  EXPECT_TRUE(all_finite(converted(wide.view(), DType::f16).view()));
  wide.as<float>()[0] = 65536;
  EXPECT_FALSE(all_finite(converted(wide.view(), DType::f16).view())) << "rounds to infinity";
}

}  // namespace
}  // namespace assay
