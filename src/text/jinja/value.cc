#include "text/jinja/value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/printable.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"

namespace assay::jinja {
namespace {

constexpr int deepest_container = 50;

/// What Python finds on its own types under a name, before or behind what a template means.
constexpr std::array dict_names = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                   "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::array text_names = {
    "capitalize", "casefold",     "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",     "format_map",   "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "islower",    "isidentifier", "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",      "lower",        "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",      "rindex",       "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith", "strip",        "swapcase",  "title",       "translate", "upper",        "zfill"};
constexpr std::array other_names = {"append",       "as_integer_ratio",
                                    "bit_count",    "bit_length",
                                    "clear",        "close",
                                    "conjugate",    "copy",
                                    "count",        "denominator",
                                    "extend",       "from_bytes",
                                    "fromhex",      "gi_code",
                                    "gi_frame",     "gi_running",
                                    "gi_suspended", "gi_yieldfrom",
                                    "hex",          "imag",
                                    "index",        "insert",
                                    "is_integer",   "isdisjoint",
                                    "mapping",      "numerator",
                                    "pop",          "real",
                                    "remove",       "reverse",
                                    "send",         "sort",
                                    "start",        "step",
                                    "stop",         "throw",
                                    "to_bytes",     "from_number",
                                    "name",         "arguments",
                                    "catch_kwargs", "catch_varargs",
                                    "caller"};

const char* kind_name(SequenceKind kind) {
  constexpr std::array names = {"a list", "a tuple", "a range", "a view of a dict", "a generator"};
  return names[static_cast<std::size_t>(kind)];
}

template <typename Names>
bool one_of(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_python_name(const Value& value, const std::string& name) {
  if (value.none()) return false;
  if (value.dict() != nullptr) return one_of(dict_names, name);
  if (value.text() != nullptr) return one_of(text_names, name);
  return one_of(other_names, name);
}

double number_of(const Value& value) {
  const auto* real = value.as<double>();
  return real != nullptr ? *real : static_cast<double>(*integer(value));
}

bool equal_numbers(const Site& site, const Value& a, const Value& b) {
  if (a.as<double>() == nullptr && b.as<double>() == nullptr) return *integer(a) == *integer(b);
  constexpr double exact = 9007199254740992.0;  // 2^53
  const double x = number_of(a);
  const double y = number_of(b);
  if (std::abs(x) >= exact && std::abs(y) >= exact)
    site.refuse("numbers beyond 2^53 are compared, which is not supported");
  return x == y;
}

bool equal_items(const Site& site, const Sequence& a, const Sequence& b) {
  for (const Sequence* of : {&a, &b}) {
    if (of->kind != SequenceKind::list && of->kind != SequenceKind::tuple) {
      site.refuse("a comparison with {} is not supported", kind_name(of->kind));
    }
  }
  return a.kind == b.kind && std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                                        [&](const Value& x, const Value& y) { return equal(site, x, y); });
}

bool equal_members(const Site& site, const Dict& a, const Dict& b) {
  return a.members.size() == b.members.size() &&
         std::all_of(a.members.begin(), a.members.end(), [&](const auto& member) {
           const Value* other = b.find(member.first);
           return other != nullptr && equal(site, member.second, *other);
         });
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  std::string made = fmt::format("{}", value);
  if (made.find_first_of(".en") == std::string::npos) made += ".0";
  return made;
}

void append_escape(char32_t c, std::string& out) {
  if (c < 0x100) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
  } else if (c < 0x10000) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += fmt::format("\\U{:08x}", static_cast<unsigned>(c));
  }
}

std::string repr(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  std::string made(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = unicode::next_code_point(text, at);
    const std::size_t known =
        c < 0x80 ? std::string_view("\n\r\t\\").find(static_cast<char>(c)) : std::string_view::npos;
    if (known != std::string_view::npos) {
      made += '\\';
      made += "nrt\\"[known];
    } else if (c == static_cast<unsigned char>(quote)) {
      made += '\\';
      made += quote;
    } else if (is_printable(c)) {
      unicode::append_utf8(c, made);
    } else {
      append_escape(c, made);
    }
  }
  return made + quote;
}

std::string repr_of(const Site& site, const Value& value) {
  if (value.undefined()) return "Undefined";
  return value.text() != nullptr ? repr(*value.text()) : to_text(site, value);
}

std::string items_text(const Site& site, const Sequence& sequence) {
  const bool list = sequence.kind == SequenceKind::list;
  if (!list && sequence.kind != SequenceKind::tuple) {
    site.refuse("to print {} is not supported", kind_name(sequence.kind));
  }
  std::string made;
  for (const Value& item : sequence.items) made += (made.empty() ? "" : ", ") + repr_of(site, item);
  if (!list && sequence.items.size() == 1) made += ",";
  return list ? "[" + made + "]" : "(" + made + ")";
}

std::string members_text(const Site& site, const Dict& dict) {
  std::string made;
  for (const auto& [key, value] : dict.members) {
    made += fmt::format("{}{}: {}", made.empty() ? "" : ", ", repr(key), repr_of(site, value));
  }
  return "{" + made + "}";
}

std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const std::size_t known = std::string_view("\"\\\n\r\t\b\f").find(c);
    if (known != std::string_view::npos) {
      made += '\\';
      made += "\"\\nrtbf"[known];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      made += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      made += c;
    }
  }
  return made + '"';
}

struct JsonWriter {
  const Site& site;
  const JsonStyle& style;

  void append_line(std::size_t level, std::string& out) const {
    if (style.lines == JsonStyle::Lines::one) return;
    out += '\n';
    for (std::size_t i = 0; i < level; ++i) out += style.indent;
  }

  template <typename Parts, typename Append>
  std::string bracketed(const Parts& parts, std::string_view brackets, std::size_t level, const Append& append) const {
    if (parts.empty()) return std::string(brackets);
    std::string made(1, brackets[0]);
    for (const auto& part : parts) {
      if (made.size() > 1) made += style.item_separator;
      append_line(level + 1, made);
      append(part, made);
      site.charge_text(made.size());
    }
    append_line(level, made);
    return made + brackets[1];
  }

  std::string write(const Value& value, std::size_t level) const {
    if (value.text() != nullptr) return json_text(*value.text());
    if (value.none()) return "null";
    if (const bool* truth_value = value.as<bool>()) return *truth_value ? "true" : "false";
    if (const double* real = value.as<double>()) {
      return std::isnan(*real) ? "NaN" : std::isinf(*real) ? (*real > 0 ? "Infinity" : "-Infinity") : real_text(*real);
    }
    if (is_number(value)) return to_text(site, value);
    if (const Dict* dict = value.dict()) {
      return bracketed(dict->members, "{}", level, [&](const auto& member, std::string& out) {
        out += json_text(member.first) + style.key_separator + write(member.second, level + 1);
      });
    }
    const Sequence* sequence = value.sequence();
    if (sequence == nullptr || (sequence->kind != SequenceKind::list && sequence->kind != SequenceKind::tuple)) {
      site.refuse("{} has no form in JSON", type_name(value));
    }
    return bracketed(sequence->items, "[]", level,
                     [&](const Value& item, std::string& out) { out += write(item, level + 1); });
  }
};

/// The place that an index means, which counts from the end where it is negative; npos where there is none.
std::size_t place_of(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < -count || index >= count) return std::string::npos;
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

int depth_of(const Value& value) {
  if (const Sequence* sequence = value.sequence()) return sequence->depth;
  const Dict* dict = value.dict();
  return dict != nullptr ? dict->depth : 0;
}

int deeper(const Site& site, int depth) {
  if (depth >= deepest_container) site.refuse("values are nested deeper than {}", deepest_container);
  return depth + 1;
}

void refuse_undefined(const Site& site, const Value& value) {
  if (const auto* undefined = value.as<Undefined>()) site.refuse("'{}' is undefined", printable(undefined->name, 60));
}

}  // namespace

const std::string* Value::text() const {
  const auto* held = as<Text>();
  return held == nullptr ? nullptr : held->get();
}

const Sequence* Value::sequence() const {
  const auto* held = as<std::shared_ptr<Sequence>>();
  return held == nullptr ? nullptr : held->get();
}

const Dict* Value::dict() const {
  const auto* held = as<std::shared_ptr<const Dict>>();
  return held == nullptr ? nullptr : held->get();
}

const Value* Dict::find(std::string_view key) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  return found == members.end() ? nullptr : &found->second;
}

void Site::refuse_text(const std::string& what) const {
  fail_user("{}: line {} of the chat template: {}", name, line, printable_error(what, 400));
}

void Site::charge(std::size_t steps) const {
  if (steps > budget.steps) refuse("the rendering takes too many steps");
  budget.steps -= steps;
}

void Site::charge_text(std::size_t bytes) const {
  if (bytes > budget.text_bytes) refuse("a text becomes longer than {} bytes", budget.text_bytes);
  charge(1 + bytes / 16);
}

Value of_text(const Site& site, std::string text) {
  site.charge_text(text.size());
  return {std::make_shared<const std::string>(std::move(text))};
}

Value of_items(const Site& site, Items items, SequenceKind kind) {
  site.charge(1 + items.size());
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return {std::make_shared<Sequence>(Sequence{kind, std::move(items), false, deeper(site, depth)})};
}

Value of_members(const Site& site, std::vector<std::pair<std::string, Value>> members) {
  site.charge(1 + members.size());
  int depth = 0;
  for (const auto& member : members) depth = std::max(depth, depth_of(member.second));
  return {std::make_shared<const Dict>(Dict{std::move(members), deeper(site, depth)})};
}

std::string type_name(const Value& value) {
  constexpr std::array names = {"an undefined value", "None",   "a bool",      "an int",  "a float",   "a str",
                                "a sequence",         "a dict", "a namespace", "a macro", "a function"};
  const Sequence* sequence = value.sequence();
  return sequence != nullptr ? kind_name(sequence->kind) : names[value.is.index()];
}

bool truth(const Site& site, const Value& value) {
  site.charge(1);
  if (value.undefined() || value.none()) return false;
  if (is_number(value)) return number_of(value) != 0;
  if (value.text() != nullptr) return !value.text()->empty();
  if (value.dict() != nullptr) return !value.dict()->members.empty();
  const Sequence* sequence = value.sequence();
  return sequence == nullptr || sequence->kind == SequenceKind::generator || !sequence->items.empty();
}

bool is_number(const Value& value) {
  return integer(value) != nullptr || value.as<double>() != nullptr;
}

const std::int64_t* integer(const Value& value) {
  static constexpr std::int64_t truths[] = {0, 1};
  if (const bool* held = value.as<bool>()) return &truths[*held ? 1 : 0];
  return value.as<std::int64_t>();
}

bool equal(const Site& site, const Value& a, const Value& b) {
  site.charge(1);
  if (is_number(a) && is_number(b)) return equal_numbers(site, a, b);
  if (a.is.index() != b.is.index()) return false;
  if (a.text() != nullptr) {
    site.charge_text(std::min(a.text()->size(), b.text()->size()));
    return *a.text() == *b.text();
  }
  if (a.sequence() != nullptr) return equal_items(site, *a.sequence(), *b.sequence());
  if (a.dict() != nullptr) return equal_members(site, *a.dict(), *b.dict());
  if (!a.undefined() && !a.none()) site.refuse("a comparison with {} is not supported", type_name(a));
  return true;
}

std::string to_text(const Site& site, const Value& value) {
  site.charge(1);
  if (value.undefined()) return "";
  if (value.none()) return "None";
  if (const bool* held = value.as<bool>()) return *held ? "True" : "False";
  if (const std::int64_t* held = integer(value)) return std::to_string(*held);
  if (const double* held = value.as<double>()) return real_text(*held);
  std::string made;
  if (value.text() != nullptr) {
    made = *value.text();
  } else if (value.sequence() != nullptr) {
    made = items_text(site, *value.sequence());
  } else if (value.dict() != nullptr) {
    made = members_text(site, *value.dict());
  } else {
    site.refuse("to print {} is not supported", type_name(value));
  }
  site.charge_text(made.size());
  return made;
}

Items items_of(const Site& site, const Value& value) {
  Items made;
  if (value.undefined()) return made;
  if (const std::string* text = value.text()) {
    for (const std::string_view character : characters(*text)) made.push_back(of_text(site, std::string(character)));
  } else if (const Dict* dict = value.dict()) {
    for (const auto& member : dict->members) made.push_back(of_text(site, member.first));
  } else if (const auto* held = value.as<std::shared_ptr<Sequence>>()) {
    Sequence& sequence = **held;
    site.charge(sequence.items.size());
    if (sequence.kind == SequenceKind::generator && std::exchange(sequence.read, true)) {
      site.refuse("a generator is read twice, which is not supported; the filter 'list' makes a list of it");
    }
    made = sequence.items;
  } else {
    site.refuse("{} has no items", type_name(value));
  }
  return made;
}

const Value* find_member(const Site& site, const Dict& dict, std::string_view key) {
  site.charge(1 + dict.members.size() / 8);
  return dict.find(key);
}

bool contains(const Site& site, const Value& container, const Value& item) {
  if (const std::string* text = container.text()) {
    if (item.text() == nullptr) site.refuse("{} is looked for in a str", type_name(item));
    site.charge_text(text->size());
    return find_text(*text, *item.text()) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    if (item.sequence() != nullptr || item.dict() != nullptr) site.refuse("{} is no key of a dict", type_name(item));
    return item.text() != nullptr && find_member(site, *dict, *item.text()) != nullptr;
  }
  const Items items = items_of(site, container);
  return std::any_of(items.begin(), items.end(), [&](const Value& other) { return equal(site, item, other); });
}

Value attribute_of(const Site& site, const Value& value, const std::string& name) {
  refuse_undefined(site, value);
  if (name.starts_with('_')) site.refuse("the attribute '{}' is not supported", name);
  if (value.as<NamespaceRef>() == nullptr && is_python_name(value, name)) {
    site.refuse("'{}' of {} is not supported but as a call that is known", name, type_name(value));
  }
  const Value* found = value.dict() != nullptr ? find_member(site, *value.dict(), name) : nullptr;
  return found != nullptr ? *found : Value{Undefined{name}};
}

Value item_of(const Site& site, const Value& value, const Value& key) {
  refuse_undefined(site, value);
  const std::string* name = key.text();
  if (name != nullptr) {
    const Value* found = value.dict() != nullptr ? find_member(site, *value.dict(), *name) : nullptr;
    return found != nullptr ? *found : attribute_of(site, value, *name);
  }
  const std::int64_t* index = integer(key);
  if (index == nullptr) site.refuse("an index that is {} is not supported", type_name(key));
  if (const std::string* text = value.text()) {
    site.charge_text(text->size());
    const std::vector<std::string_view> all = characters(*text);
    const std::size_t place = place_of(*index, all.size());
    if (place != std::string::npos) return of_text(site, std::string(all[place]));
  }
  const Sequence* sequence = value.sequence();
  if (sequence != nullptr && sequence->kind != SequenceKind::generator && sequence->kind != SequenceKind::view) {
    const std::size_t place = place_of(*index, sequence->items.size());
    if (place != std::string::npos) return sequence->items[place];
  }
  return {Undefined{fmt::format("item {}", *index)}};
}

std::string to_json(const Site& site, const Value& value, const JsonStyle& style) {
  return JsonWriter{site, style}.write(value, 0);
}

}  // namespace assay::jinja
