#include "results/sqlite.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

using Connection = Handle<sqlite3*, sqlite3_close_v2>;

constexpr int patience_ms = 10'000;

/// The causes that people meet, in words that say what to do.
std::string cause(int code, const char* message) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return "is not a database";
    case SQLITE_CORRUPT:
      return fmt::format("is damaged ({}); `sqlite3 FILE .recover` may save what is left", message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("another process has kept it locked for {} s", patience_ms / 1000);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "may not be written";
    case SQLITE_CANTOPEN:
      return "cannot be opened";
    case SQLITE_FULL:
      return "the disk is full";
    default:
      return message;
  }
}

/// A full or broken disk is the machine's; the rest is the file that was named.
ExitCode exit_code(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_FULL || primary == SQLITE_IOERR || primary == SQLITE_NOMEM ? ExitCode::lacking
                                                                                      : ExitCode::user;
}

fs::path absolute_path(const fs::path& file) {
  std::error_code fault;
  fs::path path = fs::absolute(file, fault);
  if (fault) fail_user("{}: the current folder cannot be told: {}", file.string(), fault.message());
  return path;
}

/// A path as a URI: what RFC 3986 reserves is escaped.
std::string uri(const fs::path& file, const char* query) {
  std::string text = "file:";
  for (const char c : absolute_path(file).string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '-' || c == '_' || c == '.';
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text + query;
}

Connection open(const fs::path& file, const char* query, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(uri(file, query).c_str(), &database, flags | SQLITE_OPEN_URI, nullptr);
  Connection connection(database);
  if (code != SQLITE_OK)
    throw Error(exit_code(code), fmt::format("{}: {}", file.string(), cause(code, sqlite3_errstr(code))));
  sqlite3_busy_timeout(database, patience_ms);
  return connection;
}

Connection open_to_write(const fs::path& file) {
  std::error_code fault;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), fault);
  if (fault) fail_user("{}: its folder cannot be made: {}", file.string(), fault.message());
  return open(file, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

bool lies_beside(const fs::path& file, const char* suffix) {
  std::error_code unreadable;
  return fs::exists(file.string() + suffix, unreadable);
}

bool answers(sqlite3* database) {
  return sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr) == SQLITE_OK;
}

/// A database in WAL mode wants its shared memory beside it, which on a read-only medium nobody can make. As a file
/// that does not change it can be read there all the same, but only where no log lies beside it: a writer's rows would
/// be missing without a word.
Connection open_to_read_only(const fs::path& file) {
  Connection connection = open(file, "", SQLITE_OPEN_READONLY);
  if (answers(connection.get())) return connection;
  for (const char* log : {"-wal", "-journal"}) {
    if (!lies_beside(file, log)) continue;
    fail_user(
        "{}: cannot be read where nothing may be written, because a log of a writer ({}{}) lies beside it; copy "
        "both to a folder that may be written",
        file.string(), file.filename().string(), log);
  }
  return open(file, "?immutable=1", SQLITE_OPEN_READONLY);
}

/// Where the folder may be written the connection may too, but for SQLite's own files only: it takes them away again.
Connection open_to_read(const fs::path& file) {
  check_is_file(file, "there is no such store");
  const bool writable =
      ::access(file.c_str(), W_OK) == 0 && ::access(absolute_path(file).parent_path().c_str(), W_OK) == 0;
  return writable ? open(file, "", SQLITE_OPEN_READWRITE) : open_to_read_only(file);
}

}  // namespace

void check_is_file(const fs::path& file, const char* absent) {
  std::error_code fault;
  const fs::file_type type = fs::status(file, fault).type();
  if (type == fs::file_type::none) fail_user("{}: {}", file.string(), fault.message());
  if (type != fs::file_type::regular) fail_user("{}: {}", file.string(), absent);
}

void fail_database(sqlite3* database, const fs::path& file) {
  const int code = sqlite3_extended_errcode(database);
  throw Error(exit_code(code), fmt::format("{}: {}", file.string(), cause(code, sqlite3_errmsg(database))));
}

Statement::Statement(sqlite3* database, const fs::path& file, std::string_view sql) : database_(database), file_(file) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    fail_database(database, file);
  }
  statement_ = Handle<sqlite3_stmt*, sqlite3_finalize>(statement);
}

Statement& Statement::bind(std::string_view text) {
  const int code =
      sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail_database(database_, file_);
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  if (sqlite3_bind_int64(statement_.get(), ++bound_, number) != SQLITE_OK) fail_database(database_, file_);
  return *this;
}

Statement& Statement::bind_or_null(const std::optional<std::string>& text) {
  if (text) return bind(*text);
  if (sqlite3_bind_null(statement_.get(), ++bound_) != SQLITE_OK) fail_database(database_, file_);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail_database(database_, file_);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes == nullptr
             ? ""
             : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::optional<std::string> Statement::text_or_none(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return text(column);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

Database::Database(const fs::path& file, Access access)
    : file_(file), database_(access == Access::write ? open_to_write(file) : open_to_read(file)) {
  // The file may come from anywhere: its schema must not be able to run code, and its pages are looked at twice.
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  run("PRAGMA trusted_schema = OFF");
  run("PRAGMA cell_size_check = ON");
  if (access == Access::read) run("PRAGMA query_only = ON");
}

void Database::run(const std::string& sql) const {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail_database(database_.get(), file_);
  }
}

std::int64_t Database::number(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

Transaction::Transaction(const Database& database) : database_(database) {
  database.run("BEGIN IMMEDIATE");
  open_ = Handle<sqlite3*, roll_back>(database.get());
}

void Transaction::commit() {
  database_.run("COMMIT");
}

void Transaction::roll_back(sqlite3* database) {
  if (sqlite3_get_autocommit(database) == 0) sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace assay
