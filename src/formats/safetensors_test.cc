#include "formats/safetensors.h"

#include <array>
#include <vector>

#include "formats/testing.h"

namespace assay {
namespace {

std::string safetensors_file(const std::string& header, const std::string& data) {
  return little_endian(std::uint64_t{header.size()}) + header + data;
}

std::string safetensors_error_of(const std::string& file) {
  return user_error_of([&] { parse_safetensors(bytes_of(file), "m.safetensors"); });
}

std::string error_of_header(const std::string& header) {
  return safetensors_error_of(safetensors_file(header, ""));
}

/// Two f32 tensors of 8 and 4 bytes, in the order b, a.
std::string small_safetensors() {
  return safetensors_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                          R"("b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"format":"pt"}})",
                          little_endian(1.5F) + little_endian(-2.0F) + little_endian(0.25F));
}

TEST(Safetensors, GivesTensorsByNameWithTheirBytes) {
  const std::string file = small_safetensors();
  const SafetensorsContent content = parse_safetensors(bytes_of(file), "m.safetensors");
  ASSERT_EQ(content.tensors.size(), 2U);
  EXPECT_EQ(content.tensors[0].name, "a");
  EXPECT_EQ(content.tensors[1].name, "b");
  EXPECT_EQ(content.tensors[1].shape, (Shape{2, 1}));
  EXPECT_EQ(content.tensors[1].stored, "F32");
  EXPECT_EQ(content.tensors[1].dtype, DType::f32);
  EXPECT_EQ(content.metadata.at("format"), "pt");
  std::array<float, 2> values{};
  std::memcpy(values.data(), content.tensors[1].bytes.data(), sizeof(values));
  EXPECT_EQ(values, (std::array<float, 2>{1.5F, -2.0F}));
}

TEST(Safetensors, ReadsScalarsAndEmptyTensorsAndAnEmptyFile) {
  const std::string file = safetensors_file(R"({"s":{"dtype":"F16","shape":[],"data_offsets":[0,2]},)"
                                            R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[2,2]}}  )",
                                            "xy");
  const SafetensorsContent content = parse_safetensors(bytes_of(file), "m.safetensors");
  EXPECT_EQ(content.tensors[0].view().count(), 0);
  EXPECT_EQ(content.tensors[1].view().count(), 1);
  EXPECT_TRUE(parse_safetensors(bytes_of(safetensors_file("{}", "")), "m.safetensors").tensors.empty());
}

TEST(Safetensors, ListsBuffersThatNoWeightCanBe) {
  const std::string file =
      safetensors_file(R"({"position_ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", "12345678");
  const StoredTensor ids = parse_safetensors(bytes_of(file), "m.safetensors").tensors[0];
  EXPECT_EQ(ids.stored, "I64");
  EXPECT_FALSE(ids.dtype.has_value());
  EXPECT_EQ(user_error_of([&] { (void)ids.view(); }),
            "tensor 'position_ids': is stored as I64, which no weight can be");
}

TEST(Safetensors, AFileCutAnywhereIsAUserErrorOfOneLine) {
  const std::string file = small_safetensors();
  for (std::size_t size = 0; size < file.size(); ++size) safetensors_error_of(file.substr(0, size));
}

TEST(Safetensors, ATruncatedFileNamesTheFirstMissingTensor) {
  const std::string file = small_safetensors();
  const std::size_t data = file.size() - 12;
  EXPECT_EQ(safetensors_error_of(file.substr(0, data + 8)),
            fmt::format("m.safetensors: tensor 'a' ends at byte {}, the file has {}", file.size(), file.size() - 4));
  EXPECT_EQ(safetensors_error_of(file.substr(0, data + 1)),
            fmt::format("m.safetensors: tensor 'b' ends at byte {}, the file has {}", data + 8, data + 1));
}

TEST(Safetensors, RefusesHeadersThatDoNotFit) {
  EXPECT_EQ(safetensors_error_of(little_endian(std::uint64_t{100}) + "{}"),
            "m.safetensors: the header ends at byte 108, the file has 10");
  EXPECT_EQ(safetensors_error_of(little_endian(~std::uint64_t{0}) + "{}"),
            "m.safetensors: the header claims 18446744073709551615 bytes, at most 100000000 are read");
  EXPECT_EQ(safetensors_error_of("short"), "m.safetensors: has 5 bytes, too few for a safetensors file");
}

TEST(Safetensors, RefusesHostileEntries) {
  const std::vector<HostileHeader> cases = {
      {R"({"t":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "tensor 't' has the unknown dtype 'F31'"},
      {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "tensor 't' begins at offset 4 and ends at 0"},
      {R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       "tensor 't' of F32 (2) needs 8 bytes, its offsets span 4"},
      {R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       "tensor 't' of shape (4294967296, 4294967296) has more than 2^62 bytes"},
      {R"({"t":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]}})",
       "tensor 't' has 9223372036854775808 in 'shape', more than 2^62"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,18446744073709551616]}})",
       "tensor 't' has 18446744073709551615 in 'data_offsets', more than 2^62"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551616,0]}})",
       "tensor 't' has a number in 'data_offsets' that is not whole or past 2^64"},
      {R"({"t":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", "tensor 't' has the negative number -1 in 'shape'"},
      {R"({"t":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", "not whole"},
      {R"({"t":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", "the header has an array at tensor 't'"},
      {R"({"t":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", "the header has a number at tensor 't'"},
      {R"({"t":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})", "the header has an array at tensor 't'"},
      {R"({"t":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", "the header has a string at tensor 't'"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", "tensor 't' needs two data_offsets"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "tensor 't' has more than two data_offsets"},
      {R"({"t":{"dtype":"U8","shape":[1]}})", "tensor 't' needs two data_offsets"},
      {R"({"t":{"shape":[1],"data_offsets":[0,1]}})", "tensor 't' has no dtype"},
      {R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", "tensor 't' has no shape"},
      {R"({"t":{"dtype":"U8","dtype":"U8"}})", "tensor 't' has 'dtype' twice"},
      {R"({"t":{"colour":1}})", "tensor 't' has the unknown field 'colour'"},
      {R"({"t":[]})", "the header has an array at 't'"},
      {R"({"t":null})", "the header has null at 't'"},
      {R"({"t":true})", "the header has a boolean at 't'"},
      {R"({"__metadata__":{"a":1}})", "the header has a number at 'a'"},
      {R"({"__metadata__":{"a":{}}})", "the header has an object at 'a'"},
      {R"({"__metadata__":{},"__metadata__":{}})", "'__metadata__' stands twice"},
      {R"({"__metadata__":{"k":"","k":""}})", "metadata 'k' stands twice"},
      {R"([])", "the header is an array, an object is needed"},
      {R"(7)", "the header is a number, an object is needed"},
      {R"({} {})", "not valid JSON"},
      {R"({}x)", "not valid JSON"},
      {R"({"t":)", "not valid JSON"},
      {"", "not valid JSON"},
      {"{\"\xff\":{}}", "not valid JSON"},
      {"{\"a\\nb\":null}", "'a\\x0ab'"},
  };
  for (const HostileHeader& hostile : cases) {
    const std::string message = error_of_header(hostile.header);
    EXPECT_NE(message.find(hostile.message), std::string::npos) << hostile.header << "\n  gave: " << message;
    EXPECT_TRUE(message.starts_with("m.safetensors: ")) << message;
  }
}

TEST(Safetensors, RefusesWhatIsNestedDeep) {
  EXPECT_EQ(error_of_header(std::string(100'000, '[')), "m.safetensors: the header is an array, an object is needed");
  EXPECT_NE(error_of_header("{\"t\":{\"shape\":" + std::string(100'000, '[')).find("has an array at tensor 't'"),
            std::string::npos);
}

TEST(Safetensors, RefusesMoreThanAnyModelHas) {
  std::string metadata = R"({"__metadata__":{)";
  for (int i = 0; i < 70'000; ++i) metadata += fmt::format("\"{}\":\"\",", i);
  EXPECT_EQ(error_of_header(metadata), "m.safetensors: holds more than 65536 metadata");
#ifdef ASSAY_ADDRESS_SANITIZER
  return;  // Each of a million tensors takes the same way, slowly there: the other build counts them.
#endif
  std::string tensors = "{";
  for (int i = 0; i < 1'050'000; ++i)
    tensors += fmt::format(R"("{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}},)", i);
  EXPECT_EQ(error_of_header(tensors), "m.safetensors: holds more than 1048576 tensors");
}

TEST(Safetensors, RefusesOverlapsGapsAndLeftovers) {
  const auto entry = [](const char* name, int begin, int end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name, end - begin, begin, end);
  };
  const auto error_of_two = [&](const std::string& a, const std::string& b, const std::string& data) {
    return safetensors_error_of(safetensors_file("{" + a + "," + b + "}", data));
  };
  EXPECT_NE(error_of_two(entry("a", 0, 4), entry("b", 3, 6), "123456").find("tensor 'b' begins at byte"),
            std::string::npos);
  EXPECT_EQ(error_of_two(entry("a", 0, 4), entry("b", 5, 6), "123456"),
            "m.safetensors: a gap of 1 bytes stands before tensor 'b'");
  EXPECT_EQ(error_of_two(entry("a", 0, 4), entry("b", 4, 6), "1234567"),
            "m.safetensors: 1 bytes follow the last tensor");
  EXPECT_EQ(error_of_two(entry("a", 0, 4), entry("a", 4, 6), "123456"), "m.safetensors: tensor 'a' stands twice");
  EXPECT_EQ(safetensors_error_of(safetensors_file("{}", "x")), "m.safetensors: 1 bytes follow the last tensor");
}

TEST(Safetensors, OnlyRegularReadableFilesOpen) {
  const TemporaryFolder folder;
  const auto loop = folder.path() / "loop.safetensors";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_TRUE(user_error_of([&] { open_safetensors(folder.path()); }).ends_with("is a folder, a file is needed"));
  EXPECT_TRUE(user_error_of([&] { open_safetensors(folder.file("empty.safetensors", "")); }).ends_with("is empty"));
  EXPECT_TRUE(user_error_of([&] { open_safetensors(loop); }).starts_with(loop.string()));
  EXPECT_TRUE(user_error_of([&] { open_safetensors(folder.path() / "none"); }).ends_with("No such file or directory"));
}

TEST(Safetensors, TensorsThatLieMisalignedCanBeReadAsTheirType) {
  const TemporaryFolder folder;
  for (int padding = 0; padding < 8; ++padding) {
    const std::string header = R"({"t":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})" + std::string(padding, ' ');
    const auto path = folder.file("m.safetensors", safetensors_file(header, little_endian(0.1)));
    const Safetensors file = open_safetensors(path);
    const double* value = file.find("t")->view().as<double>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value) % sizeof(double), 0U);
    EXPECT_EQ(*value, 0.1);
  }
}

TEST(Safetensors, ReadsTheSharedClassifier) {
  const std::filesystem::path path = std::filesystem::path(ASSAY_SHARED_DIR) / "models/distilbert-sst2-mini";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs the shared model distilbert-sst2-mini";
  const Safetensors model = open_safetensors_folder(path);
  const StoredTensor* embedding = model.find("distilbert.embeddings.word_embeddings.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (Shape{30522, 384}));
  EXPECT_EQ(embedding->stored, "F32");
  std::size_t bytes = 0;
  for (const StoredTensor& tensor : model.tensors) bytes += tensor.bytes.size();
  EXPECT_LT(bytes, 90'865'200U);
  EXPECT_GT(bytes, 90'865'200U - 100'000U);
}

}  // namespace
}  // namespace assay
