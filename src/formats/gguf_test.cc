#include "formats/gguf.h"

#include <cmath>

#include "formats/gguf_testing.h"

namespace assay {
namespace {

std::string gguf_error_of(const std::string& file) {
  return user_error_of([&] { parse_gguf(bytes_of(file), "m.gguf"); });
}

std::string u32_value(std::string_view key, std::uint32_t value) {
  return gguf_value(key, GgufType::u32, little_endian(value));
}

/// Two tensors, Q8_0 of (2, 32) at offset 0 and F32 of (3) behind it, and some metadata.
std::string small_gguf() {
  const std::string tokens = gguf_text("a") + gguf_text("") + gguf_text("ü");
  return gguf_file({.values = {gguf_value("general.name", GgufType::text, gguf_text("small")),
                               gguf_value("tokens", GgufType::array, gguf_array(GgufType::text, 3, tokens)),
                               gguf_value("scores", GgufType::array,
                                          gguf_array(GgufType::f32, 2, little_endian(0.5F) + little_endian(-1.0F))),
                               gguf_value("flag", GgufType::boolean, std::string(1, '\1'))},
                    .tensors = {gguf_tensor({.name = "q", .extents = {32, 2}, .type = 8, .offset = 0}),
                                gguf_tensor({.name = "f", .extents = {3}, .type = 0, .offset = 96})},
                    .data = std::string(96, '\0') + little_endian(1.0F) + little_endian(2.0F) + little_endian(3.0F)});
}

TEST(Gguf, GivesMetadataAndTensors) {
  const std::string file = small_gguf();
  const Gguf gguf = parse_gguf(bytes_of(file), "m.gguf");
  EXPECT_EQ(gguf.version, 3U);
  EXPECT_EQ(gguf.text("general.name"), "small");
  EXPECT_EQ(gguf.texts("tokens"), (std::vector<std::string_view>{"a", "", "ü"}));
  EXPECT_EQ(gguf.floats("scores"), (std::vector<float>{0.5F, -1.0F}));
  EXPECT_TRUE(gguf.truth("flag"));
  ASSERT_NE(gguf.find_tensor("q"), nullptr);
  EXPECT_EQ(gguf.find_tensor("q")->shape, (Shape{2, 32})) << "row-major: the file has the innermost extent first";
  std::vector<float> values(3);
  dequantise(*gguf.find_tensor("f"), values);
  EXPECT_EQ(values, (std::vector<float>{1.0F, 2.0F, 3.0F}));
  EXPECT_EQ(gguf.find_tensor("none"), nullptr);
}

TEST(Gguf, NumbersOfEveryWidthAreRead) {
  const std::string file =
      gguf_file({.version = 2,
                 .values = {gguf_value("u8", GgufType::u8, little_endian(std::uint8_t{200})),
                            gguf_value("s8", GgufType::s8, little_endian(std::int8_t{-7})),
                            gguf_value("u16", GgufType::u16, little_endian(std::uint16_t{60000})),
                            gguf_value("s16", GgufType::s16, little_endian(std::int16_t{-300})),
                            u32_value("u32", 4'000'000'000U), gguf_value("s32", GgufType::s32, little_endian(-70'000)),
                            gguf_value("u64", GgufType::u64, little_endian(std::uint64_t{1} << 40)),
                            gguf_value("s64", GgufType::s64, little_endian(std::int64_t{-5})),
                            gguf_value("big", GgufType::u64, little_endian(~std::uint64_t{0})),
                            gguf_value("f32", GgufType::f32, little_endian(1e-5F)),
                            gguf_value("f64", GgufType::f64, little_endian(0.1))}});
  const Gguf gguf = parse_gguf(bytes_of(file), "m.gguf");
  EXPECT_EQ(gguf.integer("u8"), 200);
  EXPECT_EQ(gguf.integer("s8"), -7);
  EXPECT_EQ(gguf.integer("u16"), 60000);
  EXPECT_EQ(gguf.integer("s16"), -300);
  EXPECT_EQ(gguf.integer("u32"), 4'000'000'000);
  EXPECT_EQ(gguf.integer("s32"), -70'000);
  EXPECT_EQ(gguf.integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(gguf.integer("s64"), -5);
  EXPECT_EQ(gguf.number("f32"), static_cast<double>(1e-5F));
  EXPECT_EQ(gguf.number("f64"), 0.1);
  EXPECT_EQ(gguf.number("s16"), -300.0);
  EXPECT_EQ(user_error_of([&] { (void)gguf.integer("big"); }),
            "m.gguf: 'big' holds 18446744073709551615, which passes 2^63 - 1");
  EXPECT_EQ(user_error_of([&] { (void)gguf.integer("f32"); }), "m.gguf: 'f32' is f32, an integer is needed");
}

TEST(Gguf, AskingForAnotherTypeNamesFileAndKey) {
  const std::string file = small_gguf();
  const Gguf gguf = parse_gguf(bytes_of(file), "m.gguf");
  EXPECT_EQ(user_error_of([&] { (void)gguf.text("llama.pre"); }), "m.gguf: has no 'llama.pre'");
  EXPECT_EQ(user_error_of([&] { (void)gguf.text("tokens"); }),
            "m.gguf: 'tokens' is an array of text, a text is needed");
  EXPECT_EQ(user_error_of([&] { (void)gguf.texts("scores"); }),
            "m.gguf: 'scores' is an array of f32, an array of texts is needed");
  EXPECT_EQ(user_error_of([&] { (void)gguf.integers("flag"); }),
            "m.gguf: 'flag' is boolean, an array of integers is needed");
  EXPECT_EQ(user_error_of([&] { (void)gguf.number("general.name"); }),
            "m.gguf: 'general.name' is text, a number is needed");
}

TEST(Gguf, AFileCutAnywhereIsAUserErrorOfOneLine) {
  const std::string file = small_gguf();
  for (std::size_t size = 0; size < file.size(); ++size) gguf_error_of(file.substr(0, size));
}

TEST(Gguf, ATruncatedFileNamesTheFirstMissingTensor) {
  const std::string file = small_gguf();
  EXPECT_EQ(gguf_error_of(file.substr(0, file.size() - 1)),
            fmt::format("m.gguf: tensor 'f' ends at byte {}, the file has {}", file.size(), file.size() - 1));
  EXPECT_EQ(gguf_error_of(file.substr(0, file.size() - 108 + 5)),
            fmt::format("m.gguf: tensor 'q' ends at byte {}, the file has {}", file.size() - 40, file.size() - 103));
}

TEST(Gguf, AnyByteMayBeWrongWithoutHarm) {
  const std::string file = small_gguf();
  int refused = 0;
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      try {
        parse_gguf(bytes_of(changed), "m.gguf");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::user) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(Gguf, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(gguf_error_of("PK\3\4 and so on"), "m.gguf: is not a GGUF file");
  EXPECT_EQ(gguf_error_of(gguf_file({.version = 1})), "m.gguf: is GGUF version 1, read are 2 and 3");
  EXPECT_EQ(gguf_error_of(gguf_file({.version = 4})), "m.gguf: is GGUF version 4, read are 2 and 3");
  EXPECT_EQ(gguf_error_of(gguf_file({.version = 0x03000000})),
            "m.gguf: is big-endian, only little-endian files are read");
}

TEST(Gguf, RefusesHostileCountsAndLengths) {
  const std::string head = "GGUF" + little_endian(std::uint32_t{3});
  const auto counts = [&](std::uint64_t tensors, std::uint64_t values) {
    return gguf_error_of(head + little_endian(tensors) + little_endian(values));
  };
  EXPECT_EQ(counts(std::uint64_t{1} << 60, 0), "m.gguf: claims 1152921504606846976 tensors, at most 1048576 are read");
  EXPECT_EQ(counts(0, ~std::uint64_t{0}), "m.gguf: claims 18446744073709551615 values, at most 1048576 are read");
  EXPECT_EQ(counts(1000, 0), "m.gguf: claims 1000 tensors, more than its 0 remaining bytes can hold");
  EXPECT_EQ(counts(0, 1000), "m.gguf: claims 1000 values, more than its 0 remaining bytes can hold");
  const std::string huge = little_endian(std::uint64_t{1} << 63);
  EXPECT_NE(gguf_error_of(gguf_file({.values = {huge + "key and more"}})).find("inside a value's key"),
            std::string::npos);
  EXPECT_NE(gguf_error_of(gguf_file({.values = {gguf_value("k", GgufType::text, huge)}})).find("inside a text value"),
            std::string::npos);
  for (const GgufType element : {GgufType::u8, GgufType::f64, GgufType::text, GgufType::array}) {
    const std::string array = gguf_array(element, std::uint64_t{1} << 61, std::string(64, '\0'));
    gguf_error_of(gguf_file({.values = {gguf_value("k", GgufType::array, array)}}));
  }
}

TEST(Gguf, RefusesHostileValues) {
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += gguf_array(GgufType::array, 1, "");
  EXPECT_EQ(gguf_error_of(gguf_file({.values = {gguf_value("k", GgufType::array, nested)}})),
            "m.gguf: 'k' has arrays nested deeper than 4");
  EXPECT_EQ(gguf_error_of(gguf_file({.values = {gguf_value("k", GgufType{13}, "") + std::string(8, '\0')}})),
            "m.gguf: 'k' has the unknown type 13");
  EXPECT_EQ(gguf_error_of(gguf_file({.values = {gguf_value("k", GgufType::boolean, "\2")}})),
            "m.gguf: 'k' holds a truth value that is neither 0 nor 1");
  EXPECT_EQ(gguf_error_of(gguf_file({.values = {u32_value("k\n", 1), u32_value("k\n", 2)}})),
            "m.gguf: the key 'k\\x0a' stands twice");
}

struct HostileTensor {
  GgufTensorText tensor;
  const char* message;
};

TEST(Gguf, RefusesHostileTensors) {
  const std::uint64_t big = std::uint64_t{1} << 40;
  const std::vector<HostileTensor> cases = {
      {{.type = 19}, "tensor 't' is stored as IQ1_S (type 19); read are F32, F16, BF16, Q8_0, "},
      {{.type = 77}, "tensor 't' is stored as type 77;"},
      {{.extents = {33}}, "tensor 't' of shape (33) is stored as Q8_0, whose blocks of 32 its rows do not fill"},
      {{.extents = {}}, "tensor 't' of shape () is stored as Q8_0, whose blocks of 32"},
      {{.extents = {big, big}}, "tensor 't' has more than 2^62 elements"},
      {{.extents = {32, ~std::uint64_t{0}}}, "tensor 't' has more than 2^62 elements"},
      {{.extents = {1, 1, 1, 1, 1}}, "tensor 't' has 5 extents, at most 4 are read"},
      {{.extents = {std::uint64_t{1} << 61}, .type = 0}, "tensor 't' has more than 2^62 bytes"},
      {{.offset = 16}, "tensor 't' has offset 16, no multiple of 32"},
      {{.offset = ~std::uint64_t{31}}, "tensor 't' has offset 18446744073709551584, more than 2^62"},
      {{.offset = 64}, "tensor 't' ends at byte"},
      {{.name = std::string("\x1b[2J\n", 5), .type = 9}, "tensor '\\x1b[2J\\x0a' is stored as Q8_1 (type 9)"},
  };
  for (const HostileTensor& hostile : cases) {
    const std::string message =
        gguf_error_of(gguf_file({.tensors = {gguf_tensor(hostile.tensor)}, .data = std::string(34, '\0')}));
    EXPECT_NE(message.find(hostile.message), std::string::npos) << message;
  }
}

TEST(Gguf, RefusesOverlapsAndDuplicates) {
  const auto error_of_two = [](const GgufTensorText& a, const GgufTensorText& b) {
    return gguf_error_of(gguf_file({.tensors = {gguf_tensor(a), gguf_tensor(b)}, .data = std::string(200, '\0')}));
  };
  EXPECT_EQ(error_of_two({.name = "a"}, {.name = "b", .offset = 32}),
            "m.gguf: tensor 'b' at offset 32 begins inside the tensor before it");
  EXPECT_EQ(error_of_two({.name = "a"}, {.name = "a", .offset = 64}), "m.gguf: tensor 'a' stands twice");
}

TEST(Gguf, FollowsItsAlignment) {
  const auto file_with = [](std::uint32_t alignment, std::uint64_t offset) {
    return gguf_file({.values = {u32_value("general.alignment", alignment)},
                      .tensors = {gguf_tensor({.extents = {1}, .type = 0, .offset = offset})},
                      .data = std::string(offset, '\0') + little_endian(7.0F),
                      .alignment = alignment == 0 ? 1 : alignment});
  };
  for (const std::uint32_t alignment : {8U, 64U, 4096U}) {
    const std::string file = file_with(alignment, alignment);
    std::vector<float> value(1);
    dequantise(parse_gguf(bytes_of(file), "m.gguf").tensors[0], value);
    EXPECT_EQ(value[0], 7.0F);
  }
  for (const std::uint32_t alignment : {0U, 1U, 12U, 1U << 30}) {
    EXPECT_NE(
        gguf_error_of(
            file_with(alignment == 1U << 30 ? 8 : alignment, 0).replace(24 + 8 + 17 + 4, 4, little_endian(alignment)))
            .find("general.alignment is"),
        std::string::npos);
  }
}

TEST(Gguf, OnlyRegularReadableFilesOpen) {
  const TemporaryFolder folder;
  EXPECT_TRUE(user_error_of([&] { open_gguf(folder.path()); }).ends_with("is a folder, a file is needed"));
  EXPECT_TRUE(user_error_of([&] { open_gguf(folder.file("empty.gguf", "")); }).ends_with("is empty"));
  Gguf moved = open_gguf(folder.file("m.gguf", small_gguf()));
  const Gguf gguf = std::move(moved);
  EXPECT_EQ(gguf.text("general.name"), "small") << "views outlive a move";
}

}  // namespace
}  // namespace assay
