#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// Token ids of a batch, row by row.
struct TokenBatch {
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::vector<std::int32_t> input_ids;       ///< (batch, seq)
  std::vector<std::uint8_t> attention_mask;  ///< (batch, seq), 1 is real; empty: all real
  std::vector<std::int32_t> labels;          ///< (batch, seq) or (batch); empty: none
};

/// {"input_ids": [[..]], "attention_mask": [[..]]?, "labels": [[..]] or [..] or a number?}. Throws a user error naming
/// the file for rows of different lengths, an empty batch, what is no 32-bit integer, and unknown keys.
TokenBatch load_token_batch(const std::filesystem::path& path);

/// input_ids.npy (rows, tokens), attention_mask.npy and labels.npy where they are there. Throws a user error naming the
/// file for other shapes or element types.
TokenBatch load_npy_folder(const std::filesystem::path& folder);

/// Sentences with a class each.
struct LabelledSet {
  std::vector<std::string> sentences;
  std::vector<std::int32_t> labels;
};

/// A header line `sentence<TAB>label`, then one sentence and its label a line; no quoting; a carriage return at a
/// line's end is dropped. Throws a user error naming file and line.
LabelledSet load_labelled_tsv(const std::filesystem::path& path);

}  // namespace assay
