#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "results/record.h"
#include "results/sqlite.h"
#include "statistics/between_runs.h"

namespace assay {

/// One start of the program that measured.
struct RunFacts {
  std::string command;        ///< As a shell takes it.
  std::string program;        ///< SHA-256 of the executable: versions alone do not tell two builds apart.
  std::string machine;        ///< What `assay probe --json` prints.
  std::string commit = {};    ///< Of assay's sources.
  std::string settings = {};  ///< All that was asked beside the grid: runs that agree in it may continue each other.
};

struct StoredRun {
  std::int64_t id = 0;
  std::string uid;  ///< Unique in the world: what importing goes by.
  std::string started;
  std::optional<std::string> ended;  ///< Absent where it was killed, or still runs.
  std::string command;
  std::string program;
  std::string machine;  ///< JSON.
  std::string settings;
  std::string commit;
  Seal seal = {};  ///< Over the run and its records' seals.
};

struct StoredRecord {
  std::int64_t id = 0;
  std::int64_t run = 0;
  std::string saved;  ///< ISO 8601, UTC.
  Record record;
  std::optional<std::string> source = {};  ///< What it was imported from, beside a record of this run's own.
};

/// What is looked for; what is absent matches all.
struct Filter {
  std::optional<std::int64_t> run = {};
  std::optional<std::string> model = {};
  std::optional<std::string> precision = {};
  std::optional<std::string> device = {};
  std::optional<Status> status = {};
  std::optional<std::string> since = {};    ///< A day or an instant, as `saved` begins.
  std::optional<std::int64_t> newest = {};  ///< At most so many, the latest.
};

/// Records that last: an SQLite file, which several processes may write at the same time and which any of them may be
/// killed in. Layout: docs/results.md. What is wrong with the file is a user error of one line, whenever it comes out.
class Store {
 public:
  /// `write` makes what is missing and brings an older layout up to date; `read` changes nothing and reads an older
  /// layout as it is. Throws a user error for a file that is not a store, or one of a newer layout.
  Store(const std::filesystem::path& file, Access access);

  std::int64_t begin_run(const RunFacts& facts);
  void end_run(std::int64_t run);
  /// When it returns, the records are in the file, whatever happens to this process or to the machine. A record that
  /// the run holds already, by its identity, is replaced and keeps its number. Returns the numbers.
  std::vector<std::int64_t> save(std::int64_t run, std::span<const Record> records);

  /// The newest run of that program with those settings on that machine; what the machine measured of itself does not
  /// count, and what was imported is never it. `facts.command` is not looked at.
  std::optional<StoredRun> newest_run(const RunFacts& facts) const;
  /// Takes over another store's run with its records, named `source`. What is here already, by the run's uid and the
  /// record's content, does not come twice; a record of the same identity and another content comes beside the one that
  /// is here, which stays as it is. Returns how many came.
  std::size_t merge(const StoredRun& run, std::span<const StoredRecord> records, const std::string& source);

  /// In the order in which they were first saved.
  std::vector<StoredRecord> find(const Filter& filter) const;
  /// Which runs tell what the run `run` may differ by. A machine that others used says nothing of one that is quiet.
  struct EarlierFilter {
    std::string machine;    ///< `Setting::machine`; what was imported is not of it.
    std::int64_t run = 0;   ///< Left out.
    bool was_busy = false;  ///< Now: else rows are left out whose processors others used (`busy_load`).
  };
  /// Of foreign_load, from here on: rules cap such a row's grade at C.
  static constexpr double busy_load = 0.2;
  /// What the newest of them gave, one value a run and measurement: passes in their precisions, of enough samples for
  /// an interval.
  struct EarlierFigures {
    std::vector<RunFigure> median_ms = {};
    std::vector<RunFigure> speedup = {};
  };
  EarlierFigures earlier_figures(const EarlierFilter& filter) const;
  /// RunFigure::cell of what is measured by that setting.
  static std::string cell_of(const Setting& setting);
  /// The runs of these records, in order.
  std::vector<StoredRun> runs_of(std::span<const StoredRecord> records) const;
  std::optional<StoredRun> run(std::int64_t id) const;
  const std::filesystem::path& file() const { return database_.file(); }

 private:
  Database database_;
};

/// A record as some version wrote it: fields that this one has and that one had not are as in a blank one, fields that
/// this one has not are left out; a model every version had. Throws a user error naming `source`.
Record record_of_any_version(const Json& stored, const std::string& source);

/// $XDG_DATA_HOME/assay/results.db, else ~/.local/share/assay/results.db.
std::filesystem::path default_store_file();

/// The version of the layout that this program writes.
constexpr std::int64_t store_version = 4;
/// Brings an empty file or an older layout to store_version; throws a user error for what is neither.
void prepare_layout(const Database& database);
/// Throws a user error for what cannot be read as a store: an empty file, another program's, a newer layout.
void check_layout(const Database& database);
/// Whether a text that names a file or a run is the number of a run.
bool is_run_number(const std::string& text);
/// The columns of a run but for its id, in the order of StoredRun; blank what an older layout has not.
std::string run_columns(const Database& database);
/// Of a record beside its fields: id, run, saved, subject, identity, source.
std::string record_columns(const Database& database);

/// Columns beside the record's JSON, for finding it: fields of the record, with their SQL types.
struct StoreColumn {
  const char* field;
  const char* type;
};
std::span<const StoreColumn> store_columns();

}  // namespace assay
