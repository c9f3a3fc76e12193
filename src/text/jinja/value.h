#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

/// The part of the Jinja template language (jinja.palletsprojects.com, version 3.1) that models' chat templates use, as
/// transformers sets it up. What it computes is what Python would; where that is not known it is refused, never
/// guessed.
namespace assay::jinja {

struct Node;
struct Builtin;
struct Value;
struct Sequence;
struct Dict;

/// What has no value: printing gives nothing, most other uses are errors that say its name.
struct Undefined {
  std::string name;
};
struct None {};
/// Of the evaluation's namespaces, the only values that change. A number, so that they can hold one another.
struct NamespaceRef {
  std::size_t index = 0;
};

using Text = std::shared_ptr<const std::string>;  ///< UTF-8
using Items = std::vector<Value>;

/// The rest copies in a few instructions, whatever it holds.
struct Value {
  std::variant<Undefined, None, bool, std::int64_t, double, Text, std::shared_ptr<Sequence>,
               std::shared_ptr<const Dict>, NamespaceRef, const Node*, const Builtin*>
      is;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
  bool undefined() const { return std::holds_alternative<Undefined>(is); }
  bool none() const { return std::holds_alternative<None>(is); }
  const std::string* text() const;
  const Sequence* sequence() const;
  const Dict* dict() const;
};

/// Python tells apart what all holds items in order: a generator can be read once, a view and a range have no `+`.
enum class SequenceKind { list, tuple, range, view, generator };

struct Sequence {
  SequenceKind kind = SequenceKind::list;
  Items items;
  bool read = false;  ///< Of a generator.
  int depth = 1;      ///< Of containers in containers.
};

/// Keys are unique and in the order in which they came.
struct Dict {
  std::vector<std::pair<std::string, Value>> members;
  int depth = 1;

  const Value* find(std::string_view key) const;
};

/// What a rendering may take: a template comes from whoever made the model.
struct Budget {
  std::size_t steps = 20'000'000;                 ///< A step is a node, an item, or 16 bytes of text that are touched.
  std::size_t text_bytes = std::size_t{1} << 24;  ///< The longest text.
};

/// Where in which template something is done, for errors.
struct Site {
  const std::string& name;  ///< Of the template: "model/tokenizer_config.json".
  int line = 1;
  Budget& budget;

  /// Throws a user error of one line: "model/tokenizer_config.json: line 3 of the chat template: ...".
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_text(fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_text(const std::string& what) const;

  /// Counts work, and throws a user error where it has become too much.
  void charge(std::size_t steps) const;
  void charge_text(std::size_t bytes) const;
};

Value of_text(const Site& site, std::string text);
Value of_items(const Site& site, Items items, SequenceKind kind = SequenceKind::list);
Value of_members(const Site& site, std::vector<std::pair<std::string, Value>> members);

/// "str", "list", "dict", ...: as Python's errors name it.
std::string type_name(const Value& value);
bool truth(const Site& site, const Value& value);
bool equal(const Site& site, const Value& a, const Value& b);
bool is_number(const Value& value);
/// An int, or a bool as one.
const std::int64_t* integer(const Value& value);
/// As str() gives it; an undefined value is "".
std::string to_text(const Site& site, const Value& value);
/// What a loop over the value would see; reads a generator.
Items items_of(const Site& site, const Value& value);
/// Null where the dict has no such key.
const Value* find_member(const Site& site, const Dict& dict, std::string_view key);
bool contains(const Site& site, const Value& container, const Value& item);
/// `value.name` and `value[key]`; undefined where there is none. Throws where the value itself is undefined.
Value attribute_of(const Site& site, const Value& value, const std::string& name);
Value item_of(const Site& site, const Value& value, const Value& key);

struct JsonStyle {
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  std::string indent;  ///< Of one level; with `lines`.
  enum class Lines { one, many } lines = Lines::one;
};
/// As json.dumps(value, ensure_ascii=False).
std::string to_json(const Site& site, const Value& value, const JsonStyle& style);

}  // namespace assay::jinja
