#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "tensor/ledger.h"

namespace assay {
namespace {

TEST(Shape, CountsElementsAndRefusesWhatCannotBe) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 128, 768}), 2 * 128 * 768);
  EXPECT_EQ(element_count({0, std::int64_t{1} << 62}), 0);
  EXPECT_EQ(element_count({std::int64_t{1} << 31, std::int64_t{1} << 31}), std::int64_t{1} << 62);
  EXPECT_THROW(element_count({std::int64_t{1} << 32, std::int64_t{1} << 31}), Error);
  EXPECT_THROW(element_count({4, -1}), Error);
  EXPECT_EQ(to_string(Shape{2, 3}), "(2, 3)");
}

TEST(Tensor, OwnsAlignedMemoryOfItsSize) {
  const Tensor tensor(DType::bf16, {3, 5});
  EXPECT_EQ(tensor.bytes(), 30U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
}

TEST(Tensor, ViewFollowsAMove) {
  Tensor tensor(DType::f32, {4});
  const std::byte* memory = tensor.data();
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.view().data, memory);
}

TEST(Memory, ARefusedAllocationIsALackOfTheMachine) {
#ifdef ASSAY_ADDRESS_SANITIZER
  GTEST_SKIP() << "AddressSanitizer ends the program at such a request";
#endif
  try {
    allocate_aligned(std::size_t{1} << 60);
    FAIL() << "an exbibyte was granted";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.code(), ExitCode::lacking);
    EXPECT_EQ(error.needed_bytes, std::ldexp(1, 60));
  }
}

/// What Linux keeps of the mapping that holds the address ("rd wr mr mw me ac hg").
std::string flags_of_mapping(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool holds = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') holds = begin <= wanted && wanted < end;
    if (holds && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(Memory, LargeTensorsAskForHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "this system has none";
  const Tensor large(DType::f32, {3, 1000, 1000});
  EXPECT_NE(flags_of_mapping(large.data() + large.bytes() / 2).find(" hg "), std::string::npos);
}

TEST(Ledger, VerdictsHaveTheirNames) {
  EXPECT_STREQ(name(Verdict::native), "native");
  EXPECT_STREQ(name(Verdict::widened), "widened");
  EXPECT_STREQ(name(Verdict::unsupported), "unsupported");
}

}  // namespace
}  // namespace assay
