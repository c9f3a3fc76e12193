#include <fmt/format.h>

#include <sstream>

#include "base/json.h"
#include "base/units.h"
#include "results/model_name.h"
#include "studies/explain/run.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

/// Notes of the model, what the machine settled, and whether it could run this.
std::vector<std::string> notes_of(const Explained& e, const MachineFacts& facts) {
  std::vector<std::string> notes = e.model.notes;
  if (const std::string settled = settled_words(*e.instance, facts); !settled.empty()) notes.push_back(settled);
  if (e.available_bytes > 0 && e.peak_bytes() > e.available_bytes) {
    notes.push_back(fmt::format("does not fit: the peak is {}, {} are available",
                                format_bytes(static_cast<double>(e.peak_bytes())),
                                format_bytes(static_cast<double>(e.available_bytes))));
  }
  return notes;
}

/// A step of the plan and its row of the ledger.
struct PlanStep {
  std::size_t number;
  const LedgerRow& row;
  double bytes;
  std::vector<std::int64_t> offsets;
};
using PlanColumns = std::vector<ColumnOf<PlanStep>>;

void add_word(PlanColumns& columns, Table::Column column, std::string LedgerRow::*word) {
  columns.push_back({std::move(column), [word](const PlanStep& step) -> Table::Cell { return step.row.*word; }});
}

/// The name of a dtype or a verdict.
template <typename T>
void add_name(PlanColumns& columns, Table::Column column, T LedgerRow::*member) {
  columns.push_back(
      {std::move(column), [member](const PlanStep& step) -> Table::Cell { return name(step.row.*member); }});
}

PlanColumns plan_columns() {
  constexpr auto data = Detail::data;
  constexpr auto label = Table::Role::label;
  PlanColumns columns;
  columns.push_back({{.key = "step", .role = label},
                     [](const PlanStep& step) -> Table::Cell { return static_cast<std::int64_t>(step.number); }});
  add_word(columns, {.key = "path", .role = label}, &LedgerRow::path);
  add_word(columns, {.key = "operation", .role = label}, &LedgerRow::operation);
  add_word(columns, {.key = "role", .detail = data}, &LedgerRow::role);
  add_word(columns, {.key = "requested", .detail = data}, &LedgerRow::requested);
  add_name(columns, {.key = "operand", .meaning = "dtype that is multiplied"}, &LedgerRow::operand);
  add_name(columns, {.key = "accumulator", .title = "sums", .meaning = "dtype of sums"}, &LedgerRow::accumulator);
  add_name(columns, {.key = "stored", .detail = data}, &LedgerRow::stored);
  add_word(columns, {.key = "weight_in_file", .title = "in file", .meaning = "types that the file holds the weight in"},
           &LedgerRow::weight_in_file);
  add_word(columns, {.key = "weight_kept", .title = "kept", .meaning = "what stays of it in memory"},
           &LedgerRow::weight_kept);
  columns.push_back({{.key = "flops", .unit = "FLOP", .notation = Notation::general},
                     [](const PlanStep& step) -> Table::Cell { return step.row.flops; }});
  columns.push_back({{.key = "bytes", .unit = "bytes", .meaning = "read or written", .notation = Notation::bytes},
                     [](const PlanStep& step) -> Table::Cell { return step.bytes; }});
  columns.push_back(
      {{.key = "arena_offsets", .title = "arena", .meaning = "where its results lie", .detail = Detail::details},
       [](const PlanStep& step) -> Table::Cell { return step.offsets; }});
  add_name(columns, {.key = "verdict"}, &LedgerRow::verdict);
  add_word(columns, {.key = "kernel"}, &LedgerRow::kernel);
  add_word(columns, {.key = "evidence", .detail = Detail::details}, &LedgerRow::evidence);
  add_word(columns, {.key = "device", .detail = data}, &LedgerRow::device);
  return columns;
}

Table plan_table(const Explained& e) {
  std::vector<PlanStep> steps;
  for (std::size_t i = 0; i < e.plan.ledger.size(); ++i)
    steps.push_back({i, e.plan.ledger[i], e.bytes(i), e.offsets(i)});
  return filled({.key = "steps",
                 .caption = fmt::format("Plan for batch {} x {} tokens", e.options.extent.batch, e.options.extent.seq)},
                plan_columns(), steps);
}

Table inputs_table(const Explained& e) {
  const std::vector<ColumnOf<LedgerInput>> columns = {
      {{.key = "name", .title = "input", .role = Table::Role::label},
       [](const LedgerInput& input) -> Table::Cell { return input.name; }},
      {{.key = "dtype"}, [](const LedgerInput& input) -> Table::Cell { return name(input.dtype); }},
      {{.key = "device"}, [](const LedgerInput& input) -> Table::Cell { return input.device; }}};
  return filled({.key = "inputs"}, columns, ledger_inputs(e.program(), e.options, e.instance->backend().device));
}

Table passes_table(const Explained& e) {
  const std::vector<ColumnOf<Pass>> columns = {
      {{.key = "pass"}, [](const Pass& pass) -> Table::Cell { return pass.name; }},
      {{.key = "program"}, [](const Pass& pass) -> Table::Cell { return to_string(pass.program); }}};
  return filled({.key = "passes", .detail = Detail::data}, columns, e.passes);
}

Sentences listing_of(const Pass& pass, std::string key, Detail detail) {
  Sentences listing{.key = std::move(key),
                    .title = fmt::format("Program after {} ({} operations)", pass.name, pass.program.nodes.size()),
                    .detail = detail};
  std::istringstream lines(to_string(pass.program));
  for (std::string line; std::getline(lines, line);) listing.texts.push_back(line);
  return listing;
}

std::vector<Sentences> sentences_of(const Explained& e, const ExplainRequest& request, const MachineFacts& facts) {
  std::vector<Sentences> all = {{.texts = notes_of(e, facts)}};
  if (request.passes == ShownPasses::last) {
    all.push_back(listing_of(e.passes.back(), "listing", Detail::details));
    return all;
  }
  for (std::size_t i = 0; i < e.passes.size(); ++i)
    all.push_back(listing_of(e.passes[i], fmt::format("listings.{}", i), Detail::brief));
  return all;
}

Table explained_facts(const Explained& e, const ExplainRequest& request) {
  Table facts = Document{}.subject.facts;
  const auto fact = [&](const char* key, const char* title, Table::Cell value, Notation notation = Notation::exact) {
    const Detail detail = *title == 0 ? Detail::data : Detail::brief;
    add_fact(facts, {.key = key, .title = title, .notation = notation, .detail = detail}, std::move(value));
  };
  fact("model", "", e.model.name);
  fact("precision", "", precision_title(request.precision, e.instance->precision()));
  fact("stored", "weights stored as", e.model.weights.stored_dtypes());
  fact("parameters", "parameters", e.model.weights.parameters(), Notation::count);
  const std::int64_t inactive = inactive_parameters(e.model.config);
  if (inactive > 0)
    fact("active_parameters", "active a token", e.model.weights.parameters() - inactive, Notation::count);
  fact("batch", "", request.extent.batch);
  fact("seq", "", request.extent.seq);
  fact("program", "", to_string(e.program()));
  fact("flops", "FLOP a run", e.total_flops(), Notation::general);
  fact("bytes", "read or written a run", e.total_bytes(), Notation::bytes);
  fact("model_bytes", "weights as stored", e.model_bytes(), Notation::bytes);
  fact("resident_weight_bytes", "weights as packed", e.plan.constant_bytes(), Notation::bytes);
  fact("arena_bytes", "arena", e.plan.arena_bytes(), Notation::bytes);
  fact("peak_bytes", "peak", e.peak_bytes(), Notation::bytes);
  return facts;
}

}  // namespace

Document explain(const ExplainRequest& request, const MachineFacts& facts) {
  const std::unique_ptr<Explained> e = explained_plan(request, facts);
  Document document{.subject = {.schema = "assay-explain-1",
                                .title = fmt::format("{} in {}", shown_model_name(e->model.name),
                                                     precision_title(request.precision, e->instance->precision())),
                                .facts = explained_facts(*e, request)},
                    .machine = machine_json(facts),
                    .tables = {plan_table(*e), inputs_table(*e)},
                    .sentences = sentences_of(*e, request, facts)};
  if (request.passes == ShownPasses::all) document.tables.push_back(passes_table(*e));
  return document;
}

}  // namespace assay
