#include "formats/gguf_parts.h"

#include <fmt/format.h>

#include "base/testing.h"
#include "formats/gguf_testing.h"

namespace assay {
namespace {

struct PartText {
  std::uint16_t number = 0;
  std::uint16_t count = 2;
  std::string tensor = "a";
  std::int32_t tensors = 2;
};

std::string part_file(const PartText& part) {
  GgufFileText file;
  file.values = {gguf_value("split.no", GgufType::u16, little_endian(part.number)),
                 gguf_value("split.count", GgufType::u16, little_endian(part.count)),
                 gguf_value("split.tensors.count", GgufType::s32, little_endian(part.tensors))};
  file.tensors = {gguf_tensor({.name = part.tensor})};
  file.data = std::string(34, 'x');
  return gguf_file(file);
}

class GgufParts : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const PartText& part) const {
    write_file_atomically(folder_.path() / name, part_file(part));
    return folder_.path() / name;
  }
  std::string error(const std::filesystem::path& path) const {
    return user_error_of([&] { open_gguf_parts(path); });
  }
  TemporaryFolder folder_;
};

TEST_F(GgufParts, AreFoundBesideTheFirstAndInOrder) {
  const auto first = write("m-00001-of-00002.gguf", {});
  write("m-00002-of-00002.gguf", {.number = 1, .tensor = "b"});
  const auto parts = open_gguf_parts(first);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_NE(parts[0]->find_tensor("a"), nullptr);
  EXPECT_NE(parts[1]->find_tensor("b"), nullptr);
}

TEST_F(GgufParts, OfAWholeFileAreItself) {
  EXPECT_EQ(open_gguf_parts(write("whole.gguf", {.count = 1, .tensors = 1})).size(), 1U);
}

TEST_F(GgufParts, WhatDoesNotBelongTogetherIsNamed) {
  const auto first = write("m-00001-of-00002.gguf", {});
  EXPECT_TRUE(error(first).ends_with("m-00002-of-00002.gguf: is missing, part 2 of 2")) << error(first);
  const auto second = write("m-00002-of-00002.gguf", {.number = 0});
  EXPECT_TRUE(error(first).ends_with("m-00002-of-00002.gguf: does not say that it is part 2 of 2")) << error(first);
  write("m-00002-of-00002.gguf", {.number = 1});
  EXPECT_TRUE(error(second).ends_with("is part 2 of 2; name the first, which ends in '-00001-of-00002.gguf'"));
  write("m-00001-of-00002.gguf", {.tensors = 7});
  EXPECT_TRUE(error(first).ends_with("claims 7 tensors in its 2 parts, they hold 2")) << error(first);
  EXPECT_TRUE(error(write("renamed.gguf", {})).ends_with("where its name ends in '-00001-of-00002.gguf'"));
  EXPECT_TRUE(error(write("many.gguf", {.count = 65535})).ends_with("where its name ends in '-00001-of-65535.gguf'"));
}

}  // namespace
}  // namespace assay
