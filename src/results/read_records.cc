#include "results/read_records.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "results/exchange.h"
#include "results/store.h"

namespace assay {
namespace {

bool names_a_run(const std::string& text) {
  std::error_code unreadable;
  return is_run_number(text) && !std::filesystem::exists(text, unreadable);
}

NamedRecords read_run(std::int64_t id, const std::filesystem::path& store_file) {
  const Store store(store_file, Access::read);
  const std::optional<StoredRun> run = store.run(id);
  if (!run) fail_user("{}: has no run {}; assay history lists them", store_file.string(), id);
  NamedRecords read{fmt::format("run {}", id), {}};
  read.document.machine = OrderedJson(parse_json(run->machine, read.name));
  read.document.origin = RunOrigin{run->started, run->command, run->commit, run->seal};
  Filter filter;
  filter.run = id;
  for (StoredRecord& stored : store.find(filter)) read.document.records.push_back(std::move(stored.record));
  return read;
}

/// Where all runs of an export were on one machine, that machine.
OrderedJson machine_of_export(const Json& document, const std::string& file) {
  std::string machine;
  for (const Json& run : document.value("runs", Json::array())) {
    const Json one = run.is_object() ? run.value("machine", Json()) : Json();
    if (!one.is_string() || (!machine.empty() && one != machine)) return OrderedJson::object();
    one.get_to(machine);
  }
  return machine.empty() ? OrderedJson::object() : OrderedJson(parse_json(machine, file));
}

NamedRecords read_document(const std::string& file) {
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(file, unreadable) && is_store(file))
    fail_user("{}: a store; say which run of it: its number, with --store {}", file, file);
  const Json json = parse_json(read_file(file), file);
  NamedRecords read{file, document_from_json(json, file)};
  if (json.value("schema", Json()) == exchange_schema_name) read.document.machine = machine_of_export(json, file);
  return read;
}

}  // namespace

NamedRecords read_records(const std::string& run_or_file, const std::filesystem::path& store_file) {
  return names_a_run(run_or_file) ? read_run(std::stoll(run_or_file), store_file) : read_document(run_or_file);
}

}  // namespace assay
