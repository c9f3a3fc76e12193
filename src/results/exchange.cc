#include "results/exchange.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "results/document.h"
#include "results/fields.h"
#include "results/seal.h"

namespace assay {
namespace {

/// A run's texts by name: the one list for both ways.
struct RunField {
  const char* name;
  std::string StoredRun::*member;
};
constexpr RunField run_fields[] = {{"uid", &StoredRun::uid},         {"started", &StoredRun::started},
                                   {"command", &StoredRun::command}, {"program", &StoredRun::program},
                                   {"machine", &StoredRun::machine}, {"settings", &StoredRun::settings},
                                   {"commit", &StoredRun::commit}};

OrderedJson run_json(const StoredRun& run) {
  OrderedJson json;
  for (const RunField& field : run_fields) json[field.name] = run.*field.member;
  json["ended"] = run.ended ? OrderedJson(*run.ended) : OrderedJson(nullptr);
  return json;
}

StoredRun run_from(const Json& json) {
  StoredRun run;
  for (const RunField& field : run_fields) {
    if (field.member == &StoredRun::commit && !json.contains(field.name)) continue;  // Younger than the others.
    run.*field.member = json.at(field.name).get<std::string>();
  }
  if (!json.at("ended").is_null()) run.ended = json.at("ended").get<std::string>();
  return run;
}

/// What is accepted here is parsed wherever the run is shown.
void check_machine(const StoredRun& run, const std::string& file) {
  if (!parse_json(run.machine, fmt::format("{}: the machine of run {}", file, run.uid)).is_object())
    fail_user("{}: the machine of run {} is no object", file, run.uid);
}

std::vector<ExchangedRun> runs_of_store(const std::filesystem::path& file) {
  const Store store(file, Access::read);
  std::map<std::int64_t, std::vector<StoredRecord>> by_run;
  const std::vector<StoredRecord> records = store.find({});
  for (const StoredRecord& record : records) by_run[record.run].push_back(record);
  std::vector<ExchangedRun> all;
  for (StoredRun& run : store.runs_of(records)) {
    check_machine(run, file.string());
    all.push_back({run, std::move(by_run[run.id])});
  }
  return all;
}

std::vector<ExchangedRun> runs_of_export(const Json& document, const std::string& file, const RecordsRead& tell) {
  std::vector<ExchangedRun> all;
  std::map<std::string, std::size_t> places;
  for (const Json& run : document.at("runs")) {
    all.push_back({run_from(run), {}});
    check_machine(all.back().run, file);
    places[all.back().run.uid] = all.size() - 1;
  }
  const Json& records = document.at("records");
  std::size_t read = 0;
  for (const Json& record : records) {
    if (tell) tell(read++, records.size());
    ExchangedRun& home = all.at(places.at(record.at("run").get<std::string>()));
    home.records.push_back({0, 0, record.at("saved").get<std::string>(), record_of_any_version(record, file)});
  }
  return all;
}

/// ISO 8601, UTC, as the store writes times.
std::string file_time(const std::filesystem::path& file) {
  std::error_code fault;
  const auto written = std::filesystem::last_write_time(file, fault);
  if (fault) fail_user("{}: {}", file.string(), fault.message());
  const auto time = std::chrono::file_clock::to_sys(written);
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", fmt::gmtime(seconds));
}

/// When it was measured is not in it: its times are those of the file.
std::vector<ExchangedRun> runs_of_document(const Json& document, const std::string& text_hash, const std::string& file,
                                           const RecordsRead& tell) {
  const std::string time = file_time(file);
  ExchangedRun one;
  one.run.uid = text_hash.substr(0, 32);
  one.run.started = time;
  one.run.ended = time;
  one.run.command = "(imported) " + file;
  if (const auto origin = origin_read(document)) {
    one.run.started = origin->date;
    one.run.command = origin->command;
    one.run.commit = origin->commit;
  }
  one.run.machine = document.at("machine").dump();
  const Json& records = document.at("records");
  for (const Json& record : records) {
    if (tell) tell(one.records.size(), records.size());
    one.records.push_back({0, 0, time, record_of_any_version(record, file)});
  }
  return {one};
}

}  // namespace

bool is_store(const std::filesystem::path& file) {
  check_is_file(file, "there is no such file");
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes().first(std::min<std::size_t>(mapped.bytes().size(), 15));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == "SQLite format 3";
}

OrderedJson exchange_json(std::span<const StoredRecord> records, std::span<const StoredRun> runs,
                          const RunOrigin& origin) {
  OrderedJson json = {
      {"schema", exchange_schema_name}, {"runs", OrderedJson::array()}, {"records", OrderedJson::array()}};
  std::map<std::int64_t, std::string> uids;
  for (const StoredRun& run : runs) {
    json["runs"].push_back(run_json(run));
    uids[run.id] = run.uid;
  }
  for (const StoredRecord& stored : records) {
    OrderedJson record = {{"run", uids.at(stored.run)}, {"saved", stored.saved}};
    if (stored.source) record["source"] = *stored.source;
    record.update(to_json(sealed(stored.record)));
    json["records"].push_back(std::move(record));
  }
  seal_json(origin, json);
  return json;
}

std::vector<ExchangedRun> exchange_from_json(const Json& exchange, const std::string& source) {
  try {
    if (exchange.at("schema").get<std::string>() == exchange_schema_name) return runs_of_export(exchange, source, {});
  } catch (const Json::exception&) {  // Said below.
  } catch (const std::out_of_range&) {
  }
  fail_user("{}: not what assay export writes", source);
}

std::vector<ExchangedRun> read_exchange(const std::filesystem::path& file, const RecordsRead& tell) {
  if (is_store(file)) return runs_of_store(file);
  const std::string text = read_file(file);
  const Json document = parse_json(text, file.string());
  try {
    const std::string schema = document.at("schema").get<std::string>();
    if (schema == exchange_schema_name) return runs_of_export(document, file.string(), tell);
    if (schema == document_schema_name)
      return runs_of_document(document, sha256_hex(std::as_bytes(std::span(text))), file.string(), tell);
  } catch (const Json::exception&) {  // Said below.
  } catch (const std::out_of_range&) {
  }
  fail_user("{}: neither a store nor what --json or assay export writes", file.string());
}

}  // namespace assay
