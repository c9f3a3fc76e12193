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
#include "results/seal.h"

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
  for (std::size_t i = 0; i < store_columns().size() + 5; ++i) marks += ", ?";
  Statement statement = database.prepare(
      fmt::format("INSERT INTO record (run, source, saved, subject, identity, {}fields) VALUES (?{}) RETURNING id",
                  column_names(), marks));
  statement.bind(stored.run).bind_or_null(stored.source);
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

/// The run's own record of that identity.
std::optional<std::int64_t> find_own(const Database& database, std::int64_t run, const Record& record) {
  Statement statement = database.prepare("SELECT id FROM record WHERE run = ? AND identity = ? AND source IS NULL");
  statement.bind(run).bind(identity_key(record));
  if (!statement.step()) return std::nullopt;
  return statement.integer(0);
}

enum class Known : std::uint8_t { no, otherwise, alike };

/// Whether the run holds a record of that identity, and one of that content.
Known find_known(const Database& database, std::int64_t run, const Record& record) {
  Statement statement = database.prepare("SELECT fields FROM record WHERE run = ? AND identity = ?");
  statement.bind(run).bind(identity_key(record));
  const std::string content = seal_of(Json::parse(packed_text(to_json(record))));
  Known known = Known::no;
  while (statement.step()) {
    const Record other = record_of_any_version(parse_json(statement.text(0), "record"), "record");
    if (seal_of(Json::parse(packed_text(to_json(other)))) == content) return Known::alike;
    known = Known::otherwise;
  }
  return known;
}

std::int64_t insert_run(const Database& database, const StoredRun& run) {
  Statement statement = database.prepare(
      fmt::format("INSERT INTO run ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id", run_columns(database)));
  statement.bind(run.uid).bind(run.started).bind_or_null(run.ended).bind(run.command).bind(run.program);
  statement.bind(run.machine).bind(run.settings).bind(run.commit).bind_or_null(run.seal.seal);
  return number_of(std::move(statement));
}

std::int64_t run_of_uid(const Database& database, const std::string& uid) {
  Statement statement = database.prepare("SELECT id FROM run WHERE uid = ?");
  statement.bind(uid);
  return number_of(std::move(statement));
}

/// Over all that is said of a run and the seals of its records, in their order.
std::string seal_of_run(const Database& database, const StoredRun& run) {
  Statement rows = database.prepare(
      "SELECT saved, coalesce(json_extract(fields, '$.seal'), '') FROM record WHERE run = ? ORDER BY id");
  rows.bind(run.id);
  Json records = Json::array();
  while (rows.step()) records.push_back({rows.text(0), rows.text(1)});
  const Json content = {{"uid", run.uid},         {"started", run.started},   {"ended", run.ended.value_or("")},
                        {"command", run.command}, {"program", run.program},   {"machine", run.machine},
                        {"commit", run.commit},   {"settings", run.settings}, {"records", std::move(records)}};
  return seal_of(content);
}

std::optional<StoredRun> run_in(Statement& row) {
  if (!row.step()) return std::nullopt;
  return StoredRun{row.integer(0), row.text(1), row.text(2), row.text_or_none(3), row.text(4),
                   row.text(5),    row.text(6), row.text(7), row.text(8),         {.seal = row.text_or_none(9)}};
}

/// With what its seal says.
std::optional<StoredRun> checked_run_in(const Database& database, Statement& row) {
  std::optional<StoredRun> run = run_in(row);
  if (run) run->seal.state = state_of(run->seal.seal, seal_of_run(database, *run));
  return run;
}

/// Anew, after what it is of has changed. A broken seal stays broken.
void seal_run(const Database& database, const StoredRun& run) {
  if (run.seal.state == Seal::State::broken) return;
  database.prepare("UPDATE run SET seal = ? WHERE id = ?").bind(seal_of_run(database, run)).bind(run.id).step();
}

std::int64_t insert_foreign_run(const Database& database, const StoredRun& run) {
  const std::int64_t id = insert_run(database, run);
  database.prepare(fmt::format("UPDATE run SET imported = {} WHERE id = ?", now_utc)).bind(id).step();
  return id;
}

/// What stays from day to day: free memory, clocks and measured rates do not.
constexpr const char* lasting[] = {"host",   "host_id", "processor",    "hypervisor",       "operating_system",
                                   "kernel", "cores",   "memory_bytes", "instruction_sets", "gpu"};

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

/// Before anything is written: what is damaged stays as it is.
void check_soundness(const Database& database) {
  const std::string found = text_of_query(database, "PRAGMA quick_check(1)");
  if (found != "ok")
    fail_user("{}: is damaged ({}); `sqlite3 FILE .recover` may save what is left", database.file().string(),
              found.substr(found.rfind('\n') + 1));
}

}  // namespace

Record record_of_any_version(const Json& stored, const std::string& source) {
  if (!stored.is_object()) fail_user("{}: not a record", source);
  if (!stored.contains("model")) fail_user("{}: a record's field 'model' is missing or of another type", source);
  static const Json blank = Json::parse(packed_text(to_json(Record{})));
  Json fields = stored;
  for (const auto& [name, value] : blank.items()) {
    if (!fields.contains(name)) fields[name] = value;
  }
  Record record = record_from_json(fields, source);
  record.seal = seal_read(stored);
  return record;
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
  check_soundness(database_);
  prepare_layout(database_);
  use_write_ahead_log(database_);
  database_.run("PRAGMA synchronous = FULL");  // What was reported as saved outlives a power cut too.
}

std::int64_t Store::begin_run(const RunFacts& facts) {
  const std::string now = text_of_query(database_, fmt::format("SELECT {}", now_utc));
  return insert_run(database_, {0, unique_id(), now, std::nullopt, facts.command, facts.program, facts.machine,
                                facts.settings, facts.commit});
}

void Store::end_run(std::int64_t run) {
  Transaction transaction(database_);
  StoredRun known = *this->run(run);
  known.ended = text_of_query(database_, fmt::format("SELECT {}", now_utc));
  database_.prepare("UPDATE run SET ended = ? WHERE id = ?").bind(*known.ended).bind(run).step();
  seal_run(database_, known);
  transaction.commit();
}

std::vector<std::int64_t> Store::save(std::int64_t run, std::span<const Record> records) {
  std::vector<std::int64_t> ids;
  Transaction transaction(database_);
  const std::string now = text_of_query(database_, fmt::format("SELECT {}", now_utc));
  const StoredRun before = *this->run(run);
  for (const Record& record : records) {
    const std::optional<std::int64_t> known = find_own(database_, run, record);
    const StoredRecord stored{0, run, now, sealed(record)};
    ids.push_back(known ? replace(database_, *known, stored) : insert(database_, stored));
  }
  seal_run(database_, before);
  transaction.commit();
  return ids;
}

std::size_t Store::merge(const StoredRun& other, std::span<const StoredRecord> records, const std::string& source) {
  Transaction transaction(database_);
  const std::int64_t own = run_of_uid(database_, other.uid);
  const std::int64_t run = own != 0 ? own : insert_foreign_run(database_, other);
  StoredRun before = *this->run(run);
  if (own == 0) before.seal = other.seal;
  std::size_t taken = 0;
  for (StoredRecord stored : records) {
    stored.run = run;
    const Known known = find_known(database_, run, stored.record);
    if (known == Known::alike) continue;
    if (known == Known::otherwise) stored.source = source;
    insert(database_, stored);
    ++taken;
  }
  if (taken > 0 && before.seal.state != Seal::State::absent) seal_run(database_, before);
  transaction.commit();
  return taken;
}

/// What stands beside a record for finding it, where that is not what the record says.
std::vector<std::string> misplaced(Statement& row, const Record& record) {
  std::vector<std::string> said;
  const auto expect = [&](const char* column, const std::string& stored, const std::string& own) {
    if (stored != own)
      said.push_back(fmt::format("the store found it by {} '{}', the record says '{}'", column, stored, own));
  };
  expect("subject", row.text(3), subject_key(record));
  expect("identity", row.text(4), identity_key(record));
  for (std::size_t i = 0; i < store_columns().size(); ++i) {
    const char* name = store_columns()[i].field;
    expect(name, row.text(static_cast<int>(7 + i)), to_text(record_field(name), record));
  }
  return said;
}

std::vector<StoredRecord> Store::find(const Filter& filter) const {
  std::string sql = fmt::format("SELECT {}, fields", record_columns(database_));
  for (const StoreColumn& column : store_columns()) sql += fmt::format(", {}", column.field);
  sql += " FROM record WHERE 1";
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
    Record record = record_of_any_version(parse_json(rows.text(6), source), source);
    record.seal.changed = misplaced(rows, record);
    found.push_back({rows.integer(0), rows.integer(1), rows.text(2), std::move(record), rows.text_or_none(5)});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::optional<StoredRun> Store::run(std::int64_t id) const {
  Statement row = database_.prepare(fmt::format("SELECT id, {} FROM run WHERE id = ?", run_columns(database_)));
  row.bind(id);
  return checked_run_in(database_, row);
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

std::string Store::cell_of(const Setting& s) {
  return fmt::format("{}|{}|{}|{}", s.model, s.batch, s.seq, s.device);
}

Store::EarlierFigures Store::earlier_figures(const EarlierFilter& filter) const {
  constexpr int most_rows = 400;
  constexpr double any_load = 1e9;
  Statement rows = database_.prepare(fmt::format(
      "SELECT identity, model || '|' || batch || '|' || seq || '|' || device, "
      "json_extract(fields, '$.median_ms'), json_extract(fields, '$.speedup'), precision, json_extract(fields, "
      "'$.baseline') FROM record WHERE machine = ? AND run <> ? AND status = 'ok' AND mode = 'inference' AND source IS "
      "NULL AND run IN (SELECT id FROM run WHERE imported IS NULL) AND json_extract(fields, '$.ci_low_ms') IS NOT NULL "
      "AND ifnull(json_extract(fields, '$.foreign_load'), 0) < {} ORDER BY id DESC LIMIT {}",
      filter.was_busy ? any_load : busy_load, most_rows));
  rows.bind(filter.machine).bind(filter.run);
  EarlierFigures figures;
  const auto add = [&](int column, std::vector<RunFigure>& list) {
    const double value = rows.real(column);
    if (value > 0) list.push_back({rows.text(1), rows.text(0), value});
  };
  while (rows.step()) {
    add(2, figures.median_ms);
    if (rows.text(4) != rows.text(5)) add(3, figures.speedup);
  }
  return figures;
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
