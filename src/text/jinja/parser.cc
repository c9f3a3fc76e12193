// As jinja2.parser reads tokens: the same precedences.
#include "text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.h"
#include "text/jinja/lexer.h"

namespace assay::jinja {
namespace {

using Kind = Expression::Kind;

constexpr int deepest_expression = 100;
constexpr int deepest_block = 50;

/// Where a block stands, which says what may stand in it.
struct Surroundings {
  enum class Loop { none, inside } loop = Loop::none;
  enum class Level { top, inner } level = Level::top;  ///< Whether its variables are the template's.
  int depth = 0;
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

  Block parse() {
    Block made = block({});
    if (!at(Token::Kind::end)) refuse(fmt::format("'{}' closes nothing", printable(tokens_[at_ + 1].text, 40)));
    return made;
  }

 private:
  // ---- tokens

  const Token& token() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool at(Token::Kind kind) const { return token().kind == kind; }
  bool at_sign(std::string_view sign) const { return at(Token::Kind::sign) && token().text == sign; }
  bool at_word(std::string_view word) const { return at(Token::Kind::name) && token().text == word; }
  void advance() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  bool take_if(bool there) {
    if (there) advance();
    return there;
  }
  bool take_sign(std::string_view sign) { return take_if(at_sign(sign)); }
  bool take_word(std::string_view word) { return take_if(at_word(word)); }

  [[noreturn]] void refuse(const std::string& what) const {
    Budget budget;
    Site{name_, token().line, budget}.refuse_text(what);
  }

  std::string here() const {
    switch (token().kind) {
      case Token::Kind::end:
        return "the end of the template";
      case Token::Kind::data:
        return "text";
      case Token::Kind::block_end:
      case Token::Kind::output_end:
        return "the end of the tag";
      default:
        return fmt::format("'{}'", printable(token().text, 40));
    }
  }

  void expect_sign(std::string_view sign) {
    if (!take_sign(sign)) refuse(fmt::format("'{}' is expected, not {}", sign, here()));
  }
  void expect(Token::Kind kind, std::string_view what) {
    if (!take_if(at(kind))) refuse(fmt::format("{} is expected, not {}", what, here()));
  }
  std::string expect_name() {
    std::string made = token().text;
    expect(Token::Kind::name, "a name");
    return made;
  }
  /// A name that a template may give to a value.
  std::string expect_variable() {
    constexpr std::array taken = {"true", "false", "none", "True", "False",  "None",    "loop",   "not",  "and",  "or",
                                  "in",   "is",    "if",   "else", "caller", "varargs", "kwargs", "self", "super"};
    if (std::any_of(taken.begin(), taken.end(), [&](const char* word) { return at_word(word); })) {
      refuse(fmt::format("a variable of the name {} is not supported", here()));
    }
    return expect_name();
  }

  // ---- statements

  /// Up to a tag that is none of its own: its end or `else`, `elif`.
  Block block(const Surroundings& where) {
    if (where.depth > deepest_block) refuse(fmt::format("blocks are nested deeper than {}", deepest_block));
    Block made;
    while (!at(Token::Kind::end)) {
      if (at(Token::Kind::data)) {
        made.push_back({.kind = Node::Kind::data, .line = token().line, .text = token().text});
        advance();
      } else if (take_if(at(Token::Kind::output_begin))) {
        made.push_back(output());
      } else {
        const std::string& word = following().text;
        if (following().kind == Token::Kind::name && (word.starts_with("end") || word == "else" || word == "elif"))
          break;
        advance();
        made.push_back(statement(where));
      }
    }
    return made;
  }

  Node output() {
    Node made{.kind = Node::Kind::output, .line = token().line};
    made.expressions.push_back(tuple_or_one());
    expect(Token::Kind::output_end, "'}}'");
    return made;
  }

  Node statement(const Surroundings& where) {
    struct Statement {
      const char* word;
      Node (Parser::*parse)(const Surroundings&);
    };
    static constexpr std::array statements = {
        Statement{"if", &Parser::choice},
        Statement{"for", &Parser::loop},
        Statement{"set", &Parser::set},
        Statement{"macro", &Parser::macro},
        Statement{"generation", &Parser::generation},
        Statement{"break", &Parser::leave},
        Statement{"continue", &Parser::leave},
    };
    const auto* const found =
        std::find_if(statements.begin(), statements.end(), [&](const Statement& of) { return at_word(of.word); });
    if (found == statements.end()) refuse(fmt::format("the statement {} is not supported", here()));
    const int line = token().line;
    Node made = (this->*found->parse)(where);
    made.line = line;
    return made;
  }

  static Surroundings inside(Surroundings where) {
    ++where.depth;
    return where;
  }

  void end_tag() { expect(Token::Kind::block_end, "'%}'"); }

  void end_block(std::string_view word) {
    if (!at(Token::Kind::block_begin) || following().text != word) {
      if (!at(Token::Kind::end)) advance();
      refuse(fmt::format("'{}' is expected, not {}", word, here()));
    }
    advance();
    advance();
    end_tag();
  }

  /// Whether the next tag is this word; past it then.
  bool take_tag(std::string_view word) {
    if (!at(Token::Kind::block_begin) || following().kind != Token::Kind::name || following().text != word)
      return false;
    advance();
    advance();
    return true;
  }

  Node choice(const Surroundings& where) {
    Node made{.kind = Node::Kind::choice};
    advance();
    do {
      made.expressions.push_back(tuple_or_one());
      end_tag();
      made.bodies.push_back(block(inside(where)));
    } while (take_tag("elif"));
    if (take_tag("else")) {
      end_tag();
      made.bodies.push_back(block(inside(where)));
    }
    end_block("endif");
    return made;
  }

  Node loop(const Surroundings& where) {
    Node made{.kind = Node::Kind::loop};
    advance();
    const bool bracket = take_sign("(");
    do {
      made.names.push_back(expect_variable());
    } while (take_sign(","));
    if (bracket) expect_sign(")");
    if (!take_word("in")) refuse(fmt::format("'in' is expected, not {}", here()));
    made.expressions.push_back(tuple_or_one(Condition::without));
    if (take_word("if")) made.expressions.push_back(expression());
    if (at_word("recursive")) refuse("'recursive' is not supported");
    end_tag();
    Surroundings body = inside(where);
    body.level = Surroundings::Level::inner;
    body.loop = Surroundings::Loop::inside;
    made.bodies.push_back(block(body));
    if (take_tag("else")) {
      end_tag();
      body.loop = where.loop;
      made.bodies.push_back(block(body));
    }
    end_block("endfor");
    return made;
  }

  Node set(const Surroundings& where) {
    Node made{.kind = Node::Kind::set};
    advance();
    made.names.push_back(expect_variable());
    if (take_sign(".")) {
      made.kind = Node::Kind::set_member;
      made.names.push_back(expect_name());
      if (made.names[1].starts_with('_')) refuse(fmt::format("the attribute '{}' is not supported", made.names[1]));
    }
    if (take_sign("=")) {
      made.expressions.push_back(tuple_or_one());
      end_tag();
      return made;
    }
    if (made.kind == Node::Kind::set_member) refuse("'=' is expected");
    made.kind = Node::Kind::set_block;
    if (!at(Token::Kind::block_end)) refuse(fmt::format("{} in a 'set' is not supported", here()));
    end_tag();
    Surroundings body = inside(where);
    body.level = Surroundings::Level::inner;
    body.loop = Surroundings::Loop::none;
    made.bodies.push_back(block(body));
    end_block("endset");
    return made;
  }

  Node macro(const Surroundings& where) {
    if (where.level != Surroundings::Level::top) refuse("a macro inside of a block is not supported");
    Node made{.kind = Node::Kind::macro};
    advance();
    made.text = expect_variable();
    expect_sign("(");
    while (!take_sign(")")) {
      if (!made.names.empty()) expect_sign(",");
      if (take_sign(")")) break;
      made.names.push_back(expect_variable());
      if (take_sign("=")) {
        made.expressions.push_back(expression());
      } else if (!made.expressions.empty()) {
        refuse(fmt::format("'{}' has no default after one that has", made.names.back()));
      }
    }
    end_tag();
    made.bodies.push_back(block({.level = Surroundings::Level::inner, .depth = where.depth + 1}));
    end_block("endmacro");
    return made;
  }

  /// transformers' mark of what the assistant said: a scope of its own, and else nothing.
  Node generation(const Surroundings& where) {
    Node made{.kind = Node::Kind::scope};
    advance();
    end_tag();
    made.bodies.push_back(block({.level = Surroundings::Level::inner, .depth = where.depth + 1}));
    end_block("endgeneration");
    return made;
  }

  Node leave(const Surroundings& where) {
    if (where.loop == Surroundings::Loop::none) refuse(fmt::format("{} outside of a loop", here()));
    const bool leaves = at_word("break");
    advance();
    end_tag();
    return {.kind = leaves ? Node::Kind::leave_loop : Node::Kind::next_round};
  }

  // ---- expressions, from the loosest to the tightest

  /// Whether `x if y` may stand there: behind `in` of a loop it may not.
  enum class Condition { with, without };

  Expression made_of(Kind kind, std::vector<Expression> parts, std::string name = {}) const {
    Expression made{.kind = kind, .line = token().line, .name = std::move(name), .parts = std::move(parts)};
    for (const Expression& part : made.parts) made.depth = std::max(made.depth, part.depth + 1);
    if (made.depth > deepest_expression)
      refuse(fmt::format("expressions are nested deeper than {}", deepest_expression));
    return made;
  }
  Expression made_of(Kind kind, Expression first, Expression second, std::string name = {}) const {
    std::vector<Expression> parts;
    parts.push_back(std::move(first));
    parts.push_back(std::move(second));
    return made_of(kind, std::move(parts), std::move(name));
  }
  Expression made_of(Kind kind, Expression only, std::string name = {}) const {
    std::vector<Expression> parts;
    parts.push_back(std::move(only));
    return made_of(kind, std::move(parts), std::move(name));
  }
  Expression constant(Value value) const { return {.line = token().line, .value = std::move(value)}; }

  bool at_end_of_expression() const {
    return at(Token::Kind::block_end) || at(Token::Kind::output_end) || at_sign(")") || at_word("in");
  }

  Expression tuple_or_one(Condition condition = Condition::with) {
    const auto next = [&] { return condition == Condition::with ? expression() : either(); };
    Expression first = next();
    if (!at_sign(",")) return first;
    std::vector<Expression> parts;
    parts.push_back(std::move(first));
    while (take_sign(",") && !at_end_of_expression()) parts.push_back(next());
    return made_of(Kind::tuple, std::move(parts));
  }

  Expression expression() {
    // Brackets in brackets come here again and again.
    if (++open_ > deepest_expression) refuse(fmt::format("expressions are nested deeper than {}", deepest_expression));
    Expression made = either();
    while (take_word("if")) {
      std::vector<Expression> parts;
      parts.push_back(either());
      parts.push_back(std::move(made));
      parts.push_back(take_word("else") ? expression() : constant({Undefined{"an 'if' without 'else'"}}));
      made = made_of(Kind::conditional, std::move(parts));
    }
    --open_;
    return made;
  }

  Expression either() {
    Expression made = both();
    while (take_word("or")) made = made_of(Kind::any, std::move(made), both());
    return made;
  }

  Expression both() {
    Expression made = negation();
    while (take_word("and")) made = made_of(Kind::all, std::move(made), negation());
    return made;
  }

  Expression negation() {
    std::size_t count = 0;
    while (take_word("not")) ++count;
    if (count > 10) refuse("so many 'not' are not supported");
    Expression made = comparison();
    for (; count > 0; --count) made = made_of(Kind::negation, std::move(made));
    return made;
  }

  std::string take_comparison() {
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take_sign(sign)) return sign;
    }
    if (take_word("in")) return "in";
    if (!at_word("not") || following().kind != Token::Kind::name || following().text != "in") return "";
    advance();
    advance();
    return "not in";
  }

  Expression comparison() {
    Expression first = sum();
    std::vector<Expression> parts;
    std::vector<std::string> operators;
    for (std::string sign = take_comparison(); !sign.empty(); sign = take_comparison()) {
      operators.push_back(sign);
      parts.push_back(sum());
    }
    if (operators.empty()) return first;
    parts.insert(parts.begin(), std::move(first));
    Expression made = made_of(Kind::comparison, std::move(parts));
    made.operators = std::move(operators);
    return made;
  }

  Expression sum() {
    Expression made = concat();
    while (at_sign("+") || at_sign("-")) {
      const std::string sign = token().text;
      advance();
      made = made_of(Kind::arithmetic, std::move(made), concat(), sign);
    }
    return made;
  }

  Expression concat() {
    Expression first = product();
    if (!at_sign("~")) return first;
    std::vector<Expression> parts;
    parts.push_back(std::move(first));
    while (take_sign("~")) parts.push_back(product());
    return made_of(Kind::concat, std::move(parts));
  }

  Expression product() {
    Expression made = unary();
    while (at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%")) {
      const std::string sign = token().text;
      advance();
      made = made_of(Kind::arithmetic, std::move(made), unary(), sign);
    }
    if (at_sign("**")) refuse("'**' is not supported");
    return made;
  }

  Expression unary() {
    if (at_sign("-") || at_sign("+")) {
      const std::string sign = token().text;
      advance();
      if (at_sign("-") || at_sign("+")) refuse("two signs are not supported");
      return filtered(postfixed(made_of(Kind::sign, postfixed(primary()), sign)));
    }
    return filtered(postfixed(primary()));
  }

  Expression primary() {
    if (at(Token::Kind::name)) return word();
    if (at(Token::Kind::text)) return text();
    if (at(Token::Kind::integer)) {
      std::int64_t value = 0;
      std::from_chars(token().text.data(), token().text.data() + token().text.size(), value);
      advance();
      return constant({value});
    }
    if (at(Token::Kind::real)) {
      double value = 0;
      std::from_chars(token().text.data(), token().text.data() + token().text.size(), value);
      advance();
      return constant({value});
    }
    if (take_sign("(")) return bracketed();
    if (take_sign("[")) return made_of(Kind::list, listed("]"));
    if (take_sign("{")) return dict();
    refuse(fmt::format("a value is expected, not {}", here()));
  }

  Expression word() {
    constexpr std::array keywords = {"if", "else", "and", "or", "not", "in", "is"};
    const std::string name = token().text;
    if (std::find(keywords.begin(), keywords.end(), name) != keywords.end()) {
      refuse(fmt::format("a value is expected, not {}", here()));
    }
    if (name == "caller" || name == "varargs" || name == "kwargs" || name == "self" || name == "super") {
      refuse(fmt::format("the variable '{}' is not supported", name));
    }
    advance();
    if (name == "true" || name == "True") return constant({true});
    if (name == "false" || name == "False") return constant({false});
    if (name == "none" || name == "None") return constant({None{}});
    return {.kind = Kind::name, .line = token().line, .name = name};
  }

  /// Strings side by side are one.
  Expression text() {
    std::string made;
    for (; at(Token::Kind::text); advance()) made += token().text;
    return constant({std::make_shared<const std::string>(std::move(made))});
  }

  Expression bracketed() {
    if (take_sign(")")) return made_of(Kind::tuple, std::vector<Expression>());
    Expression made = tuple_or_one();
    expect_sign(")");
    return made;
  }

  std::vector<Expression> listed(std::string_view end) {
    std::vector<Expression> parts;
    while (!take_sign(end)) {
      if (!parts.empty()) expect_sign(",");
      if (take_sign(end)) break;
      parts.push_back(expression());
    }
    return parts;
  }

  Expression dict() {
    std::vector<Expression> parts;
    while (!take_sign("}")) {
      if (!parts.empty()) expect_sign(",");
      if (take_sign("}")) break;
      parts.push_back(expression());
      expect_sign(":");
      parts.push_back(expression());
    }
    return made_of(Kind::dict, std::move(parts));
  }

  Expression postfixed(Expression made) {
    for (;;) {
      if (take_sign(".")) {
        made = attribute(std::move(made));
      } else if (take_sign("[")) {
        made = subscript(std::move(made));
      } else if (take_sign("(")) {
        made = call(Kind::call, std::move(made), "");
      } else {
        return made;
      }
    }
  }

  Expression attribute(Expression of) {
    if (at(Token::Kind::integer)) return made_of(Kind::item, std::move(of), primary());
    return made_of(Kind::attribute, std::move(of), expect_name());
  }

  Expression subscript(Expression of) {
    std::vector<Expression> bounds;
    const auto bound = [&] { bounds.push_back(at_sign(":") || at_sign("]") ? constant({None{}}) : expression()); };
    const bool plain = !at_sign(":");
    bound();
    if (plain && take_sign("]")) {
      if (bounds[0].value.none() && bounds[0].kind == Kind::constant && tokens_[at_ - 2].text == "[")
        refuse("an index is expected");
      return made_of(Kind::item, std::move(of), std::move(bounds[0]));
    }
    while (bounds.size() < 3 && take_sign(":")) bound();
    if (!take_sign("]")) refuse(fmt::format("']' is expected, not {}", here()));
    bounds.resize(3, constant({None{}}));
    bounds.insert(bounds.begin(), std::move(of));
    return made_of(Kind::slice, std::move(bounds));
  }

  /// The arguments, after '('.
  Expression call(Kind kind, Expression of, std::string name) {
    std::vector<Expression> parts;
    std::vector<std::string> keywords;
    parts.push_back(std::move(of));
    while (!take_sign(")")) {
      if (parts.size() > 1) expect_sign(",");
      if (take_sign(")")) break;
      if (at_sign("*") || at_sign("**")) refuse("'*' before an argument is not supported");
      if (at(Token::Kind::name) && following().kind == Token::Kind::sign && following().text == "=") {
        keywords.push_back(token().text);
        advance();
        advance();
      } else if (!keywords.empty()) {
        refuse("an argument without a name after one that has one");
      }
      parts.push_back(expression());
    }
    Expression made = made_of(kind, std::move(parts), std::move(name));
    made.keywords = std::move(keywords);
    return made;
  }

  /// `| filter`, `is test` and a call of what came out.
  Expression filtered(Expression made) {
    for (;;) {
      if (take_sign("|")) {
        std::string name = expect_name();
        made = take_sign("(") ? call(Kind::filter, std::move(made), std::move(name))
                              : made_of(Kind::filter, std::move(made), std::move(name));
      } else if (take_word("is")) {
        made = test(std::move(made));
      } else if (take_sign("(")) {
        made = call(Kind::call, std::move(made), "");
      } else {
        return made;
      }
    }
  }

  Expression test(Expression of) {
    const bool negated = take_word("not");
    std::string name = expect_name();
    const bool argument = at(Token::Kind::name) || at(Token::Kind::text) || at(Token::Kind::integer) ||
                          at(Token::Kind::real) || at_sign("[") || at_sign("{");
    Expression made;
    if (take_sign("(")) {
      made = call(Kind::test, std::move(of), std::move(name));
    } else if (argument && !at_word("else") && !at_word("or") && !at_word("and")) {
      if (at_word("is")) refuse("one 'is' after another is not supported");
      made = made_of(Kind::test, std::move(of), postfixed(primary()), std::move(name));
    } else {
      made = made_of(Kind::test, std::move(of), std::move(name));
    }
    return negated ? made_of(Kind::negation, std::move(made)) : made;
  }

  std::vector<Token> tokens_;
  const std::string& name_;
  std::size_t at_ = 0;
  int open_ = 0;
};

}  // namespace

Block parse_template(std::string_view source, const std::string& name) {
  return Parser(read_tokens(source, name), name).parse();
}

}  // namespace assay::jinja
