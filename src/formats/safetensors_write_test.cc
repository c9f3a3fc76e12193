#include <cmath>
#include <limits>

#include "formats/safetensors.h"
#include "formats/testing.h"

namespace assay {
namespace {

Tensor filled(DType dtype, const Shape& shape, unsigned char first) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(first + i);
  return tensor;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(WriteSafetensors, WhatIsWrittenReadsBackByteForByte) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "out.safetensors";
  std::vector<NamedTensor> written;
  std::vector<Tensor> tensors;
  for (const DType dtype :
       {DType::u8, DType::f16, DType::f32, DType::f64, DType::bf16, DType::s8, DType::s32, DType::e4m3, DType::e5m2}) {
    tensors.push_back(filled(dtype, {3, 1, 5}, static_cast<unsigned char>(tensors.size() * 31)));
    written.push_back({std::string("t\"\n ü ") + name(dtype), tensors.back().view()});
  }
  tensors.push_back(filled(DType::f32, {}, 7));
  written.push_back({"scalar", tensors.back().view()});
  written.push_back({"empty", TensorView{DType::f16, {4, 0}, nullptr}});
  write_safetensors(path, written, {{"format", "pt"}, {"made by", "assay"}});

  const Safetensors read = open_safetensors(path);
  EXPECT_EQ(read.tensors.size(), written.size());
  EXPECT_TRUE(read.copies.empty()) << "every tensor lies aligned in the file";
  EXPECT_EQ(read.metadata.at("made by"), "assay");
  for (const NamedTensor& expected : written) {
    const StoredTensor* got = read.find(expected.name);
    ASSERT_NE(got, nullptr) << expected.name;
    EXPECT_EQ(got->dtype, expected.view.dtype);
    EXPECT_EQ(got->shape, expected.view.shape);
    EXPECT_EQ(text_of(got->bytes), text_of({expected.view.data, expected.view.bytes()}));
  }
}

TEST(WriteSafetensors, TheSameTensorsGiveTheSameFileInAnyOrder) {
  const TemporaryFolder folder;
  const Tensor a = filled(DType::f32, {2}, 1);
  const Tensor b = filled(DType::f32, {3}, 2);
  write_safetensors(folder.path() / "1", {{"a", a.view()}, {"b", b.view()}});
  write_safetensors(folder.path() / "2", {{"b", b.view()}, {"a", a.view()}});
  EXPECT_EQ(read_file(folder.path() / "1"), read_file(folder.path() / "2"));
}

TEST(WriteSafetensors, AFailureLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const Tensor a = filled(DType::f32, {2}, 1);
  const auto path = folder.file("m.safetensors", "old");
  EXPECT_NE(user_error_of([&] { write_safetensors(path, {{"a", a.view()}, {"a", a.view()}}); }).find("'a' was to be"),
            std::string::npos);
  EXPECT_NE(user_error_of([&] { write_safetensors(path, {{"\xff", a.view()}}); }).find("is not UTF-8"),
            std::string::npos);
  EXPECT_THROW(write_file_atomically(path,
                                     [](const ByteSink& sink) {
                                       sink(bytes_of("half"));
                                       fail_user("stopped");
                                     }),
               Error);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  user_error_of([&] { write_safetensors(folder.path() / "none" / "m.safetensors", {{"a", a.view()}}); });
}

}  // namespace
}  // namespace assay
