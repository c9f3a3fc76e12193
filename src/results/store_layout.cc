#include <fmt/format.h>

#include "base/error.h"
#include "results/store.h"

namespace assay {
namespace {

constexpr std::int64_t application = 0x61737379;  // "assy", in the file's header

constexpr StoreColumn columns[] = {
    {"model", "TEXT"},  {"weights", "TEXT"}, {"precision", "TEXT"}, {"device", "TEXT"},  {"batch", "INTEGER"},
    {"seq", "INTEGER"}, {"mode", "TEXT"},    {"status", "TEXT"},    {"machine", "TEXT"}, {"build", "TEXT"},
};

std::string column_definitions() {
  std::string text;
  for (const StoreColumn& column : columns) text += fmt::format("  {} {} NOT NULL,\n", column.field, column.type);
  return text;
}

/// Version 1. STRICT: a value of another type is refused instead of stored.
std::string first_layout() {
  return R"(
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  started TEXT NOT NULL,
  ended TEXT,
  command TEXT NOT NULL,
  program TEXT NOT NULL,
  machine TEXT NOT NULL
) STRICT;
CREATE TABLE record (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id),
  saved TEXT NOT NULL,
  subject TEXT NOT NULL,
  identity TEXT NOT NULL,
)" + column_definitions() +
         R"(  fields TEXT NOT NULL
) STRICT;
CREATE INDEX record_run ON record(run, identity);
CREATE INDEX record_subject ON record(subject);
CREATE INDEX record_model ON record(model, precision);
CREATE INDEX record_saved ON record(saved);
)";
}

struct Migration {
  std::int64_t to;
  const char* sql;
};

/// What each version added, in order.
constexpr Migration migrations[] = {
    {2,
     "ALTER TABLE run ADD COLUMN settings TEXT NOT NULL DEFAULT '';"
     "CREATE INDEX run_settings ON run(program, settings);"},
    {3, "ALTER TABLE run ADD COLUMN imported TEXT;"},
    {4,
     "ALTER TABLE run ADD COLUMN source_commit TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE run ADD COLUMN seal TEXT;"
     "ALTER TABLE record ADD COLUMN source TEXT;"},
};

struct Header {
  bool is_empty;
  std::int64_t application;
  std::int64_t version;
};

/// Whether it is empty first: another process may make the store between these readings, and a store that is not empty
/// has its application already.
Header read_header(const Database& database) {
  return {database.number("SELECT count(*) FROM sqlite_schema") == 0, database.number("PRAGMA application_id"),
          database.number("PRAGMA user_version")};
}

void check_header(const Database& database, const Header& header) {
  if (header.is_empty) return;
  if (header.application != application) fail_user("{}: a database of another program", database.file().string());
  if (header.version > store_version) {
    fail_user("{}: written by a newer assay (its layout has version {}, this one knows {})", database.file().string(),
              header.version, store_version);
  }
}

/// The column, or in an older layout what stands for it.
std::string column_or(const Database& database, const char* table, const char* column, const char* blank) {
  const auto count =
      database.number(fmt::format("SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}'", table, column));
  return count > 0 ? column : fmt::format("{} AS {}", blank, column);
}

}  // namespace

std::span<const StoreColumn> store_columns() {
  return columns;
}

void check_layout(const Database& database) {
  const Header header = read_header(database);
  if (header.is_empty) fail_user("{}: is empty, not a store", database.file().string());
  check_header(database, header);
}

std::string run_columns(const Database& database) {
  return "uid, started, ended, command, program, machine, " + column_or(database, "run", "settings", "''") + ", " +
         column_or(database, "run", "source_commit", "''") + ", " + column_or(database, "run", "seal", "NULL");
}

std::string record_columns(const Database& database) {
  return "id, run, saved, subject, identity, " + column_or(database, "record", "source", "NULL");
}

void prepare_layout(const Database& database) {
  const Header header = read_header(database);
  check_header(database, header);
  if (!header.is_empty && header.version == store_version) return;
  Transaction transaction(database);
  const Header now = read_header(database);  // Another process may have been faster.
  check_header(database, now);
  if (now.is_empty) {
    database.run(first_layout());
    database.run(fmt::format("PRAGMA application_id = {}", application));
  }
  for (const Migration& migration : migrations) {
    if (now.version < migration.to) database.run(migration.sql);
  }
  database.run(fmt::format("PRAGMA user_version = {}", store_version));
  transaction.commit();
}

}  // namespace assay
