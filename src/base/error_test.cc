#include "base/error.h"

#include <gtest/gtest.h>

#include <new>

namespace assay {
namespace {

TEST(Error, RefusedMemoryIsOneKindOfErrorWhoeverReportsIt) {
  EXPECT_THROW(with_memory_errors([]() -> int { throw std::bad_alloc(); }), OutOfMemory);
  EXPECT_EQ(with_memory_errors([] { return 7; }), 7);
  try {
    fail_memory("model.safetensors: cannot be mapped", 3'000'000);
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(), "model.safetensors: cannot be mapped: 3.00 MB were asked for, the system refuses");
    EXPECT_EQ(error.needed_bytes, 3e6);
    EXPECT_EQ(error.code(), ExitCode::lacking);
  }
}

}  // namespace
}  // namespace assay
