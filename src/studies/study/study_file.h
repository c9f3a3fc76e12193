#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay {

// A study as a file (TOML 1.0, docs/report.md): cells, each a request to a subcommand, questions and expectations.

/// An option of a cell: the long name without dashes, and its words.
struct StudyOption {
  enum class Form : std::uint8_t {
    one,   ///< `key = 8`
    list,  ///< `key = [8, 16]`
    flag   ///< `key = true`; false has no word
  };
  std::string key = {};
  Form form = Form::one;
  std::vector<std::string> words = {};
  std::int64_t line = 0;
};

/// Whether a cell's models may have random weights.
enum class StudyWeights : std::uint8_t { any, real };

struct StudyCell {
  std::string name;
  std::string kind;  ///< The subcommand.
  StudyWeights weights = StudyWeights::any;
  std::vector<StudyOption> options;
  std::vector<StudyOption> quick;  ///< In their place with --quick.
  std::int64_t line = 0;
};

/// How a figure is read: as it stands, or without its sign.
enum class StudyFigure : std::uint8_t { as_it_is, size };

/// Rows of cells' documents: of the records or of a table, those with these values.
struct StudyRows {
  std::vector<std::string> cells;
  std::string table = "records";
  std::string field;
  StudyFigure read = StudyFigure::as_it_is;
  Json of = Json::object();  ///< Values by key; all must agree.
};

/// What a question or an expectation says, where.
struct StudyExpectation {
  enum class Claim : std::uint8_t { below, above, within };
  std::string text;
  StudyRows rows;
  Claim claim = Claim::below;
  Json than = Json::object();  ///< Rows that they are compared with, alike in all else; empty: with `value`.
  std::optional<double> value;
  double by = 0;  ///< Below (1 - by) or above (1 + by) times that, or off by at most that share of it.
  std::int64_t line = 0;
};

struct StudyQuestion {
  enum class Best : std::uint8_t { lowest, highest, none };
  std::string text;
  StudyRows rows;
  Best best = Best::none;  ///< Which row wins; none: the figures themselves are the answer.
  std::string among;       ///< Key that tells the rows apart that compete.
  std::int64_t line = 0;
};

struct StudyFile {
  std::string source;            ///< As it was given: begins every error.
  std::filesystem::path folder;  ///< That relative paths start from; empty: the current one.
  std::string title;
  std::vector<std::string> about;     ///< What is random, what is not asked: paragraphs.
  double budget_s = 0;                ///< After which no cell begins; 0: none.
  std::vector<StudyOption> defaults;  ///< Of every cell whose kind has that option.
  std::vector<StudyOption> quick_defaults;
  std::vector<StudyCell> cells;
  std::vector<StudyQuestion> questions;
  std::vector<StudyExpectation> expectations;
};

/// Reads a study. Throws a user error of one line, "FILE:LINE: what is wrong": bad syntax, an unknown key with the
/// nearest known one, a value of another type, two cells of one name, no cell, a question about a cell or a field of
/// records that does not exist.
StudyFile parse_study(std::string_view text, const std::string& source);

/// Throws the user error of that line.
[[noreturn]] void fail_study(const StudyFile& study, std::int64_t line, const std::string& what);

}  // namespace assay
