#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/handle.h"

namespace assay {

/// What SQLite and the store do not forgive ends as a user error of one line that begins with the file's name.
[[noreturn]] void fail_database(sqlite3* database, const std::filesystem::path& file);

/// Throws a user error that names the file where it cannot be looked at, and why, or where it is no regular file: then
/// the sentence is `absent` ("there is no such store").
void check_is_file(const std::filesystem::path& file, const char* absent);

/// One SQL statement. Values are bound in the order of their marks; text is copied.
class Statement {
 public:
  Statement(sqlite3* database, const std::filesystem::path& file, std::string_view sql);

  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind_or_null(const std::optional<std::string>& text);

  /// True while there is a row. Throws a user error naming the file.
  bool step();
  /// Runs it once more with new values: what was bound and found is dropped.
  void reset();

  std::string text(int column) const;  ///< Empty where NULL.
  std::optional<std::string> text_or_none(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;  ///< 0 where NULL.

 private:
  sqlite3* database_;
  const std::filesystem::path& file_;
  Handle<sqlite3_stmt*, sqlite3_finalize> statement_;
  int bound_ = 0;
};

enum class Access : std::uint8_t { read, write };

/// An open SQLite file. Other processes may use it at the same time: a write waits up to ten seconds for theirs.
class Database {
 public:
  /// `write` makes the file and its folder where they are missing; `read` changes nothing, and also opens what may not
  /// be written. Throws a user error that names the file.
  Database(const std::filesystem::path& file, Access access);

  Statement prepare(std::string_view sql) const { return {database_.get(), file_, sql}; }
  void run(const std::string& sql) const;
  std::int64_t number(std::string_view sql) const;  ///< The first value of the first row; 0 without a row.
  const std::filesystem::path& file() const { return file_; }
  sqlite3* get() const { return database_.get(); }

 private:
  std::filesystem::path file_;
  Handle<sqlite3*, sqlite3_close_v2> database_;
};

/// All or nothing: what was not committed when it goes is undone.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  void commit();

 private:
  static void roll_back(sqlite3* database);
  const Database& database_;
  Handle<sqlite3*, roll_back> open_;
};

}  // namespace assay
