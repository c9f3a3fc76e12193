#include "text/jinja/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/printable.h"
#include "text/jinja/functions.h"
#include "text/jinja/parser.h"
#include "text/jinja/strings.h"

namespace assay::jinja {

class Evaluator;

/// A function that every template has.
struct Builtin {
  const char* name;
  Value (Evaluator::*call)(const Site&, const Arguments&);
};

struct LoopState {
  const Items& items;
  std::size_t index = 0;
  int depth = 1;
};

/// What names mean in a block; `outer` where it does not say.
struct Scope {
  const Scope* outer = nullptr;
  const LoopState* loop = nullptr;
  std::vector<std::pair<std::string, Value>> variables = {};

  void set(const std::string& name, Value value) {
    for (auto& [known, held] : variables) {
      if (known == name) return void(held = std::move(value));
    }
    variables.emplace_back(name, std::move(value));
  }
};

namespace {

constexpr int deepest_macro = 50;
constexpr std::int64_t longest_range = 1'000'000;

/// The loop that `loop` means there; null outside of loops.
const LoopState* loop_of(const Scope* scope) {
  while (scope != nullptr && scope->loop == nullptr) scope = scope->outer;
  return scope == nullptr ? nullptr : scope->loop;
}

/// What a block ends with.
enum class Flow { goes_on, next_round, leaves_loop };

struct LoopAttribute {
  const char* name;
  Value (*of)(const LoopState&);
};

Value neighbour(const LoopState& loop, std::size_t index, const char* what) {
  return index < loop.items.size() ? loop.items[index] : Value{Undefined{what}};
}

Value number(std::size_t value) {
  return {static_cast<std::int64_t>(value)};
}

constexpr std::array loop_attributes = {
    LoopAttribute{"depth", [](const LoopState& loop) { return Value{std::int64_t{loop.depth}}; }},
    LoopAttribute{"depth0", [](const LoopState& loop) { return Value{std::int64_t{loop.depth - 1}}; }},
    LoopAttribute{"first", [](const LoopState& loop) { return Value{loop.index == 0}; }},
    LoopAttribute{"index", [](const LoopState& loop) { return number(loop.index + 1); }},
    LoopAttribute{"index0", [](const LoopState& loop) { return number(loop.index); }},
    LoopAttribute{"last", [](const LoopState& loop) { return Value{loop.index + 1 == loop.items.size()}; }},
    LoopAttribute{"length", [](const LoopState& loop) { return number(loop.items.size()); }},
    LoopAttribute{"nextitem", [](const LoopState& loop) { return neighbour(loop, loop.index + 1, "loop.nextitem"); }},
    LoopAttribute{"previtem", [](const LoopState& loop) { return neighbour(loop, loop.index - 1, "loop.previtem"); }},
    LoopAttribute{"revindex", [](const LoopState& loop) { return number(loop.items.size() - loop.index); }},
    LoopAttribute{"revindex0", [](const LoopState& loop) { return number(loop.items.size() - loop.index - 1); }},
};

/// Functions that jinja2 has besides: a template that asks whether they are there must not be told no.
constexpr std::array unsupported_functions = {"cycler", "dict", "joiner", "lipsum"};

/// Places of a slice, as Python's slice.indices() gives them.
std::vector<std::size_t> slice_places(std::int64_t count, const std::int64_t* begin, const std::int64_t* end,
                                      std::int64_t step) {
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? count : count - 1;
  const auto bound = [&](const std::int64_t* given, std::int64_t fallback) {
    if (given == nullptr) return fallback;
    return *given < 0 ? std::max(*given < -count ? lowest : *given + count, lowest) : std::min(*given, highest);
  };
  const std::int64_t first = bound(begin, step > 0 ? lowest : highest);
  const std::int64_t last = bound(end, step > 0 ? highest : lowest);
  std::vector<std::size_t> places;
  for (std::int64_t at = first; step > 0 ? at < last : at > last; at += step) {
    places.push_back(static_cast<std::size_t>(at));
    if (std::abs(step) > count) break;  // and the next place would be outside
  }
  return places;
}

}  // namespace

class Evaluator {
 public:
  Evaluator(const std::string& name, const RenderOptions& options)
      : name_(name), now_(options.now), budget_(options.budget) {
    given_.variables = options.variables;
    root_.outer = &given_;
  }

  std::string run(const Block& tree) {
    std::string out;
    execute(tree, root_, out);
    return out;
  }

  Value raise_exception(const Site& site, const Arguments& arguments) {
    const Items given = bind_arguments(site, "raise_exception", arguments, {"message"}, 1);
    fail_user("{}: the chat template refuses this: {}", name_, printable_error(to_text(site, given[0]), 400));
  }

  Value strftime_now(const Site& site, const Arguments& arguments) {
    const Items given = bind_arguments(site, "strftime_now", arguments, {"format"}, 1);
    if (given[0].text() == nullptr) site.refuse("'strftime_now' takes a str, this is {}", type_name(given[0]));
    const std::string& format = *given[0].text();
    if (format.find('\0') != std::string::npos || format.size() > 200) site.refuse("the format of a time is odd");
    std::tm time = {};
    localtime_r(&now_, &time);
    std::array<char, 4096> text = {};
    // The zone, widths and paddings are the C library's: Python knows less of them.
    return of_text(site, std::string(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &time)));
  }

  Value range(const Site& site, const Arguments& arguments) {
    const Items given = bind_arguments(site, "range", arguments, {"start", "stop", "step"}, 1);
    std::array<std::int64_t, 3> bounds = {0, 0, 1};
    const std::size_t count = arguments.positional.size();
    if (!arguments.named.empty()) site.refuse("'range' takes no arguments with names");
    for (std::size_t i = 0; i < count; ++i) {
      if (integer(given[i]) == nullptr) site.refuse("'range' takes ints, this is {}", type_name(given[i]));
      bounds[count == 1 ? 1 : i] = *integer(given[i]);
    }
    const auto [start, stop, step] = bounds;
    if (step == 0) site.refuse("'range' with a step of 0");
    for (const std::int64_t bound : bounds) {
      if (std::abs(bound) > longest_range)
        site.refuse("'range' with a bound beyond {} is not supported", longest_range);
    }
    Items items;
    for (std::int64_t at = start; step > 0 ? at < stop : at > stop; at += step) items.push_back({at});
    return of_items(site, std::move(items), SequenceKind::range);
  }

  Value make_namespace(const Site& site, const Arguments& arguments) {
    if (!arguments.positional.empty()) site.refuse("'namespace' of a dict is not supported");
    for (const auto& member : arguments.named) {
      if (member.first.starts_with('_'))
        site.refuse("the attribute '{}' is not supported", printable(member.first, 40));
    }
    namespaces_.push_back({.variables = arguments.named});
    return {NamespaceRef{namespaces_.size() - 1}};
  }

 private:
  Site site(int line) { return {name_, line, budget_}; }

  void append(const Site& at, std::string_view text, std::string& out) {
    if (out.size() + text.size() > budget_.text_bytes) at.charge_text(out.size() + text.size());
    at.charge_text(text.size());
    out += text;
  }

  // ---- statements

  Flow execute(const Block& block, Scope& scope, std::string& out) {
    for (const Node& node : block) {
      const Flow flow = execute(node, scope, out);
      if (flow != Flow::goes_on) return flow;
    }
    return Flow::goes_on;
  }

  Flow execute(const Node& node, Scope& scope, std::string& out) {
    const Site at = site(node.line);
    at.charge(1 + scope.variables.size() / 8);
    switch (node.kind) {
      case Node::Kind::data:
        append(at, node.text, out);
        break;
      case Node::Kind::output:
        append(at, to_text(at, printed(node.expressions[0], scope)), out);
        break;
      case Node::Kind::choice:
        return choose(node, scope, out);
      case Node::Kind::loop:
        return loop(node, scope, out);
      case Node::Kind::set:
        scope.set(node.names[0], evaluate(node.expressions[0], scope));
        break;
      case Node::Kind::set_member:
        set_member(node, scope);
        break;
      case Node::Kind::set_block:
        scope.set(node.names[0], in_scope(node, scope));
        break;
      case Node::Kind::macro:
        scope.set(node.text, {&node});
        break;
      case Node::Kind::scope:
        append(at, *in_scope(node, scope).text(), out);
        break;
      case Node::Kind::leave_loop:
        return Flow::leaves_loop;
      case Node::Kind::next_round:
        return Flow::next_round;
    }
    return Flow::goes_on;
  }

  /// jinja2 marks a text as safe for HTML, which changes how it is put together with others, but not how it is printed.
  Value printed(const Expression& expression, Scope& scope) {
    const bool marked = expression.kind == Expression::Kind::filter && expression.name == "safe";
    return evaluate(marked && expression.parts.size() == 1 ? expression.parts[0] : expression, scope);
  }

  Flow choose(const Node& node, Scope& scope, std::string& out) {
    std::size_t chosen = 0;
    while (chosen < node.expressions.size() && !holds(node.expressions[chosen], scope)) ++chosen;
    return chosen < node.bodies.size() ? execute(node.bodies[chosen], scope, out) : Flow::goes_on;
  }

  Flow loop(const Node& node, Scope& scope, std::string& out) {
    const Site at = site(node.line);
    const Items items = looped(node, scope);
    LoopState state{items, 0, ++loops_};
    bool completed = false;  // jinja2's own reading of for-else: whether any round came to its end
    for (; state.index < items.size(); ++state.index) {
      at.charge(1);
      Scope inner{.outer = &scope, .loop = &state};
      assign(node, items[state.index], inner);
      const Flow flow = execute(node.bodies[0], inner, out);
      completed = completed || flow == Flow::goes_on;
      if (flow == Flow::leaves_loop) break;
    }
    --loops_;
    if (completed || node.bodies.size() < 2) return Flow::goes_on;
    Scope inner{.outer = &scope};
    return execute(node.bodies[1], inner, out);
  }

  Items looped(const Node& node, Scope& scope) {
    Items items = items_of(site(node.line), evaluate(node.expressions[0], scope));
    if (node.expressions.size() < 2) return items;
    std::erase_if(items, [&](const Value& item) {
      Scope inner{.outer = &scope};
      assign(node, item, inner);
      return !holds(node.expressions[1], inner);
    });
    return items;
  }

  void assign(const Node& node, const Value& item, Scope& scope) {
    if (node.names.size() == 1) return scope.set(node.names[0], item);
    const Site at = site(node.line);
    const Items parts = items_of(at, item);
    if (parts.size() != node.names.size()) at.refuse("{} names for {} values", node.names.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) scope.set(node.names[i], parts[i]);
  }

  void set_member(const Node& node, Scope& scope) {
    const Site at = site(node.line);
    Value value = evaluate(node.expressions[0], scope);
    const Value target = look_up(at, node.names[0], scope);
    const auto* space = target.as<NamespaceRef>();
    if (space == nullptr) at.refuse("'{}' is {}, whose attributes cannot be set", node.names[0], type_name(target));
    at.charge(1 + namespaces_[space->index].variables.size() / 8);
    namespaces_[space->index].set(node.names[1], std::move(value));
  }

  Value in_scope(const Node& node, Scope& scope) {
    Scope inner{.outer = &scope};
    std::string text;
    execute(node.bodies[0], inner, text);
    return of_text(site(node.line), std::move(text));
  }

  // ---- expressions

  bool holds(const Expression& expression, Scope& scope) {
    return truth(site(expression.line), evaluate(expression, scope));
  }

  Items evaluate_all(const Expression& expression, Scope& scope, std::size_t first, std::size_t last) {
    Items made;
    for (std::size_t i = first; i < last; ++i) made.push_back(evaluate(expression.parts[i], scope));
    return made;
  }

  Value evaluate(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    at.charge(1);
    const auto part = [&](std::size_t i) { return evaluate(of.parts[i], scope); };
    switch (of.kind) {
      case Expression::Kind::constant:
        return of.value;
      case Expression::Kind::name:
        return look_up(at, of.name, scope);
      case Expression::Kind::list:
        return of_items(at, evaluate_all(of, scope, 0, of.parts.size()));
      case Expression::Kind::tuple:
        return of_items(at, evaluate_all(of, scope, 0, of.parts.size()), SequenceKind::tuple);
      case Expression::Kind::dict:
        return dict(of, scope);
      case Expression::Kind::attribute:
        return attribute(of, scope);
      case Expression::Kind::item:
        return item_of(at, part(0), part(1));
      case Expression::Kind::slice:
        return slice(at, part(0), {part(1), part(2), part(3)});
      case Expression::Kind::call:
        return call(of, scope);
      case Expression::Kind::filter:
        return apply_filter(at, of.name, part(0), arguments(of, scope));
      case Expression::Kind::test:
        return {apply_test(at, of.name, part(0), arguments(of, scope))};
      case Expression::Kind::negation:
        return {!holds(of.parts[0], scope)};
      case Expression::Kind::sign:
        return arithmetic(at, of.name, {std::int64_t{0}}, number_after(at, of.name, part(0)));
      case Expression::Kind::arithmetic:
        return arithmetic(at, of.name, part(0), part(1));
      case Expression::Kind::concat:
        return concat(of, scope);
      case Expression::Kind::comparison:
        return comparison(of, scope);
      case Expression::Kind::all:
      case Expression::Kind::any: {
        Value first = part(0);
        return truth(at, first) == (of.kind == Expression::Kind::any) ? first : part(1);
      }
      case Expression::Kind::conditional:
        return part(holds(of.parts[0], scope) ? 1 : 2);
    }
    ASSAY_ASSERT(false);
  }

  Value look_up(const Site& at, const std::string& name, const Scope& scope);

  Value dict(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    Scope members;  // a key that comes again keeps its first place
    for (std::size_t i = 0; i < of.parts.size(); i += 2) {
      const Value key = evaluate(of.parts[i], scope);
      if (key.text() == nullptr) at.refuse("a key of a dict that is {} is not supported", type_name(key));
      at.charge(members.variables.size());
      members.set(*key.text(), evaluate(of.parts[i + 1], scope));
    }
    return of_members(at, std::move(members.variables));
  }

  Value attribute(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    const Expression& object = of.parts[0];
    const LoopState* loop = loop_of(&scope);
    if (object.kind == Expression::Kind::name && object.name == "loop" && loop != nullptr) {
      const auto* const found = std::find_if(loop_attributes.begin(), loop_attributes.end(),
                                             [&](const LoopAttribute& known) { return of.name == known.name; });
      if (found == loop_attributes.end()) at.refuse("'loop.{}' is not supported", printable(of.name, 40));
      return found->of(*loop);
    }
    const Value value = evaluate(object, scope);
    const auto* space = value.as<NamespaceRef>();
    if (space == nullptr) return attribute_of(at, value, of.name);
    for (const auto& [name, member] : namespaces_[space->index].variables) {
      if (name == of.name) return member;
    }
    return attribute_of(at, value, of.name);
  }

  Value slice(const Site& at, const Value& of, const std::array<Value, 3>& bounds) {
    std::array<const std::int64_t*, 3> given = {};
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      given[i] = integer(bounds[i]);
      if (given[i] == nullptr && !bounds[i].none()) at.refuse("a bound that is {}", type_name(bounds[i]));
    }
    const std::int64_t step = given[2] != nullptr ? *given[2] : 1;
    if (step == 0) at.refuse("a slice with a step of 0");
    if (step == std::numeric_limits<std::int64_t>::min()) at.refuse("a slice with such a step is not supported");
    const Sequence* sequence = of.sequence();
    const bool sliced = sequence != nullptr && sequence->kind <= SequenceKind::tuple;
    if (!sliced && of.text() == nullptr) at.refuse("a slice of {} is not supported", type_name(of));
    const Items items = items_of(at, of);
    Items made;
    for (const std::size_t place : slice_places(static_cast<std::int64_t>(items.size()), given[0], given[1], step)) {
      made.push_back(items[place]);
    }
    if (sliced) return of_items(at, std::move(made), sequence->kind);
    std::string text;
    for (const Value& character : made) text += *character.text();
    return of_text(at, std::move(text));
  }

  Arguments arguments(const Expression& of, Scope& scope) {
    const std::size_t named = of.parts.size() - of.keywords.size();
    Arguments made{evaluate_all(of, scope, 1, named), {}};
    for (std::size_t i = 0; i < of.keywords.size(); ++i) {
      made.named.emplace_back(of.keywords[i], evaluate(of.parts[named + i], scope));
    }
    return made;
  }

  Value call(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    const Expression& callee = of.parts[0];
    if (callee.kind == Expression::Kind::attribute) {
      const bool loops = callee.parts[0].kind == Expression::Kind::name && callee.parts[0].name == "loop" &&
                         loop_of(&scope) != nullptr;
      if (loops) at.refuse("'loop.{}()' is not supported", printable(callee.name, 40));
      const Value object = evaluate(callee.parts[0], scope);
      return call_method(at, object, callee.name, arguments(of, scope));
    }
    const Value function = evaluate(callee, scope);
    if (const auto* undefined = function.as<Undefined>())
      at.refuse("'{}' is undefined", printable(undefined->name, 60));
    const Arguments given = arguments(of, scope);
    if (const auto* builtin = function.as<const Builtin*>()) return (this->*(*builtin)->call)(at, given);
    const auto* macro = function.as<const Node*>();
    if (macro == nullptr) at.refuse("{} cannot be called", type_name(function));
    return call_macro(at, **macro, given);
  }

  Value call_macro(const Site& at, const Node& macro, const Arguments& given) {
    if (++macros_ > deepest_macro) at.refuse("macros are called in one another more than {} deep", deepest_macro);
    const Items bound = bind_arguments(at, macro.text, given, macro.names, 0);
    Scope inner{.outer = &root_};
    const std::size_t without_default = macro.names.size() - macro.expressions.size();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const auto* undefined = bound[i].as<Undefined>();
      const bool absent = undefined != nullptr && undefined->name.empty();
      if (!absent) {
        inner.set(macro.names[i], bound[i]);
      } else if (i < without_default) {
        inner.set(macro.names[i], {Undefined{macro.names[i]}});
      } else {
        inner.set(macro.names[i], evaluate(macro.expressions[i - without_default], inner));
      }
    }
    std::string text;
    execute(macro.bodies[0], inner, text);
    --macros_;
    return of_text(at, std::move(text));
  }

  Value concat(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    std::string text;
    for (const Expression& part : of.parts) append(at, to_text(at, evaluate(part, scope)), text);
    return of_text(at, std::move(text));
  }

  Value comparison(const Expression& of, Scope& scope) {
    const Site at = site(of.line);
    Value left = evaluate(of.parts[0], scope);
    for (std::size_t i = 0; i < of.operators.size(); ++i) {
      const Value right = evaluate(of.parts[i + 1], scope);
      if (!compare(at, of.operators[i], left, right)) return {false};
      left = right;
    }
    return {true};
  }

  static bool compare(const Site& at, const std::string& sign, const Value& a, const Value& b) {
    if (sign == "==" || sign == "!=") return equal(at, a, b) == (sign == "==");
    if (sign == "in" || sign == "not in") return contains(at, b, a) == (sign == "in");
    return in_order(at, sign, a, b);
  }

  static Value number_after(const Site& at, const std::string& sign, const Value& value) {
    if (!is_number(value)) at.refuse("'{}' before {}", sign, type_name(value));
    if (value.as<double>() != nullptr && *value.as<double>() == 0) at.refuse("'{}' before 0.0 is not supported", sign);
    return value;
  }

  static Value arithmetic(const Site& at, const std::string& sign, const Value& a, const Value& b);
  static Value whole_arithmetic(const Site& at, const std::string& sign, std::int64_t a, std::int64_t b);
  static Value real_arithmetic(const Site& at, const std::string& sign, double a, double b);
  static Value repeated(const Site& at, const std::string& text, std::int64_t count);

  const std::string& name_;
  std::time_t now_;
  Budget budget_;
  Scope given_;
  Scope root_;
  std::vector<Scope> namespaces_;  ///< Their members alone.
  int loops_ = 0;
  int macros_ = 0;
};

namespace {

constexpr std::array builtins = {Builtin{"raise_exception", &Evaluator::raise_exception},
                                 Builtin{"strftime_now", &Evaluator::strftime_now}, Builtin{"range", &Evaluator::range},
                                 Builtin{"namespace", &Evaluator::make_namespace}};

}  // namespace

Value Evaluator::look_up(const Site& at, const std::string& name, const Scope& scope) {
  for (const Scope* in = &scope; in != nullptr; in = in->outer) {
    at.charge(1 + in->variables.size() / 8);
    for (const auto& [known, value] : in->variables) {
      if (known == name) return value;
    }
    if (in->loop != nullptr && name == "loop") at.refuse("'loop' as a value is not supported");
  }
  const auto* const builtin =
      std::find_if(builtins.begin(), builtins.end(), [&](const Builtin& known) { return name == known.name; });
  if (builtin != builtins.end()) return {builtin};
  if (std::find(unsupported_functions.begin(), unsupported_functions.end(), name) != unsupported_functions.end()) {
    at.refuse("the function '{}' is not supported", name);
  }
  return {Undefined{name}};
}

Value Evaluator::arithmetic(const Site& at, const std::string& sign, const Value& a, const Value& b) {
  if (integer(a) != nullptr && integer(b) != nullptr) return whole_arithmetic(at, sign, *integer(a), *integer(b));
  if (is_number(a) && is_number(b)) {
    const auto real = [](const Value& value) {
      return value.as<double>() != nullptr ? *value.as<double>() : static_cast<double>(*integer(value));
    };
    return real_arithmetic(at, sign, real(a), real(b));
  }
  for (const Value* value : {&a, &b}) {
    if (const auto* undefined = value->as<Undefined>()) at.refuse("'{}' is undefined", printable(undefined->name, 60));
  }
  if (sign == "+" && a.text() != nullptr && b.text() != nullptr) return of_text(at, *a.text() + *b.text());
  if (sign == "*" && a.text() != nullptr && integer(b) != nullptr) return repeated(at, *a.text(), *integer(b));
  const Sequence* first = a.sequence();
  const Sequence* second = b.sequence();
  const bool lists =
      first != nullptr && second != nullptr && first->kind == second->kind && first->kind <= SequenceKind::tuple;
  if (sign != "+" || !lists) at.refuse("'{}' between {} and {} is not supported", sign, type_name(a), type_name(b));
  Items items = first->items;
  items.insert(items.end(), second->items.begin(), second->items.end());
  return of_items(at, std::move(items), first->kind);
}

Value Evaluator::whole_arithmetic(const Site& at, const std::string& sign, std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  bool overflows = false;
  if (sign == "+") overflows = __builtin_add_overflow(a, b, &made);
  if (sign == "-") overflows = __builtin_sub_overflow(a, b, &made);
  if (sign == "*") overflows = __builtin_mul_overflow(a, b, &made);
  if (overflows) at.refuse("an int beyond 64 bits is not supported");
  if (sign == "+" || sign == "-" || sign == "*") return {made};
  if (b == 0) at.refuse("a division by zero");
  if (sign == "/") return real_arithmetic(at, sign, static_cast<double>(a), static_cast<double>(b));
  if (b == -1) return sign == "%" ? Value{std::int64_t{0}} : whole_arithmetic(at, "-", 0, a);
  const bool below = a % b != 0 && (a < 0) != (b < 0);  // Python rounds down, C++ towards zero
  return {sign == "%" ? a % b + (below ? b : 0) : a / b - (below ? 1 : 0)};
}

Value Evaluator::real_arithmetic(const Site& at, const std::string& sign, double a, double b) {
  if (sign == "+") return {a + b};
  if (sign == "-") return {a - b};
  if (sign == "*") return {a * b};
  if (b == 0) at.refuse("a division by zero");
  if (sign == "/") return {a / b};
  at.refuse("'{}' of a float is not supported", sign);
}

Value Evaluator::repeated(const Site& at, const std::string& text, std::int64_t count) {
  if (count <= 0 || text.empty()) return of_text(at, "");
  if (static_cast<std::size_t>(count) > at.budget.text_bytes / text.size()) at.charge_text(at.budget.text_bytes + 1);
  std::string made;
  for (std::int64_t i = 0; i < count; ++i) made += text;
  return of_text(at, std::move(made));
}

std::string render(std::string_view source, const std::string& name, const RenderOptions& options) {
  const Block tree = parse_template(source, name);
  return Evaluator(name, options).run(tree);
}

}  // namespace assay::jinja
