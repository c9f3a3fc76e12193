#include "published/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "published/claims.h"
#include "published/latex_table.h"
#include "published/listed_records.h"
#include "published/row_figures.h"
#include "published/table_rules.h"

namespace assay {
namespace {

/// Tables are read by people; what is larger is a log.
constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// A table that says one thing twice (two rules, one row) is told once.
void drop_repeated(std::vector<Complaint>& complaints) {
  std::set<std::string> seen;
  std::erase_if(complaints, [&](const Complaint& one) {
    return !seen.insert(fmt::format("{}\n{}\n{}\n{}\n{}", one.file, one.table, one.id, one.row, one.sentence)).second;
  });
}

/// What a page says that makes a rule's finding a thing to know and no fault.
struct Excuse {
  std::initializer_list<std::string_view> words;
  std::initializer_list<std::string_view> rules;
};

const Excuse excuses[] = {
    {{"offload", "zero-infinity", "swap to", "streamed from"}, {"memory_capacity", "memory_of_weights", "slower"}},
    {{"speculative", "draft model", "medusa", "eagle", "lookahead", "multi-token"}, {"bandwidth_decode", "token_rate"}},
    {{"mixture of experts", "moe", "mixtral", "8x7b", "8x22b", "-a3b", "a22b", "active param", "deepseek-v", "experts"},
     {"bandwidth_decode", "peak_of_tokens", "bandwidth", "instruction_peak", "size_parameters", "memory_of_weights",
      "memory_capacity"}},
    {{"sparsity", "sparse", "2:4"}, {"peak_claim", "instruction_peak", "peak_of_tokens", "size_ratio"}},
    {{"continuous batching", "in flight", "in-flight", "concurrent", "instances", "streams", "replicas", "pipelin",
      "queue", "serving", "clients", "workers"},
     {"throughput", "token_rate", "bandwidth_decode", "token_order", "energy_and_power", "item_energy"}},
    {{"frozen", "lora", "adapter", "linear probe", "no weight gradient"}, {"step_order"}},
    {{"fine-tun", "finetun", "qat", "quantization-aware", "quantisation-aware", "retrain", "distill"},
     {"quality_gain"}},
    {{"fake quant", "fake-quant", "simulated", "emulat", "weight-only", "weight only", "marlin", "dequant", "storage",
      "native = no", "native = false", "not native", "no native"},
     {"emulated", "size_ratio", "size", "slower"}},
    {{"dynamic", "linear layers", "stays in", "stay in", "kept in", "remain in", "left in", "partial", "prun",
      "compress", "not quantized", "not quantised", "excluded"},
     {"size", "size_ratio", "size_parameters", "memory_of_weights"}},
    {{"effective bandwidth", "in cache", "l2", "cache hits"}, {"bandwidth_claim"}},
    {{"seeds", "variance", "few-shot", "subset"}, {"quality_gain"}},
    {{"bitsandbytes", "bnb", "llm.int8", "nf4", "cpu", "xeon", "epyc", "ryzen", "core i", "apple", "overhead",
      "unfused", "eager"},
     {"slower"}},
    {{"xeon", "epyc", "ryzen", "core i7", "core i9", "on cpu", "cpu only", "cpu-only"}, {"speedup_above_peaks"}},
    {{"per 1000", "per 1,000", "per 1k", "per epoch", "full run", "whole run", "in total"},
     {"power_limit", "energy_and_power", "item_energy"}},
    {{"cached", "in cache", "prefix cach"}, {"bandwidth_decode", "bandwidth"}},
    {{"head", "embedding", "excluding", "per gpu", "per card", "per-gpu", "shard"},
     {"memory_of_weights", "size", "size_parameters"}},
    {{"including cpu", "wall", "whole system", "node"}, {"power_limit"}},
};

/// Of the row's own words, of the page where it names no row: one row's excuse is none of another's.
void excuse(const PublishedTable& table, Complaint& complaint) {
  static const Observation nothing;
  const auto own = std::find_if(table.rows.begin(), table.rows.end(), [&](const Observation& row) {
    return row.label == complaint.row || std::any_of(row.figures.begin(), row.figures.end(), [&](const auto& figure) {
             return figure.second.row == complaint.row;
           });
  });
  const Observation& row = own == table.rows.end() ? nothing : *own;
  for (const Excuse& one : excuses) {
    if (std::find(one.rules.begin(), one.rules.end(), complaint.id) == one.rules.end()) continue;
    // One request at a time waits for no other.
    if (complaint.id == "token_rate" && page_says(table, row, {"one request at a time", "single request"})) continue;
    // Instances that the row counts were reckoned with.
    if (complaint.id == "throughput" && row.find(Quantity::devices)) continue;
    if (complaint.severity == Severity::high && page_says(table, row, one.words)) {
      complaint.severity = Severity::low;
      complaint.sentence += " The page names what may explain it.";
    }
  }
}

/// A fault that two rules see is told by the older one.
struct Doubled {
  std::string_view rule;
  std::string_view told_by;
};
constexpr Doubled doubled[] = {{"size_ratio", "size"}, {"change_mismatch", "ratio_mismatch"}};

void drop_doubled(std::vector<Complaint>& complaints) {
  std::map<std::string, Severity> told;
  const auto place = [](const Complaint& one, std::string_view rule) {
    return fmt::format("{}\n{}\n{}\n{}", one.file, one.table, rule, one.row);
  };
  for (const Complaint& one : complaints) {
    Severity& gravest = told.emplace(place(one, one.id), one.severity).first->second;
    gravest = std::max(gravest, one.severity);
  }
  std::erase_if(complaints, [&](const Complaint& one) {
    return std::any_of(std::begin(doubled), std::end(doubled), [&](const Doubled& pair) {
      const auto older = told.find(place(one, pair.told_by));
      return pair.rule == one.id && older != told.end() && older->second >= one.severity;
    });
  });
}

template <typename Known>
std::string names_of(const Known& all) {
  std::string names;
  for (const auto& one : all) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

TableContext context_of(const CheckRequest& request) {
  TableContext context;
  for (const std::string& column : request.columns) context.columns.push_back(parse_mapping(column));
  if (!request.device.empty()) context.device = find_known_device(request.device);
  if (!request.device.empty() && !context.device)
    fail_user("--device {}: not known; {} are", request.device, names_of(known_devices()));
  if (!request.model.empty()) context.model = find_known_model(request.model);
  if (!request.model.empty() && !context.model)
    fail_user("--model {}: not known; {} are", request.model, names_of(known_models()));
  return context;
}

std::vector<PublishedTable> tables_of(const std::string& file, const TableContext& context) {
  const std::string text = read_file(file, most_bytes);
  if (text.empty()) fail_user("{}: is empty", file);
  TextDocument document = parse_tables(tabulars_as_pipes(text), table_format(file), file);
  if (document.tables.empty()) {
    if (auto listed = listed_records(document)) document.tables.push_back(std::move(*listed));
  }
  if (document.tables.empty())
    fail_user(
        "{}: no table found (Markdown with pipes, plain text with a rule under its header, a tabular of LaTeX, or "
        ".csv), nor lines such as 'Latency: 12.3 ms'",
        file);
  return read_tables(document, file, context);
}

}  // namespace

std::int64_t CheckedTables::count(Severity severity) const {
  return std::count_if(complaints.begin(), complaints.end(),
                       [&](const Complaint& one) { return one.severity == severity; });
}

namespace {

/// A page's tables stand side by side.
void judge_pages(std::vector<PublishedTable>& tables) {
  for (auto from = tables.begin(); from != tables.end();) {
    const auto to = std::find_if(from, tables.end(), [&](const PublishedTable& one) { return one.file != from->file; });
    judge_claims({from, to});
    from = to;
  }
}

}  // namespace

CheckedTables check_tables(std::vector<PublishedTable> tables) {
  judge_pages(tables);
  Complaints say;
  for (const PublishedTable& table : tables) {
    for (const TableRule& rule : table_rules()) {
      say.begin(rule, table);
      rule.check(table, say);
    }
  }
  CheckedTables checked{std::move(tables), say.take(), say.tested()};
  for (Complaint& one : checked.complaints) {
    for (const PublishedTable& table : checked.tables) {
      if (table.file == one.file && table.number == one.table) excuse(table, one);
    }
  }
  drop_doubled(checked.complaints);
  drop_repeated(checked.complaints);
  std::stable_sort(checked.complaints.begin(), checked.complaints.end(),
                   [](const Complaint& a, const Complaint& b) { return a.severity > b.severity; });
  return checked;
}

CheckedTables check_published(const CheckRequest& request) {
  const TableContext context = context_of(request);
  std::vector<PublishedTable> tables;
  for (const std::string& file : request.files) {
    for (PublishedTable& table : tables_of(file, context)) tables.push_back(std::move(table));
  }
  const auto is_empty = [](const PublishedTable& table) { return table.rows.empty(); };
  if (std::all_of(tables.begin(), tables.end(), is_empty))
    fail_user("{}: no column whose figures mean anything here: say what they hold with --column NAME=QUANTITY[:unit]",
              request.files.front());
  return check_tables(std::move(tables));
}

}  // namespace assay
