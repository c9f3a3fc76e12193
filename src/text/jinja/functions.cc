// Filters and tests as jinja2.filters and jinja2.tests have them, methods as Python's str and dict.
#include "text/jinja/functions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/printable.h"
#include "text/jinja/strings.h"

namespace assay::jinja {
namespace {

bool absent(const Value& value) {
  const auto* undefined = value.as<Undefined>();
  return undefined != nullptr && undefined->name.empty();
}

const std::string& text_of(const Site& site, const std::string& what, const Value& value) {
  if (value.text() == nullptr) site.refuse("'{}' takes a str, this is {}", printable(what, 40), type_name(value));
  return *value.text();
}

std::optional<std::string_view> text_or_none(const Site& site, const std::string& what, const Value& value) {
  if (absent(value) || value.none()) return std::nullopt;
  return text_of(site, what, value);
}

std::int64_t integer_or(const Site& site, const std::string& what, const Value& value, std::int64_t fallback) {
  if (absent(value)) return fallback;
  if (integer(value) == nullptr) site.refuse("'{}' takes an int, this is {}", what, type_name(value));
  return *integer(value);
}

/// Upper and lower case are known of ASCII.
std::string ascii_text(const Site& site, const std::string& what, std::string text) {
  site.charge_text(text.size());
  if (!is_ascii(text)) site.refuse("'{}' of letters beyond ASCII is not supported", what);
  return text;
}

std::size_t size_of(const Site& site, const Value& value) {
  if (value.undefined()) return 0;
  if (value.text() != nullptr) {
    site.charge_text(value.text()->size());
    return code_points(*value.text());
  }
  if (value.dict() != nullptr) return value.dict()->members.size();
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || sequence->kind == SequenceKind::generator)
    site.refuse("{} has no length", type_name(value));
  return sequence->items.size();
}

Value in_pieces(const Site& site, const std::vector<std::string_view>& pieces) {
  Items items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) items.push_back(of_text(site, std::string(piece)));
  return of_items(site, std::move(items));
}

Value pairs_of(const Site& site, const Dict& dict, SequenceKind kind) {
  Items items;
  for (const auto& [key, value] : dict.members) {
    items.push_back(of_items(site, {of_text(site, key), value}, SequenceKind::tuple));
  }
  return of_items(site, std::move(items), kind);
}

Value replace_text(const Site& site, const std::string& text, const std::string& old, const std::string& by,
                   std::int64_t most) {
  if (old.empty()) site.refuse("'replace' of the empty str is not supported");
  site.charge_text(text.size());
  std::size_t found = 0;
  for (std::size_t at = find_text(text, old); at != std::string::npos; at = find_text(text, old, at + old.size())) {
    ++found;
  }
  site.charge_text(text.size() + found * by.size());
  return of_text(site, replaced(text, old, by, most));
}

Value stripped_text(const Site& site, const std::string& text, Sides sides, const Value& characters_given) {
  const std::optional<std::string_view> given = text_or_none(site, "strip", characters_given);
  site.charge((1 + text.size() / 16) * (1 + given.value_or("").size() / 16));
  return of_text(site, std::string(strip(text, sides, given)));
}

// ---- attributes by path, as `map`, `selectattr` and `join` take them

Value at_path(const Site& site, Value value, const Value& path) {
  if (path.text() == nullptr) return item_of(site, value, path);
  for (const std::string_view part : split(*path.text(), ".", -1)) {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = error == std::errc() && end == part.data() + part.size() && index >= 0;
    value = item_of(site, value, number ? Value{index} : of_text(site, std::string(part)));
  }
  return value;
}

// ---- filters

using Filter = Value (*)(const Site&, const Value&, const Arguments&);

Value capital_case(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "capitalize", arguments, {}, 0);
  return of_text(site, capitalized(ascii_text(site, "capitalize", to_text(site, input))));
}

Value fallback(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given = bind_arguments(site, "default", arguments, {"default_value", "boolean"}, 0);
  const bool replaces = input.undefined() || (truth(site, given[1]) && !truth(site, input));
  if (!replaces) return input;
  return absent(given[0]) ? of_text(site, "") : given[0];
}

Value first_item(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "first", arguments, {}, 0);
  const Items items = items_of(site, input);
  return items.empty() ? Value{Undefined{"the first of no items"}} : items.front();
}

Value last_item(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "last", arguments, {}, 0);
  const Sequence* sequence = input.sequence();
  if (sequence != nullptr && sequence->kind == SequenceKind::generator) site.refuse("a generator has no last item");
  const Items items = items_of(site, input);
  return items.empty() ? Value{Undefined{"the last of no items"}} : items.back();
}

/// int() of a text: whole numbers, else the whole part of a decimal one.
Value parsed_integer(const Site& site, std::string_view text, Value otherwise) {
  text = strip(text, Sides::both);
  if (!is_ascii(text) || text.find('_') != std::string_view::npos) site.refuse("'int' of such a str is not supported");
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto as_whole = std::from_chars(text.data(), end, whole);
  if (as_whole.ptr == end && as_whole.ec == std::errc()) return {whole};
  double real = 0;
  const auto as_real = std::from_chars(text.data(), end, real);
  if (text.empty() || as_real.ptr != end || as_real.ec != std::errc() || !std::isfinite(real)) return otherwise;
  if (std::abs(real) >= 9.2e18) site.refuse("'int' of a number beyond 64 bits is not supported");
  return {static_cast<std::int64_t>(real)};
}

Value to_integer(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given = bind_arguments(site, "int", arguments, {"default"}, 0);
  const Value otherwise = absent(given[0]) ? Value{std::int64_t{0}} : given[0];
  if (const auto* undefined = input.as<Undefined>()) site.refuse("'{}' is undefined", printable(undefined->name, 60));
  if (const std::int64_t* whole = integer(input)) return {*whole};
  if (input.text() != nullptr) return parsed_integer(site, *input.text(), otherwise);
  const double* real = input.as<double>();
  if (real == nullptr || !std::isfinite(*real)) return otherwise;
  if (std::abs(*real) >= 9.2e18) site.refuse("'int' of a number beyond 64 bits is not supported");
  return {static_cast<std::int64_t>(*real)};
}

Value pairs(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "items", arguments, {}, 0);
  if (input.undefined()) return of_items(site, {}, SequenceKind::generator);
  if (input.dict() == nullptr) site.refuse("'items' takes a dict, this is {}", type_name(input));
  return pairs_of(site, *input.dict(), SequenceKind::generator);
}

Value joined(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given = bind_arguments(site, "join", arguments, {"d", "attribute"}, 0);
  const std::string between = to_text(site, given[0]);
  std::string made;
  bool first = true;
  for (const Value& item : items_of(site, input)) {
    if (!std::exchange(first, false)) made += between;
    made += to_text(site, absent(given[1]) || given[1].none() ? item : at_path(site, item, given[1]));
    site.charge_text(made.size() < site.budget.text_bytes ? between.size() : made.size());
  }
  return of_text(site, std::move(made));
}

Value length(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "length", arguments, {}, 0);
  return {static_cast<std::int64_t>(size_of(site, input))};
}

Value listed(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "list", arguments, {}, 0);
  return of_items(site, items_of(site, input));
}

Value lower_case(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "lower", arguments, {}, 0);
  return of_text(site, lower(ascii_text(site, "lower", to_text(site, input))));
}

Value upper_case(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "upper", arguments, {}, 0);
  return of_text(site, upper(ascii_text(site, "upper", to_text(site, input))));
}

/// map(attribute=..) and map('filter', ..).
Value mapped(const Site& site, const Value& input, const Arguments& arguments) {
  Items made;
  if (arguments.positional.empty()) {
    const Items given = bind_arguments(site, "map", {{}, arguments.named}, {"attribute", "default"}, 1);
    const bool replaces = !absent(given[1]) && !given[1].none();
    for (const Value& item : items_of(site, input)) {
      const Value found = at_path(site, item, given[0]);
      made.push_back(replaces && found.undefined() ? given[1] : found);
    }
  } else {
    const std::string& filter = text_of(site, "map", arguments.positional[0]);
    if (filter == "map") site.refuse("'map' of 'map' is not supported");
    const Arguments rest = {{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    for (const Value& item : items_of(site, input)) made.push_back(apply_filter(site, filter, item, rest));
  }
  return of_items(site, std::move(made), SequenceKind::generator);
}

enum class Keep { what_passes, what_fails };
enum class Judged { item, attribute };

Value kept(const Site& site, const Value& input, const Arguments& arguments, Keep keep, Judged judged) {
  const std::size_t first = judged == Judged::attribute ? 1 : 0;
  const Items& given = arguments.positional;
  if (given.size() < first) site.refuse("'selectattr' and 'rejectattr' take the name of an attribute");
  Arguments rest;
  if (given.size() > first + 1)
    rest.positional.assign(given.begin() + static_cast<std::ptrdiff_t>(first) + 1, given.end());
  rest.named = arguments.named;
  Items made;
  for (const Value& item : items_of(site, input)) {
    const Value subject = judged == Judged::attribute ? at_path(site, item, given[0]) : item;
    const bool passes = given.size() > first ? apply_test(site, text_of(site, "select", given[first]), subject, rest)
                                             : truth(site, subject);
    if (passes == (keep == Keep::what_passes)) made.push_back(item);
  }
  return of_items(site, std::move(made), SequenceKind::generator);
}

template <Keep keep, Judged judged>
Value kept_by(const Site& site, const Value& input, const Arguments& arguments) {
  return kept(site, input, arguments, keep, judged);
}

Value replaced_text(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given = bind_arguments(site, "replace", arguments, {"old", "new", "count"}, 2);
  const std::int64_t most = given[2].none() ? -1 : integer_or(site, "replace", given[2], -1);
  return replace_text(site, to_text(site, input), to_text(site, given[0]), to_text(site, given[1]), most);
}

Value reversed(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "reverse", arguments, {}, 0);
  Items items = items_of(site, input);
  std::reverse(items.begin(), items.end());
  if (input.text() == nullptr) return of_items(site, std::move(items), SequenceKind::generator);
  std::string made;
  for (const Value& character : items) made += *character.text();
  return of_text(site, std::move(made));
}

Value as_text(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "string", arguments, {}, 0);
  return of_text(site, to_text(site, input));
}

bool separates_words(char c) {
  return std::string_view("-({[<").find(c) != std::string_view::npos || is_space(static_cast<unsigned char>(c));
}

Value title_case(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "title", arguments, {}, 0);
  return of_text(site, titled(ascii_text(site, "title", to_text(site, input)), separates_words));
}

/// transformers' own: json.dumps without ASCII escapes, where jinja2's escapes HTML.
Value json(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given =
      bind_arguments(site, "tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  if (truth(site, given[0])) site.refuse("'tojson' with ensure_ascii is not supported");
  if (truth(site, given[3])) site.refuse("'tojson' with sort_keys is not supported");
  JsonStyle style;
  if (!absent(given[1]) && !given[1].none()) {
    style.lines = JsonStyle::Lines::many;
    style.item_separator = ",";
    style.indent = given[1].text() != nullptr ? *given[1].text()
                                              : std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(
                                                                integer_or(site, "tojson", given[1], 0), 0, 100)),
                                                            ' ');
  }
  if (!absent(given[2]) && !given[2].none()) {
    const Items separators = items_of(site, given[2]);
    if (separators.size() != 2) site.refuse("'tojson' takes two separators");
    style.item_separator = text_of(site, "tojson", separators[0]);
    style.key_separator = text_of(site, "tojson", separators[1]);
  }
  return of_text(site, to_json(site, input, style));
}

Value trimmed(const Site& site, const Value& input, const Arguments& arguments) {
  const Items given = bind_arguments(site, "trim", arguments, {"chars"}, 0);
  return stripped_text(site, to_text(site, input), Sides::both, given[0]);
}

Value without_repeats(const Site& site, const Value& input, const Arguments& arguments) {
  bind_arguments(site, "unique", arguments, {}, 0);
  Items seen;
  Items made;
  for (const Value& item : items_of(site, input)) {
    if (item.sequence() != nullptr || item.dict() != nullptr)
      site.refuse("'unique' of {} is not supported", type_name(item));
    Value key = item;
    if (item.text() != nullptr) key = of_text(site, lower(ascii_text(site, "unique", *item.text())));
    const auto same = [&](const Value& other) { return equal(site, key, other); };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(key);
    made.push_back(item);
  }
  return of_items(site, std::move(made), SequenceKind::generator);
}

struct NamedFilter {
  const char* name;
  Filter run;
};
constexpr std::array filters = {
    NamedFilter{"capitalize", capital_case},
    NamedFilter{"count", length},
    NamedFilter{"d", fallback},
    NamedFilter{"default", fallback},
    NamedFilter{"first", first_item},
    NamedFilter{"int", to_integer},
    NamedFilter{"items", pairs},
    NamedFilter{"join", joined},
    NamedFilter{"last", last_item},
    NamedFilter{"length", length},
    NamedFilter{"list", listed},
    NamedFilter{"lower", lower_case},
    NamedFilter{"map", mapped},
    NamedFilter{"reject", kept_by<Keep::what_fails, Judged::item>},
    NamedFilter{"rejectattr", kept_by<Keep::what_fails, Judged::attribute>},
    NamedFilter{"replace", replaced_text},
    NamedFilter{"reverse", reversed},
    NamedFilter{"select", kept_by<Keep::what_passes, Judged::item>},
    NamedFilter{"selectattr", kept_by<Keep::what_passes, Judged::attribute>},
    NamedFilter{"string", as_text},
    NamedFilter{"title", title_case},
    NamedFilter{"tojson", json},
    NamedFilter{"trim", trimmed},
    NamedFilter{"unique", without_repeats},
    NamedFilter{"upper", upper_case},
};

// ---- tests

bool has_items(const Value& value) {
  return value.undefined() || value.text() != nullptr || value.sequence() != nullptr || value.dict() != nullptr;
}

bool is_indexed(const Value& value) {
  const Sequence* sequence = value.sequence();
  return has_items(value) && (sequence == nullptr || sequence->kind <= SequenceKind::range);
}

bool is_truth(const Value& value, const bool wanted) {
  const bool* held = value.as<bool>();
  return held != nullptr && *held == wanted;
}

/// A test of the value alone.
struct PlainTest {
  const char* name;
  bool (*passes)(const Value&);
};
constexpr std::array plain_tests = {
    PlainTest{"boolean", [](const Value& value) { return value.as<bool>() != nullptr; }},
    PlainTest{"defined", [](const Value& value) { return !value.undefined(); }},
    PlainTest{"false", [](const Value& value) { return is_truth(value, false); }},
    PlainTest{"float", [](const Value& value) { return value.as<double>() != nullptr; }},
    PlainTest{"integer", [](const Value& value) { return value.as<std::int64_t>() != nullptr; }},
    PlainTest{"iterable", has_items},
    PlainTest{"mapping", [](const Value& value) { return value.dict() != nullptr; }},
    PlainTest{"none", [](const Value& value) { return value.none(); }},
    PlainTest{"number", is_number},
    PlainTest{"sequence", is_indexed},
    PlainTest{"string", [](const Value& value) { return value.text() != nullptr; }},
    PlainTest{"true", [](const Value& value) { return is_truth(value, true); }},
    PlainTest{"undefined", [](const Value& value) { return value.undefined(); }},
};

/// A test against another value.
struct PairTest {
  std::array<const char*, 3> names;
  bool (*passes)(const Site&, const Value&, const Value&);
};
constexpr std::array pair_tests = {
    PairTest{{"equalto", "eq", "=="}, equal},
    PairTest{{"ne", "!=", "!="}, [](const Site& site, const Value& a, const Value& b) { return !equal(site, a, b); }},
    PairTest{{"in", "in", "in"}, [](const Site& site, const Value& a, const Value& b) { return contains(site, b, a); }},
    PairTest{{"lessthan", "lt", "<"},
             [](const Site& site, const Value& a, const Value& b) { return in_order(site, "<", a, b); }},
    PairTest{{"greaterthan", "gt", ">"},
             [](const Site& site, const Value& a, const Value& b) { return in_order(site, ">", a, b); }},
    PairTest{{"le", "<=", "<="},
             [](const Site& site, const Value& a, const Value& b) { return in_order(site, "<=", a, b); }},
    PairTest{{"ge", ">=", ">="},
             [](const Site& site, const Value& a, const Value& b) { return in_order(site, ">=", a, b); }},
};

// ---- methods

bool is_no_letter(char c) {
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

template <Sides sides>
Value stripped(const Site& site, const std::string& text, const Arguments& arguments) {
  const Items given = bind_arguments(site, "strip", {arguments.positional, {}}, {"chars"}, 0);
  return stripped_text(site, text, sides, given[0]);
}

enum class Edge { start, end };

template <Edge edge>
Value has_edge(const Site& site, const std::string& text, const Arguments& arguments) {
  const char* name = edge == Edge::start ? "startswith" : "endswith";
  const Items given = bind_arguments(site, name, arguments, {"part"}, 1);
  const Sequence* several = given[0].sequence();
  const Items parts = several != nullptr && several->kind == SequenceKind::tuple ? several->items : given;
  return {std::any_of(parts.begin(), parts.end(), [&](const Value& part) {
    const std::string& wanted = text_of(site, name, part);
    return edge == Edge::start ? text.starts_with(wanted) : text.ends_with(wanted);
  })};
}

Value split_text(const Site& site, const std::string& text, const Arguments& arguments) {
  const Items given = bind_arguments(site, "split", arguments, {"sep", "maxsplit"}, 0);
  const std::optional<std::string_view> separator = text_or_none(site, "split", given[0]);
  if (separator && separator->empty()) site.refuse("'split' at the empty str");
  site.charge_text(text.size());
  return in_pieces(site, split(text, separator, integer_or(site, "split", given[1], -1)));
}

Value replace_method(const Site& site, const std::string& text, const Arguments& arguments) {
  const Items given = bind_arguments(site, "replace", {arguments.positional, {}}, {"old", "new", "count"}, 2);
  return replace_text(site, text, text_of(site, "replace", given[0]), text_of(site, "replace", given[1]),
                      integer_or(site, "replace", given[2], -1));
}

template <std::string (*change)(std::string_view)>
Value changed(const Site& site, const std::string& text, const Arguments& arguments) {
  bind_arguments(site, "upper, lower, capitalize", arguments, {}, 0);
  return of_text(site, change(ascii_text(site, "upper, lower, capitalize", text)));
}

Value title_method(const Site& site, const std::string& text, const Arguments& arguments) {
  bind_arguments(site, "title", arguments, {}, 0);
  return of_text(site, titled(ascii_text(site, "title", text), is_no_letter));
}

struct TextMethod {
  const char* name;
  Value (*run)(const Site&, const std::string&, const Arguments&);
};
constexpr std::array text_methods = {
    TextMethod{"capitalize", changed<capitalized>},
    TextMethod{"endswith", has_edge<Edge::end>},
    TextMethod{"lower", changed<lower>},
    TextMethod{"lstrip", stripped<Sides::left>},
    TextMethod{"replace", replace_method},
    TextMethod{"rstrip", stripped<Sides::right>},
    TextMethod{"split", split_text},
    TextMethod{"startswith", has_edge<Edge::start>},
    TextMethod{"strip", stripped<Sides::both>},
    TextMethod{"title", title_method},
    TextMethod{"upper", changed<upper>},
};

Value get_member(const Site& site, const Dict& dict, const Arguments& arguments) {
  const Items given = bind_arguments(site, "get", {arguments.positional, {}}, {"key", "default"}, 1);
  const Value otherwise = absent(given[1]) ? Value{None{}} : given[1];
  if (given[0].sequence() != nullptr || given[0].dict() != nullptr)
    site.refuse("{} is no key of a dict", type_name(given[0]));
  const Value* found = given[0].text() != nullptr ? find_member(site, dict, *given[0].text()) : nullptr;
  return found != nullptr ? *found : otherwise;
}

Value member_items(const Site& site, const Dict& dict, const Arguments& arguments) {
  bind_arguments(site, "items", arguments, {}, 0);
  return pairs_of(site, dict, SequenceKind::view);
}

Value member_keys(const Site& site, const Dict& dict, const Arguments& arguments) {
  bind_arguments(site, "keys", arguments, {}, 0);
  Items items;
  for (const auto& member : dict.members) items.push_back(of_text(site, member.first));
  return of_items(site, std::move(items), SequenceKind::view);
}

Value member_values(const Site& site, const Dict& dict, const Arguments& arguments) {
  bind_arguments(site, "values", arguments, {}, 0);
  Items items;
  for (const auto& member : dict.members) items.push_back(member.second);
  return of_items(site, std::move(items), SequenceKind::view);
}

struct DictMethod {
  const char* name;
  Value (*run)(const Site&, const Dict&, const Arguments&);
};
constexpr std::array dict_methods = {DictMethod{"get", get_member}, DictMethod{"items", member_items},
                                     DictMethod{"keys", member_keys}, DictMethod{"values", member_values}};

/// The row of that name, null where there is none.
template <typename Rows>
auto find_row(const Rows& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return name == row.name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

Items bind_arguments(const Site& site, const std::string& what, const Arguments& arguments,
                     const std::vector<std::string>& parameters, std::size_t required) {
  Items made = arguments.positional;
  const std::size_t given = made.size();
  if (given > parameters.size()) site.refuse("'{}' with {} arguments is not supported", what, given);
  made.resize(parameters.size());
  for (const auto& [name, value] : arguments.named) {
    const auto place =
        static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), name) - parameters.begin());
    if (place == parameters.size())
      site.refuse("the argument '{}' of '{}' is not supported", printable(name, 40), what);
    if (place < given || !absent(made[place])) site.refuse("the argument '{}' of '{}' is given twice", name, what);
    made[place] = value;
  }
  for (std::size_t i = given; i < required; ++i) {
    if (absent(made[i])) site.refuse("'{}' lacks its argument '{}'", what, parameters[i]);
  }
  return made;
}

Value apply_filter(const Site& site, const std::string& name, const Value& input, const Arguments& arguments) {
  const NamedFilter* filter = find_row(filters, name);
  if (filter == nullptr) site.refuse("the filter '{}' is not supported", printable(name, 40));
  return filter->run(site, input, arguments);
}

bool apply_test(const Site& site, const std::string& name, const Value& input, const Arguments& arguments) {
  site.charge(1);
  if (const PlainTest* test = find_row(plain_tests, name)) {
    bind_arguments(site, name, arguments, {}, 0);
    return test->passes(input);
  }
  for (const PairTest& test : pair_tests) {
    if (std::find(test.names.begin(), test.names.end(), name) == test.names.end()) continue;
    return test.passes(site, input, bind_arguments(site, name, arguments, {"other"}, 1)[0]);
  }
  site.refuse("the test '{}' is not supported", printable(name, 40));
}

Value call_method(const Site& site, const Value& object, const std::string& name, const Arguments& arguments) {
  if (const auto* undefined = object.as<Undefined>()) site.refuse("'{}' is undefined", printable(undefined->name, 60));
  const TextMethod* of_texts = object.text() != nullptr ? find_row(text_methods, name) : nullptr;
  if (of_texts != nullptr) return of_texts->run(site, *object.text(), arguments);
  const DictMethod* of_dicts = object.dict() != nullptr ? find_row(dict_methods, name) : nullptr;
  if (of_dicts != nullptr) return of_dicts->run(site, *object.dict(), arguments);
  site.refuse("the method '{}' of {} is not supported", printable(name, 40), type_name(object));
}

bool in_order(const Site& site, const std::string& sign, const Value& a, const Value& b) {
  const bool swapped = sign[0] == '>';
  const Value& low = swapped ? b : a;
  const Value& high = swapped ? a : b;
  const bool or_equal = sign.size() == 2;
  if (low.text() != nullptr && high.text() != nullptr) {
    site.charge_text(std::min(low.text()->size(), high.text()->size()));
    return or_equal ? *low.text() <= *high.text() : *low.text() < *high.text();
  }
  if (integer(low) != nullptr && integer(high) != nullptr) {
    return or_equal ? *integer(low) <= *integer(high) : *integer(low) < *integer(high);
  }
  if (!is_number(low) || !is_number(high)) {
    site.refuse("'{}' between {} and {} is not supported", sign, type_name(a), type_name(b));
  }
  const auto real = [](const Value& value) {
    return value.as<double>() != nullptr ? *value.as<double>() : static_cast<double>(*integer(value));
  };
  return or_equal ? real(low) <= real(high) : real(low) < real(high);
}

}  // namespace assay::jinja
