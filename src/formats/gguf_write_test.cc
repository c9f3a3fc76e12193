#include "formats/gguf_write.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing.h"

namespace assay {
namespace {

GgufTensorSource tensor_of(const std::string& name, GgmlType type, const Shape& shape, const std::string& bytes) {
  return {name, type, shape, [bytes](const ByteSink& sink) { sink(std::as_bytes(std::span(bytes))); }};
}

TEST(GgufWrite, IsReadBackAsItWas) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.gguf";
  write_gguf(
      path,
      {gguf_text("general.architecture", "llama"), gguf_count("llama.block_count", 3),
       gguf_number("llama.rope.freq_base", 1e4F), gguf_truth("tokenizer.ggml.add_bos_token", true),
       gguf_texts("tokenizer.ggml.tokens", {"a", "", "\u00e4"}), gguf_integers("tokenizer.ggml.token_type", {1, -2})},
      {tensor_of("q", GgmlType::q4_0, {3, 64}, std::string(3 * 2 * 18, 'q')),
       tensor_of("v", GgmlType::f32, {3}, std::string(12, 'v'))});
  const Gguf file = open_gguf(path);
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("llama.block_count"), 3);
  EXPECT_EQ(file.number("llama.rope.freq_base"), 1e4);
  EXPECT_TRUE(file.truth("tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(file.texts("tokenizer.ggml.tokens"), (std::vector<std::string_view>{"a", "", "\u00e4"}));
  EXPECT_EQ(file.integers("tokenizer.ggml.token_type"), (std::vector<std::int64_t>{1, -2}));
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.find_tensor("q")->shape, (Shape{3, 64}));
  EXPECT_EQ(file.find_tensor("q")->type, GgmlType::q4_0);
  EXPECT_EQ(file.find_tensor("q")->bytes[107], std::byte{'q'});
  EXPECT_EQ(file.find_tensor("v")->bytes[0], std::byte{'v'});
}

TEST(GgufWrite, CopiesValuesOfAnotherFile) {
  const TemporaryFolder folder;
  const std::filesystem::path first = folder.path() / "first.gguf";
  write_gguf(first,
             {gguf_text("a", "text"), gguf_count("b", 3), gguf_texts("c", {"x", "yz"}), gguf_integers("d", {1, 2})},
             {});
  std::vector<GgufEntry> copies;
  const Gguf file = open_gguf(first);
  for (const GgufValue& value : file.metadata) copies.push_back(gguf_copy(value));
  write_gguf(folder.path() / "second.gguf", copies, {});
  EXPECT_EQ(read_file(first), read_file(folder.path() / "second.gguf"));
}

TEST(GgufWrite, LeavesNothingWhereATensorCannotBeMade) {
  const TemporaryFolder folder;
  const GgufTensorSource broken = {"t", GgmlType::f32, {2}, [](const ByteSink&) { fail_user("no such weight"); }};
  EXPECT_EQ(user_error_of([&] { write_gguf(folder.path() / "model.gguf", {}, {broken}); }), "no such weight");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace assay
