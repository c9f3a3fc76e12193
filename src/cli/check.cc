#include "published/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "formats/table_text.h"

namespace assay {
namespace {

/// Tables are read by people; what is larger is a log.
constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr int high_stands = 10;

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<std::string> columns;
  std::string device;
  std::string model;
  bool json = false;
};

template <typename Known>
std::string names_of(const Known& all) {
  std::string names;
  for (const auto& one : all) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

TableContext context_of(const CheckOptions& options) {
  TableContext context;
  for (const std::string& column : options.columns) context.columns.push_back(parse_mapping(column));
  if (!options.device.empty()) context.device = find_known_device(options.device);
  if (!options.device.empty() && !context.device)
    fail_user("--device {}: not known; {} are", options.device, names_of(known_devices()));
  if (!options.model.empty()) context.model = find_known_model(options.model);
  if (!options.model.empty() && !context.model)
    fail_user("--model {}: not known; {} are", options.model, names_of(known_models()));
  return context;
}

std::vector<PublishedTable> read_one(const std::string& file, const TableContext& context) {
  const std::string text = read_file(file, most_bytes);
  if (text.empty()) fail_user("{}: is empty", file);
  const TextDocument document = parse_tables(text, table_format(file), file);
  if (document.tables.empty())
    fail_user("{}: no table found (Markdown with pipes, plain text with a rule under its header, or .csv)", file);
  return read_tables(document, file, context);
}

int check(const CheckOptions& options) {
  const TableContext context = context_of(options);
  std::vector<PublishedTable> tables;
  for (const std::string& file : options.files) {
    for (PublishedTable& table : read_one(file, context)) tables.push_back(std::move(table));
  }
  const std::vector<Complaint> complaints = check_tables(tables);
  print(options.json ? check_json(tables, complaints).dump(2) + "\n" : check_text(tables, complaints));
  return has_high(complaints) ? high_stands : 0;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App& command =
      *program.add_subcommand("check", "Check the numbers of published tables against each other and against physics");
  command.footer(
      "example: assay check examples/doubtful-table.md\n"
      "exit code: 10 where a finding of high severity stands, else 0");
  command.add_option("files", options->files, ".csv, .tsv, or Markdown with any number of tables")->required();
  command.add_option("--column", options->columns, "NAME=QUANTITY[:unit]: what a column holds, as 'Zeit=latency:ms'");
  command.add_option("--device", options->device, "GPU that the tables are about (T4, A100, RTX 4090, ...)");
  command.add_option("--model", options->model, "model that they are about (gpt2, distilbert, ...)");
  command.add_flag("--json", options->json, "print findings as JSON");
  command.callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace assay
