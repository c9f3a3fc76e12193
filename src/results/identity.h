#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "results/record.h"

namespace assay {

/// What a field of the setting says.
enum class Aspect : std::uint8_t {
  subject,  ///< What is measured: weights, precision, shape, how it is run. Equal subjects may be compared.
  place,    ///< Where and by what: the machine, the program. Subject and place together: the same measurement.
  remark    ///< What follows from the rest, or says what it is compared with.
};

/// How far records stand together that share it.
enum class Level : std::uint8_t {
  title,  ///< All shapes of one model, run alike: what stands under one title.
  cell,   ///< One shape of them: the precisions that are compared.
  row     ///< One row of a cell.
};

/// Where words for a record name a field.
enum class Mention : std::uint8_t {
  otherwise,  ///< Stands elsewhere: in a row, in a list of its own.
  in_titles,
  always,
  where_unusual  ///< Where it is not as usual.
};

/// The fields of a Setting.
struct SettingField {
  const char* name;  ///< In record_fields().
  Aspect aspect;
  Level level;
  Mention mention;
  bool (*agree)(const Setting& a, const Setting& b);
  bool is_younger = false;      ///< Than a store's records may be: counts only where it differs from a blank record's.
  const char* usual = nullptr;  ///< Value that goes without saying; else a blank record's.
  std::string (*words)(const Setting& setting) = nullptr;  ///< Else "name value".
};

/// The one list by which records are the same measurement, rows of one cell and shapes of one model: resuming, the
/// history, importing, comparing, the rules and the reports share it.
std::span<const SettingField> setting_fields();
/// Whether they agree in all fields down to that level.
bool stand_together(const Setting& a, const Setting& b, Level level);

/// The precision of a row whose program is not asked for one.
constexpr const char* no_precision = "-";
/// Whether it is what others of its cell are compared with: this program's own row in the baseline's precision.
bool is_baseline(const Setting& setting);
/// What tells a row from the others of its cell: "bf16"; of another program "pytorch bf16", or its name alone.
std::string row_name(const Setting& setting);

/// "2 threads", "fusion off"; empty where it says nothing, or another field's words say it too.
std::string words_of(const SettingField& field, const Record& record);
/// How it was run, "cpu, 2 threads, fusion off": the words of the fields down to that level, but for the model's.
std::string conditions_words(const Record& record, Level level);

/// SHA-256 over the subject's fields, 32 hexadecimal digits. A checkpoint's name does not count beside its hash.
std::string subject_key(const Record& record);
/// The same over all of the identity's fields.
std::string identity_key(const Record& record);

/// "gpt2, bf16, cpu, 1 x 128": the subject in words, with what is not as usual.
std::string subject_words(const Record& record);

/// The identity's fields in which they differ, "threads 2 and 4; fusion on and off"; empty where in none.
std::string identity_difference(const Record& a, const Record& b, Aspect aspect);

}  // namespace assay
