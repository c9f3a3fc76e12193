#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "base/random.h"
#include "formats/testing.h"
#include "text/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

Json bpe_file() {
  return Json::parse(R"({"added_tokens": [{"id": 5, "content": "<|x|>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": ["a b", ["ab", "c"]]}})");
}

Json wordpiece_file() {
  return Json::parse(R"({"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "b": 3, ",": 4}}})");
}

Ids encode(const Json& file, std::string_view text) {
  return parse_tokenizer_json(file.dump(), "T").encode(text);
}

/// The error for a file changed by a JSON merge patch.
std::string error_of(Json file, const char* patch) {
  file.merge_patch(Json::parse(patch));
  return user_error_of([&] { parse_tokenizer_json(file.dump(), "T"); });
}

TEST(Tokenizers, WordPieceTakesTheLongestTokenFirst) {
  EXPECT_EQ(encode(wordpiece_file(), "AB, ba b"), (Ids{1, 2, 4, 0, 3}));
  EXPECT_EQ(encode(wordpiece_file(), std::string(100, 'a')), (Ids{0}));
  EXPECT_EQ(encode(wordpiece_file(), ""), (Ids{}));
}

TEST(Tokenizers, AWordOfMoreThan100CharactersIsUnknown) {
  EXPECT_EQ(encode(wordpiece_file(), "a" + std::string(99, 'b')).size(), 100u);
  EXPECT_EQ(encode(wordpiece_file(), "a" + std::string(100, 'b')), (Ids{0}));
}

TEST(Tokenizers, BytePairsMergeByRankAndBytesTheVocabularyLacksLeaveNothing) {
  EXPECT_EQ(encode(bpe_file(), "abcabzc<|x|>a"), (Ids{4, 4, 5, 0}));
}

TEST(Tokenizers, LongWordsMergeAsShortOnesDo) {
  // The same ids whether 32 bytes are looked at pair by pair or thousands by rank.
  Ids expected;
  std::string text;
  for (int i = 0; i < 1998; ++i) {
    text += i % 3 == 0 ? "abc" : i % 3 == 1 ? "ab" : "cb";
    for (const int id : i % 3 == 0 ? Ids{4} : i % 3 == 1 ? Ids{4} : Ids{1}) expected.push_back(id);
  }
  EXPECT_EQ(encode(bpe_file(), text), expected);
  EXPECT_EQ(encode(bpe_file(), text.substr(0, 21)), Ids(expected.begin(), expected.begin() + 9));
}

Json marked_file(const char* merges) {
  Json file = Json::parse(R"({"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    "model": {"type": "BPE", "byte_fallback": true, "vocab": {"\u2581": 0, "a": 1, "b": 2, "\u2581a": 3, "a\u2581": 4,
    "\u2581\u2581": 5, "\u2581\u2581a": 6, "ab": 7}}})");
  file["model"]["merges"] = Json::parse(merges);
  return file;
}

TEST(Tokenizers, TokensMayReachOverASpace) {
  const char* inside = R"(["\u2581 a", "\u2581 \u2581", "\u2581 \u2581a", "a b"])";
  EXPECT_EQ(encode(marked_file(inside), "a a  ab  "), (Ids{1, 3, 6, 2, 5}));
  EXPECT_EQ(encode(marked_file(inside), "  "), (Ids{5}));
  const char* across = R"(["a \u2581", "\u2581 a", "a b"])";
  EXPECT_EQ(encode(marked_file(across), "a ab a"), (Ids{4, 7, 3}));
}

TEST(Tokenizers, TextThatIsNotUtf8IsRefusedWithItsOffset) {
  const Tokenizer tokenizer = parse_tokenizer_json(bpe_file().dump(), "T");
  EXPECT_EQ(user_error_of([&] { tokenizer.encode("ab\xFF", "f.txt"); }), "f.txt: is not UTF-8: byte 0xff at offset 2");
  for (const char* odd : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
    EXPECT_NE(user_error_of([&] { tokenizer.encode(odd); }).find("at offset 0"), std::string::npos);
  }
}

TEST(Tokenizers, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"type": "Uni"}})"), "T: the model 'Uni' is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"normalizer": {"type": "NFX"}})"), "T: the normalizer 'NFX' is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"decoder": {"type": "CTC"}})"), "T: the decoder 'CTC' is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"pre_tokenizer": {"type": "Meta\nspace"}})"),
            "T: the pre_tokenizer 'Meta\\x0aspace' is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"post_processor": {"type": "Odd"}})"),
            "T: the post_processor 'Odd' is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"dropout": 0.1}})"), "T: a BPE model with dropout is not supported");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"byte_fallback": true}})"),
            "T: a BPE model with fuse_unk or byte_fallback whose vocabulary lacks bytes is not supported");
  EXPECT_EQ(error_of(wordpiece_file(),
                     R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}})"),
            "T: Metaspace with prepend_scheme first after a BertNormalizer that strips accents is not supported");
}

TEST(Tokenizers, ExpressionsThatAreNotKnownAreShown) {
  for (const char* odd :
       {"(?<=a)b", "(a)\\\\1", "a**", "[[:alpha:]]", "\\\\bword", "[a&&b]", "(?i:ss)", "a{2}+", "^a", "(a"}) {
    const std::string patch = R"({"pre_tokenizer": {"type": "Split", "behavior": "Removed", "pattern": {"Regex": ")" +
                              std::string(odd) + "\"}}}";
    const std::string message = error_of(bpe_file(), patch.c_str());
    EXPECT_TRUE(message.starts_with("T: the regular expression '")) << odd << ": " << message;
  }
}

TEST(Tokenizers, TextThatComesInPartsIsWholeCharacters) {
  Json file = bpe_file();
  file["decoder"] = {{"type", "ByteLevel"}};
  for (const char* letter : {"\u00C3", "\u00A9"}) file["model"]["vocab"][letter] = file["model"]["vocab"].size();
  file["added_tokens"][0]["id"] = 7;
  const Tokenizer tokenizer = parse_tokenizer_json(file.dump(), "T");
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(3), "ab");
  EXPECT_EQ(stream.add(5), "");
  EXPECT_EQ(stream.add(6), "\u00E9");
  EXPECT_EQ(stream.add(7), "") << "a special token";
  EXPECT_EQ(stream.add(5), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

/// Ids of random tokens and broken bytes, long stretches of one kind among them.
std::vector<std::int32_t> random_stream(Random& random, std::int64_t largest_id) {
  std::vector<std::int32_t> ids;
  while (ids.size() < 200) {
    const auto id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(largest_id) + 2));
    ids.insert(ids.end(), random.below(5) == 0 ? 30 : 1, id);
  }
  return ids;
}

TEST(Tokenizers, TextInPartsIsThatOfAllIdsHoweverLongItStaysBroken) {
  Json file = bpe_file();
  file["decoder"] = {{"type", "ByteLevel"}};
  for (const char* letter : {"\u00C3", "\u00A9", "\u00E2", "\u0124", "\u00AC"})  // bytes C3, A9, E2, 82, AC
    file["model"]["vocab"][letter] = file["model"]["vocab"].size();
  file["added_tokens"][0]["id"] = 10;
  const Tokenizer tokenizer = parse_tokenizer_json(file.dump(), "T");
  Random random(3, 0);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::int32_t> ids = random_stream(random, tokenizer.largest_id);
    TextStream stream(tokenizer);
    std::string told;
    for (const std::int32_t id : ids) told += stream.add(id);
    EXPECT_EQ(told + stream.finish(), tokenizer.decode(ids));
  }
}

TEST(Tokenizers, TextGoesOnBehindBytesThatSpoilWhatWasTold) {
  Json file = bpe_file();
  file["decoder"] = {{"type", "ByteFallback"}};
  const auto first = static_cast<std::int32_t>(file["model"]["vocab"].size());
  for (const char* byte : {"<0xE2>", "<0x82>", "<0xAC>", "<0xFF>"})
    file["model"]["vocab"][byte] = file["model"]["vocab"].size();
  file["added_tokens"][0]["id"] = first + 4;
  const Tokenizer tokenizer = parse_tokenizer_json(file.dump(), "T");
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(first), "");
  EXPECT_EQ(stream.add(first + 1), "");
  EXPECT_EQ(stream.add(first + 2), "\u20AC");
  EXPECT_EQ(stream.add(first + 3), "") << "with it, all four bytes are broken";
  EXPECT_EQ(stream.add(3), "\uFFFDab");
  EXPECT_EQ(stream.add(3), "ab");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizers, HostileFilesAreRefusedInOneLine) {
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"vocab": null}})"),
            "T: the vocabulary is not an object of tokens and ids");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"merges": ["a z"]}})"),
            "T: merge 1 needs the token 'z', which the vocabulary lacks");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"merges": ["b a"]}})"),
            "T: merge 1 needs the token 'ba', which the vocabulary lacks");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"merges": ["a b c"]}})"),
            "T: merge 1: 'a b c' is not two tokens with one space between");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"merges": [7]}})"), "T: merge 1: is neither two strings nor one");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"vocab": {"c": -1}}})"),
            "T: token 'c' has id -1, outside 0 to 2^31 - 2");
  EXPECT_EQ(error_of(bpe_file(), R"({"model": {"vocab": {"c": 1.5}}})"),
            "T: the id of token 'c' is not a whole number");
  EXPECT_NE(error_of(bpe_file(), R"({"model": {"vocab": {"c": 18446744073709551615}}})").find("outside"),
            std::string::npos);
  EXPECT_NE(error_of(bpe_file(), R"({"model": {"vocab": {"c": 1}}})").find("share id 1"), std::string::npos);
  EXPECT_EQ(error_of(bpe_file(), R"({"added_tokens": [{"id": 9, "content": "q"}]})"),
            "T: the added token 'q' has id 9, by the vocabulary it must be 5");
  EXPECT_EQ(error_of(bpe_file(), R"({"added_tokens": [{"content": "q"}, {"content": "q"}]})"),
            "T: the added token 'q' stands twice");
  EXPECT_EQ(error_of(wordpiece_file(), R"({"added_tokens": [{"content": "\u0301", "normalized": true}]})"),
            "T: the added token '\u0301' normalises to nothing");
  EXPECT_EQ(error_of(wordpiece_file(), R"({"model": {"unk_token": "U"}})"),
            "T: the vocabulary lacks the unk_token 'U'");
  EXPECT_EQ(
      error_of(wordpiece_file(), R"({"post_processor": {"type": "BertProcessing", "cls": ["a", 5], "sep": ["b", 3]}})"),
      "T: the post_processor has the id 5, the largest is 4");
  for (const char* text :
       {"", "{", "[]", "null", "{}", "{\"model\": 3}", "{\"model\": {\"vocab\": {\"a\": 1, \"a\": 2}}}"}) {
    EXPECT_EQ(user_error_of([&] { parse_tokenizer_json(text, "T"); }).find("T: "), 0u) << text;
  }
}

TEST(Tokenizers, FolderWithoutATokenizerSaysWhatWasLookedFor) {
  const TemporaryFolder folder;
  const std::string message = user_error_of([&] { load_tokenizer(folder.path()); });
  EXPECT_NE(message.find("has no tokenizer.json"), std::string::npos);
  folder.file("spm.model", "");
  EXPECT_NE(user_error_of([&] { load_tokenizer(folder.path()); }).find("spm.model: is not read"), std::string::npos);
  folder.file("vocab.json", "{\"a\": 0}");
  folder.file("merges.txt", "#version: 0.2\na\n");
  EXPECT_NE(user_error_of([&] { load_tokenizer(folder.path()); }).find("merges.txt:2: 'a' is not"), std::string::npos);
}

TEST(Tokenizers, DuplicateLineOfAVocabularyText) {
  const TemporaryFolder folder;
  folder.file("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\na\n");
  EXPECT_NE(user_error_of([&] { load_tokenizer(folder.path()); }).find("'a' stands twice"), std::string::npos);
  folder.file("vocab.txt", "[UNK]\n[CLS]\na\n");
  EXPECT_NE(user_error_of([&] { load_tokenizer(folder.path()); }).find("lacks the token '[SEP]'"), std::string::npos);
}

TEST(Tokenizers, PublishedCountsOfSst2) {
  if (!fs::exists(shared_folder)) GTEST_SKIP() << "no shared folder";
  const Tokenizer tokenizer = load_tokenizer(shared_folder / "models/distilbert-sst2-mini");
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::wordpiece);
  EXPECT_EQ(tokenizer.vocabulary_size(), 30522);
  for (const auto& [name, count] : {std::pair{"train.tsv", 161'526u}, {"dev.tsv", 20'599u}, {"test.tsv", 42'298u}}) {
    std::size_t tokens = 0;
    for (const std::string& sentence : load_labelled_tsv(shared_folder / "data/sst2" / name).sentences) {
      tokens += tokenizer.encode(sentence).size();
    }
    EXPECT_EQ(tokens, count) << name;
  }
}

TEST(Tokenizers, DetokenisedDevSetGivesThePaddedOnesIds) {
  if (!fs::exists(shared_folder)) GTEST_SKIP() << "no shared folder";
  const Tokenizer tokenizer = load_tokenizer(shared_folder / "models/distilbert-sst2-mini");
  const LabelledSet set = load_labelled_tsv(shared_folder / "data/sst2/dev_glue_detokenised.tsv");
  const TokenBatch padded = load_npy_folder(shared_folder / "data/sst2_distilbert_padded");
  ASSERT_EQ(static_cast<std::int64_t>(set.sentences.size()), padded.batch);
  for (std::int64_t row = 0; row < padded.batch; ++row) {
    Ids ids = tokenizer.encode(set.sentences[row]);
    ids.resize(padded.seq, 0);
    const auto first = padded.input_ids.begin() + row * padded.seq;
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), first)) << set.sentences[row];
  }
}

}  // namespace
}  // namespace assay
