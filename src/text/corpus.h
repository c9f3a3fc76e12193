#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Token ids of one shape, row-major.
struct TokenBatch {
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::vector<std::int32_t> input_ids;         ///< (batch, seq), >= 0; whether a model has the ids, the caller checks.
  std::vector<std::uint8_t> attention_mask;    ///< (batch, seq), 1 real, 0 padding; empty: all real.
  std::vector<std::int32_t> labels;            ///< (batch) or (batch, seq), -100 is not counted; empty: none.
  std::vector<std::int32_t> token_types = {};  ///< (batch, seq), >= 0; empty: all 0.
  std::string ids_name = {};                   ///< Where the ids were read (file, member): begins errors about them.
  std::string labels_name = {};
};

/// Sentences as words, each with its class.
struct TaggedSet {
  struct Row {
    std::vector<std::string> words;
    std::vector<std::int32_t> tags;  ///< >= 0, or -100 where a word does not count.
    std::string place;               ///< "file:line", for errors.
  };
  std::vector<Row> rows;
};

/// What the labels of a file are: classes, or numbers that a model's scores are compared with.
enum class LabelKind : std::uint8_t { classes, numbers };

/// What a model's classes are called, in its order; empty where they have no names. A label may be a name, in letters
/// of any case (ASCII's), in the place of its number.
using ClassNames = std::vector<std::string>;
/// Absent where it is none of them.
std::optional<std::int32_t> class_named(std::string_view label, const ClassNames& names);
/// "none of the model's classes: entailment, neutral", for an error about a label that is neither name nor number.
std::string no_class(const ClassNames& names);

/// Sentences, or pairs of them, with their labels; all have the same length.
struct LabelledSet {
  std::vector<std::string> sentences;
  std::vector<std::int32_t> labels;       ///< Classes, >= 0; empty where labels are numbers.
  std::string file = {};                  ///< That they were read from.
  std::size_t first_line = 2;             ///< Of the file, that holds a sentence.
  std::vector<std::string> seconds = {};  ///< Of pairs; empty: single sentences.
  std::vector<double> numbers = {};       ///< Labels as numbers; empty where they are classes.

  bool has_pairs() const { return !seconds.empty(); }

  /// "file:line" of a sentence, for errors.
  std::string place_of(std::size_t sentence) const;
};

/// Names under which data sets keep two sentences, the first and the second.
struct PairNames {
  const char* first;
  const char* second;
};
inline constexpr PairNames pair_names[] = {{"sentence1", "sentence2"},
                                           {"premise", "hypothesis"},
                                           {"question1", "question2"},
                                           {"question", "sentence"},
                                           {"text1", "text2"}};

/// A file of UTF-8 lines "sentence<TAB>label" below the header "sentence<TAB>label", or of pairs with the columns of
/// pair_names and "label" or "score". Lines end in "\n" or "\r\n"; the last one may lack its end. Throws a user error
/// "file:line: ..." for a blank line, another number of tabs, or a label that is not a whole number from 0 to 2^31 - 1,
/// or no number.
LabelledSet load_labelled_tsv(const std::filesystem::path& path, LabelKind kind = LabelKind::classes,
                              const ClassNames& names = {});

/// A folder of NumPy arrays: input_ids.npy (rows, seq), and where they exist attention_mask.npy (rows, seq) of 0 and 1
/// and labels.npy (rows) or (rows, seq), token_type_ids.npy (rows, seq). Throws a user error that names the file.
TokenBatch load_npy_folder(const std::filesystem::path& path);

/// A file {"input_ids": [[...]], "attention_mask": [[...]]?, "labels": [...] or [[...]]?, "token_type_ids":
/// [[...]]?}. Throws a user error that names the file for ragged or empty batches, for what is not a whole number, and
/// for members of other names.
TokenBatch load_token_json(const std::filesystem::path& path);

/// The same of a text; `name` is the file in errors.
TokenBatch parse_token_json(std::string_view text, const std::string& name);

}  // namespace assay
