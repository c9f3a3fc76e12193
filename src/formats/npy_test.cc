#include "formats/npy.h"

#include <algorithm>
#include <numeric>

#include "formats/testing.h"

namespace assay {
namespace {

std::string npy_file(const std::string& header, const std::string& data) {
  return "\x93NUMPY" + std::string("\1\0", 2) + little_endian(static_cast<std::uint16_t>(header.size())) + header +
         data;
}

std::string npy_error_of(const std::string& file) {
  return user_error_of([&] { parse_npy(bytes_of(file), "x.npy"); });
}

std::string small_npy() {
  return npy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }  \n",
                  little_endian(-7) + little_endian(9));
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const std::string file = small_npy();
  const NpyArray array = parse_npy(bytes_of(file), "x.npy");
  EXPECT_EQ(array.type, NpyType::s32);
  EXPECT_EQ(array.shape, (Shape{2, 1}));
  EXPECT_EQ(array.integers(), (std::vector<std::int64_t>{-7, 9}));
  EXPECT_EQ(array.numbers(), (std::vector<double>{-7.0, 9.0}));
}

TEST(Npy, ReadsVersionsTwoAndThreeAndAnyOrderOfKeys) {
  const std::string header = R"({"shape":(),"descr":"<f8","fortran_order":False})";
  for (const char version : {'\2', '\3'}) {
    const std::string file = "\x93NUMPY" + std::string{version, '\0'} +
                             little_endian(static_cast<std::uint32_t>(header.size())) + header + little_endian(0.1);
    EXPECT_EQ(parse_npy(bytes_of(file), "x.npy").numbers(), (std::vector<double>{0.1}));
  }
}

TEST(Npy, AFileCutAnywhereIsAUserErrorOfOneLine) {
  const std::string file = small_npy();
  for (std::size_t size = 0; size < file.size(); ++size) npy_error_of(file.substr(0, size));
  npy_error_of(file + "x");
}

TEST(Npy, RefusesEveryOtherHeader) {
  const std::vector<HostileHeader> cases = {
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "element type '<c8' is not read"},
      {"{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}", "element type '>i4' is not read"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "element type '|O' is not read"},
      {"{'descr': '<i4', 'fortran_order': True, 'shape': (1,)}", "is in Fortran order"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (5)}", "needs ',' at its byte"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}", "needs an extent below 2^63"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "needs an extent below 2^63"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "has more than 2^62 bytes"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", "needs 8 bytes, the file has 4"},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}", "neither 0 nor 1"},
      {"{'descr': '<i4', 'fortran_order': False}", "lacks one of"},
      {"{'descr': '<i4', 'descr': '<i4'}", "unknown or repeated key 'descr'"},
      {"{'descr': __import__('os'), 'shape': (1,)}", "needs a quoted text"},
      {"{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}", "needs True or False"},
      {"{'descr': '<i4' 'shape': (1,)}", "needs ',' or '}'"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x", "needs the end"},
      {"{'descr': '<i4", "needs a closing quote"},
      {"{'a\nb': 1}", "key 'a\\x0ab'"},
      {"((((((", "needs '{'"},
      {"", "needs '{'"},
  };
  for (const HostileHeader& hostile : cases) {
    const std::string message = npy_error_of(npy_file(hostile.header, "abcd"));
    EXPECT_NE(message.find(hostile.message), std::string::npos) << hostile.header << "\n  gave: " << message;
  }
  std::string many = "{'shape': (";
  for (int i = 0; i < 1000; ++i) many += "1,";
  EXPECT_EQ(npy_error_of(npy_file(many, "")), "x.npy: has more than 32 extents");
}

TEST(Npy, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(npy_error_of("PK\3\4 and more"), "x.npy: is not a .npy file");
  EXPECT_EQ(npy_error_of("\x93NUMPY" + std::string("\4\0", 2)),
            "x.npy: is version 4.0 of .npy, read are 1.0, 2.0 and 3.0");
  EXPECT_EQ(npy_error_of("\x93NUMPY" + std::string("\2\0\xff\xff\xff\xff", 6)),
            "x.npy: the header claims 4294967295 bytes, at most 10000 are read");
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.npy";
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{2, 3}, Shape{0}, Shape{3, 0, 2}}) {
    for (const NpyType type : {NpyType::boolean, NpyType::u8, NpyType::s32, NpyType::s64, NpyType::f32, NpyType::f64}) {
      const std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape)) * size_of(type), std::byte{1});
      write_npy(path, type, shape, bytes);
      const NpyArray array = open_npy(path);
      EXPECT_EQ(array.type, type);
      EXPECT_EQ(array.shape, shape);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), array.bytes.begin(), array.bytes.end()));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.bytes.data()) % 64, 0U);
    }
  }
}

TEST(Npy, IntegersAreNotMadeOfFloats) {
  const std::string file = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", little_endian(1.0F));
  const NpyArray array = parse_npy(bytes_of(file), "x.npy");
  EXPECT_EQ(user_error_of([&] { (void)array.integers(); }), "x.npy: holds <f4, integers are needed");
}

TEST(Npy, ReadsTheSharedSets) {
  const std::filesystem::path data = std::filesystem::path(ASSAY_SHARED_DIR) / "data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "needs the shared data folder";
  const auto ids = open_npy(data / "sst2_distilbert_padded/input_ids.npy");
  EXPECT_EQ(ids.shape, (Shape{872, 128}));
  const std::vector<std::int64_t> values = ids.integers();
  for (std::size_t row = 0; row < 872; ++row) ASSERT_EQ(values[row * 128], 101) << "each row begins with [CLS]";
  const auto mask = open_npy(data / "gpt2_wikitext2_padded/attention_mask.npy");
  EXPECT_EQ(mask.type, NpyType::u8);
  EXPECT_EQ(mask.shape, (Shape{1940, 128}));
}

}  // namespace
}  // namespace assay
