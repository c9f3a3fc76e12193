#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/phrases.h"

namespace assay {

enum class Align : std::uint8_t { left, right };
/// Whether a text may be cut with an ellipsis where a row would not fit; numbers never are.
enum class Cut : std::uint8_t { never, if_needed };

/// One column of the table that people read, in the terminal and in Markdown.
struct Column {
  const char* title;  ///< Two lines, parted by '\n'; "{}" is what the rows count a second, see title_of().
  Align align;
  Cut cut;
  std::string (*cell)(const Record& record);
  const char* title_of_scores = nullptr;  ///< Above rows of a head that gives scores, where it is another.
};

/// Columns for rows that have a measurement. Absent values are "-".
std::span<const Column> table_columns();
/// The title above these rows, in two lines, and in one with a word that was parted put together again.
std::string title_of(const Column& column, const Records& rows);
std::string one_line_title(const Column& column, const Records& rows);

/// "batch 1 x 128 tokens", "phase load, 1 item a time": what distinguishes cells of one table.
std::string cell_title(const Record& record);
/// "smollm2-135m (134,515,008 parameters, stored as bf16), cpu, 2 threads, logits all, fusion on", and what is not
/// as in inference.
std::string model_title(const Record& record);
/// Whether two records stand under one title.
enum class Together : std::uint8_t { same_cell, same_model, apart };
Together relation(const Record& a, const Record& b);
/// Those under one title with `first`: what their columns hold, the ones with figures say.
Records under_one_title(std::span<const Record> records, const Record& first);

/// The precision's name with the phase of a program, and a star where a resumed run took the row from the store.
std::string shown_precision(const Record& record);

}  // namespace assay
