#include "results/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/folders.h"
#include "base/json.h"
#include "results/fields.h"
#include "results/identity.h"

namespace assay {
namespace {

constexpr const char* now_utc = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

std::string packed_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// 128 bits from the system, not from a seed: two machines must not agree.
std::string unique_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

/// Readers do not wait for writers then. Processes that make the file at the same time may be in each other's way; the
/// store is as safe without it.
void use_write_ahead_log(const Database& database) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (sqlite3_exec(database.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_BUSY) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string column_names() {
  std::string names;
  for (const StoreColumn& column : store_columns()) names += fmt::format("{}, ", column.field);
  return names;
}

std::string text_of_query(const Database& database, const std::string& sql) {
  Statement statement = database.prepare(sql);
  return statement.step() ? statement.text(0) : "";
}

/// Runs a statement that returns one number, to its end: only then is it done.
std::int64_t number_of(Statement&& statement) {
  std::int64_t number = 0;
  while (statement.step()) number = statement.integer(0);
  return number;
}

void bind_record(Statement& statement, const StoredRecord& stored) {
  statement.bind(stored.saved).bind(subject_key(stored.record)).bind(identity_key(stored.record));
  for (const StoreColumn& column : store_columns()) {
    statement.bind(to_text(record_field(column.field), stored.record));
  }
  statement.bind(packed_text(to_json(stored.record)));
}

std::int64_t insert(const Database& database, const StoredRecord& stored) {
  std::string marks;
  for (std::size_t i = 0; i < store_columns().size() + 4; ++i) marks += ", ?";
  Statement statement = database.prepare(fmt::format(
      "INSERT INTO record (run, saved, subject, identity, {}fields) VALUES (?{}) RETURNING id", column_names(), marks));
  statement.bind(stored.run);
  bind_record(statement, stored);
  return number_of(std::move(statement));
}

std::int64_t replace(const Database& database, std::int64_t id, const StoredRecord& stored) {
  std::string assignments = "saved = ?, subject = ?, identity = ?, ";
  for (const StoreColumn& column : store_columns()) assignments += fmt::format("{} = ?, ", column.field);
  Statement statement =
      database.prepare(fmt::format("UPDATE record SET {}fields = ? WHERE id = ? RETURNING id", assignments));
  bind_record(statement, stored);
  statement.bind(id);
  return number_of(std::move(statement));
}

struct Known {
  std::int64_t id;
  std::string saved;
};

std::optional<Known> find_known(const Database& database, std::int64_t run, const Record& record) {
  Statement statement = database.prepare("SELECT id, saved FROM record WHERE run = ? AND identity = ?");
  statement.bind(run).bind(identity_key(record));
  if (!statement.step()) return std::nullopt;
  return Known{statement.integer(0), statement.text(1)};
}

std::int64_t insert_run(const Database& database, const StoredRun& run) {
  Statement statement = database.prepare(
      fmt::format("INSERT INTO run ({}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id", run_columns(database)));
  statement.bind(run.uid).bind(run.started).bind_or_null(run.ended).bind(run.command).bind(run.program);
  statement.bind(run.machine).bind(run.settings);
  return number_of(std::move(statement));
}

std::int64_t run_of_uid(const Database& database, const std::string& uid) {
  Statement statement = database.prepare("SELECT id FROM run WHERE uid = ?");
  statement.bind(uid);
  return number_of(std::move(statement));
}

std::optional<StoredRun> run_in(Statement& row) {
  if (!row.step()) return std::nullopt;
  return StoredRun{row.integer(0), row.text(1), row.text(2), row.text_or_none(3),
                   row.text(4),    row.text(5), row.text(6), row.text(7)};
}

std::int64_t insert_foreign_run(const Database& database, const StoredRun& run) {
  const std::int64_t id = insert_run(database, run);
  database.prepare(fmt::format("UPDATE run SET imported = {} WHERE id = ?", now_utc)).bind(id).step();
  return id;
}

/// What stays from day to day: free memory, clocks and measured rates do not.
constexpr const char* lasting[] = {"processor", "hypervisor",   "operating_system", "kernel",
                                   "cores",     "memory_bytes", "instruction_sets", "gpu"};

bool is_same_machine(const std::string& a, const std::string& b) {
  const Json one = Json::parse(a, nullptr, false);
  const Json other = Json::parse(b, nullptr, false);
  if (!one.is_object() || !other.is_object()) return a == b;
  return std::all_of(std::begin(lasting), std::end(lasting),
                     [&](const char* fact) { return one.value(fact, Json()) == other.value(fact, Json()); });
}

struct Condition {
  const char* sql;
  std::optional<std::string> value;
};

std::vector<Condition> conditions(const Filter& filter) {
  const auto number = [](const std::optional<std::int64_t>& value) -> std::optional<std::string> {
    if (!value) return std::nullopt;
    return std::to_string(*value);
  };
  std::optional<std::string> status;
  if (filter.status) status = name(*filter.status);
  return {{"run = ?", number(filter.run)}, {"model = ?", filter.model}, {"precision = ?", filter.precision},
          {"device = ?", filter.device},   {"status = ?", status},      {"saved >= ?", filter.since}};
}

}  // namespace

Record record_of_any_version(const Json& stored, const std::string& source) {
  if (!stored.is_object()) fail_user("{}: not a record", source);
  if (!stored.contains("model")) fail_user("{}: a record's field 'model' is missing or of another type", source);
  Json fields = parse_json(packed_text(to_json(Record{})), source);
  fields.update(stored);
  return record_from_json(fields, source);
}

std::filesystem::path default_store_file() {
  const auto folder = find_user_folder("XDG_DATA_HOME", ".local/share");
  if (!folder) fail_user("HOME: is not set, and neither is XDG_DATA_HOME; --store FILE names a store");
  return *folder / "results.db";
}

Store::Store(const std::filesystem::path& file, Access access) : database_(file, access) {
  if (access == Access::read) {
    check_layout(database_);
    return;
  }
  prepare_layout(database_);
  use_write_ahead_log(database_);
  database_.run("PRAGMA synchronous = FULL");  // What was reported as saved outlives a power cut too.
}

std::int64_t Store::begin_run(const RunFacts& facts) {
  const std::string now = text_of_query(database_, fmt::format("SELECT {}", now_utc));
  return insert_run(database_,
                    {0, unique_id(), now, std::nullopt, facts.command, facts.program, facts.machine, facts.settings});
}

void Store::end_run(std::int64_t run) {
  database_.prepare(fmt::format("UPDATE run SET ended = {} WHERE id = ?", now_utc)).bind(run).step();
}

std::vector<std::int64_t> Store::save(std::int64_t run, std::span<const Record> records) {
  std::vector<std::int64_t> ids;
  Transaction transaction(database_);
  const std::string now = text_of_query(database_, fmt::format("SELECT {}", now_utc));
  for (const Record& record : records) {
    const std::optional<Known> known = find_known(database_, run, record);
    ids.push_back(known ? replace(database_, known->id, {0, run, now, record})
                        : insert(database_, {0, run, now, record}));
  }
  transaction.commit();
  return ids;
}

std::size_t Store::merge(const StoredRun& other, std::span<const StoredRecord> records) {
  Transaction transaction(database_);
  const std::int64_t own = run_of_uid(database_, other.uid);
  const std::int64_t run = own != 0 ? own : insert_foreign_run(database_, other);
  std::size_t taken = 0;
  for (StoredRecord stored : records) {
    stored.run = run;
    const std::optional<Known> known = find_known(database_, run, stored.record);
    if (known && known->saved >= stored.saved) continue;
    known ? replace(database_, known->id, stored) : insert(database_, stored);
    ++taken;
  }
  transaction.commit();
  return taken;
}

std::vector<StoredRecord> Store::find(const Filter& filter) const {
  std::string sql = "SELECT id, run, saved, fields FROM record WHERE 1";
  const std::vector<Condition> all = conditions(filter);
  for (const Condition& condition : all) {
    if (condition.value) sql += fmt::format(" AND {}", condition.sql);
  }
  sql += fmt::format(" ORDER BY id DESC LIMIT {}", filter.newest.value_or(-1));
  Statement rows = database_.prepare(sql);
  for (const Condition& condition : all) {
    if (condition.value) rows.bind(*condition.value);
  }
  std::vector<StoredRecord> found;
  while (rows.step()) {
    const std::string source = fmt::format("{}: record {}", file().string(), rows.integer(0));
    found.push_back({rows.integer(0), rows.integer(1), rows.text(2),
                     record_of_any_version(parse_json(rows.text(3), source), source)});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::optional<StoredRun> Store::run(std::int64_t id) const {
  Statement row = database_.prepare(fmt::format("SELECT id, {} FROM run WHERE id = ?", run_columns(database_)));
  row.bind(id);
  return run_in(row);
}

std::optional<StoredRun> Store::newest_run(const RunFacts& facts) const {
  Statement rows = database_.prepare(
      fmt::format("SELECT id, {} FROM run WHERE program = ? AND settings = ? AND imported IS NULL ORDER BY id DESC",
                  run_columns(database_)));
  rows.bind(facts.program).bind(facts.settings);
  while (std::optional<StoredRun> run = run_in(rows)) {
    if (is_same_machine(run->machine, facts.machine)) return run;
  }
  return std::nullopt;
}

std::vector<StoredRun> Store::runs_of(std::span<const StoredRecord> records) const {
  std::set<std::int64_t> ids;
  for (const StoredRecord& record : records) ids.insert(record.run);
  std::vector<StoredRun> runs;
  for (const std::int64_t id : ids) {
    if (auto found = run(id)) runs.push_back(std::move(*found));
  }
  return runs;
}

bool is_run_number(const std::string& text) {
  return !text.empty() && text.size() < 18 && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace assay
