#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A row of a table as it was written; `cells` may be fewer or more than the header's.
struct TextRow {
  int line = 0;  ///< In the file, from 1.
  std::vector<std::string> cells;
  bool is_struck = false;  ///< Every cell that is not empty is struck out: ~~like this~~.
};

/// A table of words, before anyone asks what they mean.
struct ParsedTable {
  int line = 0;
  std::string title;                  ///< The nearest heading above; empty: none.
  std::vector<std::string> headings;  ///< From the page's title to the nearest; `title` is the last.
  std::string paragraph;              ///< The paragraph right above, as one line.
  std::vector<std::string> header;
  std::vector<TextRow> rows;
};

struct TextLine {
  int line = 0;
  std::string text;
};

/// A file with tables in it.
struct TextDocument {
  std::vector<ParsedTable> tables;
  std::vector<TextLine> prose;  ///< Every line that is part of no table, of Markdown only.
};

enum class TextFormat : std::uint8_t { csv, markdown };
/// .csv and .tsv are the first, all else the second.
TextFormat table_format(std::string_view file_name);

/// Reads the tables of a text: of a CSV (',', ';' or tab between cells, quoted as RFC 4180 says, '#' comments) the one
/// that it is; of Markdown those between pipes, in grids of '+' and '-', and in plain text with a rule of '-' or '='
/// under the header. Throws a user error that names `name` for what is no text (a NUL byte), and for more than 2^20
/// cells. Bytes that are no UTF-8 are taken as Latin-1.
TextDocument parse_tables(std::string_view text, TextFormat format, const std::string& name);

}  // namespace assay
