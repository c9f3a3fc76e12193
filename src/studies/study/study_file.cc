#include "studies/study/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/error.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "formats/toml.h"
#include "results/fields.h"

namespace assay {
namespace {

using Names = std::vector<std::string>;

std::int64_t line_of_node(const toml::node& node) {
  return static_cast<std::int64_t>(node.source().begin.line);
}

/// Reads values out of one table; every error has file and line.
class StudyTable {
 public:
  StudyTable(const StudyFile& study, const toml::table& table, std::string place)
      : study_(study), table_(table), place_(std::move(place)) {}

  std::int64_t line() const { return std::max<std::int64_t>(line_of_node(table_), 1); }
  const toml::table& table() const { return table_; }

  /// Throws for a key that is none of these.
  void check_keys(const Names& known) const {
    for (const auto& [key, node] : table_) {
      const std::string word{std::string_view(key)};
      if (std::find(known.begin(), known.end(), word) == known.end())
        fail_study(study_, line_of_node(node),
                   fmt::format("{}: '{}' is no key of it{}", place_, word, did_you_mean(word, known)));
    }
  }

  std::string text(const char* key, const char* fallback = nullptr) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr && fallback != nullptr) return fallback;
    if (node == nullptr) fail_study(study_, line(), fmt::format("{}: has no '{}'", place_, key));
    if (!node->is_string()) wrong_type(*node, key, "a text");
    return node->as_string()->get();
  }

  std::optional<double> number(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_number()) wrong_type(*node, key, "a number");
    return node->value<double>();
  }

  /// A text or a list of texts.
  Names texts(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    if (node->is_string()) return {node->as_string()->get()};
    if (!node->is_array()) wrong_type(*node, key, "a text or a list of texts");
    Names found;
    for (const toml::node& one : *node->as_array()) {
      if (!one.is_string()) wrong_type(one, key, "a list of texts");
      found.push_back(one.as_string()->get());
    }
    return found;
  }

  const toml::table* inner(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong_type(*node, key, "a table");
    return node->as_table();
  }

  /// Tables of an array of tables, [[key]].
  std::vector<const toml::table*> list(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    if (!node->is_array()) wrong_type(*node, key, "a list of tables, [[" + std::string(key) + "]]");
    std::vector<const toml::table*> found;
    for (const toml::node& one : *node->as_array()) {
      if (!one.is_table()) wrong_type(one, key, "a list of tables, [[" + std::string(key) + "]]");
      found.push_back(one.as_table());
    }
    return found;
  }

  /// One of some words.
  template <typename State>
  State word(const char* key, const std::map<std::string, State>& known, const char* fallback) const {
    const std::string given = text(key, fallback);
    const auto found = known.find(given);
    if (found != known.end()) return found->second;
    Names names;
    for (const auto& [name, state] : known) names.push_back(name);
    fail_study(study_, line_of_node(*table_.get(key)),
               fmt::format("{}: {} '{}' is none of {}{}", place_, key, given, fmt::join(names, ", "),
                           did_you_mean(given, names)));
  }

  [[noreturn]] void wrong_type(const toml::node& node, const std::string& key, const std::string& wanted) const {
    fail_study(study_, line_of_node(node), fmt::format("{}: '{}' must be {}", place_, key, wanted));
  }

 private:
  const StudyFile& study_;
  const toml::table& table_;
  std::string place_;
};

std::optional<std::string> option_word(const toml::node& node) {
  if (node.is_string()) return node.as_string()->get();
  if (node.is_integer()) return std::to_string(node.as_integer()->get());
  if (node.is_floating_point()) return fmt::format("{}", node.as_floating_point()->get());
  return std::nullopt;
}

StudyOption option_of(const StudyTable& table, const std::string& key, const toml::node& node) {
  constexpr const char* wanted = "a text, a number, true, false, or a list of texts or numbers";
  StudyOption option{.key = key, .line = line_of_node(node)};
  if (node.is_boolean()) {
    option.form = StudyOption::Form::flag;
    if (node.as_boolean()->get()) option.words = {"true"};
    return option;
  }
  if (const auto word = option_word(node)) {
    option.words = {*word};
    return option;
  }
  if (!node.is_array() || node.as_array()->empty()) table.wrong_type(node, key, wanted);
  option.form = StudyOption::Form::list;
  for (const toml::node& one : *node.as_array()) {
    const auto word = option_word(one);
    if (!word) table.wrong_type(one, key, wanted);
    option.words.push_back(*word);
  }
  return option;
}

/// All but the keys that mean something here.
std::vector<StudyOption> study_options_of(const StudyTable& table, std::span<const char* const> own) {
  std::vector<StudyOption> options;
  for (const auto& [key, node] : table.table()) {
    const std::string word{std::string_view(key)};
    if (std::find(own.begin(), own.end(), word) == own.end()) options.push_back(option_of(table, word, node));
  }
  std::stable_sort(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return options;
}

constexpr const char* cell_keys[] = {"name", "kind", "weights", "quick"};
constexpr const char* quick_key[] = {"quick"};

std::vector<StudyOption> quick_of(const StudyFile& study, const StudyTable& table) {
  const toml::table* quick = table.inner("quick");
  if (quick == nullptr) return {};
  return study_options_of(StudyTable(study, *quick, "quick"), {});
}

StudyCell study_cell_of(const StudyFile& study, const toml::table& node) {
  static const std::map<std::string, StudyWeights> weights = {{"any", StudyWeights::any}, {"real", StudyWeights::real}};
  const StudyTable table(study, node, "cells");
  StudyCell cell;
  cell.line = table.line();
  cell.kind = table.text("kind");
  cell.name = table.text("name", cell.kind.c_str());
  cell.weights = table.word("weights", weights, "any");
  cell.options = study_options_of(StudyTable(study, node, "cell '" + cell.name + "'"), cell_keys);
  cell.quick = quick_of(study, table);
  return cell;
}

Json json_of(const StudyTable& table, const std::string& key, const toml::node& node) {
  if (node.is_string()) return node.as_string()->get();
  if (node.is_integer()) return node.as_integer()->get();
  if (node.is_floating_point()) return node.as_floating_point()->get();
  if (node.is_boolean()) return node.as_boolean()->get();
  table.wrong_type(node, key, "a text, a number, true or false");
}

Json values_of(const StudyFile& study, const StudyTable& table, const char* key) {
  Json values = Json::object();
  const toml::table* inner = table.inner(key);
  if (inner == nullptr) return values;
  const StudyTable filter(study, *inner, key);
  for (const auto& [name, node] : *inner)
    values[std::string(std::string_view(name))] = json_of(filter, std::string(std::string_view(name)), node);
  return values;
}

Names record_field_names() {
  Names names;
  names.reserve(record_fields().size());
  for (const Field& field : record_fields()) names.emplace_back(field.name);
  return names;
}

/// The records' fields are known; a table's columns are where it is made.
void check_field(const StudyFile& study, const StudyTable& table, const StudyRows& rows, const std::string& field) {
  static const Names known = record_field_names();
  if (rows.table != "records" || std::find(known.begin(), known.end(), field) != known.end()) return;
  fail_study(study, table.line(), fmt::format("'{}' is no field of records{}", field, did_you_mean(field, known)));
}

StudyRows study_rows_of(const StudyFile& study, const StudyTable& table) {
  static const std::map<std::string, StudyFigure> reads = {{"as it is", StudyFigure::as_it_is},
                                                           {"size", StudyFigure::size}};
  Names cells;
  cells.reserve(study.cells.size());
  for (const StudyCell& cell : study.cells) cells.push_back(cell.name);
  StudyRows rows;
  rows.cells = table.texts("cell");
  if (rows.cells.empty()) rows.cells = cells;
  for (const std::string& name : rows.cells) {
    if (std::find(cells.begin(), cells.end(), name) == cells.end())
      fail_study(study, table.line(), fmt::format("'{}' is no cell's name{}", name, did_you_mean(name, cells)));
  }
  rows.table = table.text("table", "records");
  rows.field = table.text("field");
  rows.read = table.word("read", reads, "as it is");
  rows.of = values_of(study, table, "of");
  check_field(study, table, rows, rows.field);
  for (const auto& [key, value] : rows.of.items()) check_field(study, table, rows, key);
  return rows;
}

StudyQuestion question_of(const StudyFile& study, const toml::table& node) {
  static const std::map<std::string, StudyQuestion::Best> bests = {{"lowest", StudyQuestion::Best::lowest},
                                                                   {"highest", StudyQuestion::Best::highest},
                                                                   {"none", StudyQuestion::Best::none}};
  const StudyTable table(study, node, "questions");
  table.check_keys({"text", "cell", "table", "field", "read", "of", "best", "among"});
  StudyQuestion question;
  question.line = table.line();
  question.text = table.text("text");
  question.rows = study_rows_of(study, table);
  question.best = table.word("best", bests, "none");
  question.among = table.text("among", "precision");
  check_field(study, table, question.rows, question.among);
  return question;
}

StudyExpectation expectation_of(const StudyFile& study, const toml::table& node) {
  using Claim = StudyExpectation::Claim;
  static const std::map<std::string, Claim> claims = {
      {"below", Claim::below}, {"above", Claim::above}, {"within", Claim::within}};
  const StudyTable table(study, node, "expectations");
  table.check_keys({"text", "cell", "table", "field", "read", "of", "is", "than", "value", "by"});
  StudyExpectation expectation;
  expectation.line = table.line();
  expectation.text = table.text("text");
  expectation.rows = study_rows_of(study, table);
  table.text("is");
  expectation.claim = table.word("is", claims, "below");
  expectation.than = values_of(study, table, "than");
  for (const auto& [key, value] : expectation.than.items()) check_field(study, table, expectation.rows, key);
  expectation.value = table.number("value");
  expectation.by = table.number("by").value_or(0);
  if (expectation.than.empty() == !expectation.value.has_value())
    fail_study(study, expectation.line, "expectations: one of 'than' and 'value' says what is compared with");
  return expectation;
}

void add_cells(StudyFile& study, const StudyTable& root) {
  for (const toml::table* node : root.list("cells")) {
    StudyCell cell = study_cell_of(study, *node);
    for (const StudyCell& other : study.cells) {
      if (other.name == cell.name)
        fail_study(study, cell.line,
                   fmt::format("two cells have the name '{}', the other in line {}", cell.name, other.line));
    }
    study.cells.push_back(std::move(cell));
  }
  if (study.cells.empty()) fail_study(study, 1, "has no [[cells]]: nothing would be measured");
}

void fill(StudyFile& study, const StudyTable& root) {
  root.check_keys({"title", "about", "budget", "defaults", "cells", "questions", "expectations"});
  study.title = root.text("title");
  study.about = root.texts("about");
  study.budget_s = root.number("budget").value_or(0);
  if (!(study.budget_s >= 0)) fail_study(study, line_of_node(*root.table().get("budget")), "'budget' must be seconds");
  if (const toml::table* defaults = root.inner("defaults")) {
    const StudyTable table(study, *defaults, "defaults");
    study.defaults = study_options_of(table, quick_key);
    study.quick_defaults = quick_of(study, table);
  }
  add_cells(study, root);
  for (const toml::table* node : root.list("questions")) study.questions.push_back(question_of(study, *node));
  for (const toml::table* node : root.list("expectations")) study.expectations.push_back(expectation_of(study, *node));
}

}  // namespace

void fail_study(const StudyFile& study, std::int64_t line, const std::string& what) {
  fail_user("{}:{}: {}", study.source, line, what);
}

StudyFile parse_study(std::string_view text, const std::string& source) {
  StudyFile study;
  study.source = source;
  try {
    const toml::table table = toml::parse(text, source);
    fill(study, StudyTable(study, table, "study"));
  } catch (const toml::parse_error& error) {
    fail_study(study, static_cast<std::int64_t>(error.source().begin.line), std::string(error.description()));
  }
  return study;
}

}  // namespace assay
