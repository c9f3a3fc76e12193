#pragma once

#include <string>
#include <vector>

#include "text/jinja/value.h"

namespace assay::jinja {

struct Expression {
  enum class Kind {
    constant,     ///< value
    name,         ///< name
    list,         ///< parts
    tuple,        ///< parts
    dict,         ///< parts: key, value, key, value, ...
    attribute,    ///< parts[0].name
    item,         ///< parts[0][parts[1]]
    slice,        ///< parts[0][parts[1]:parts[2]:parts[3]]; what is left out is the constant None
    call,         ///< parts[0](the other parts)
    filter,       ///< parts[0] | name(the other parts)
    test,         ///< parts[0] is name(the other parts)
    negation,     ///< not parts[0]
    sign,         ///< name parts[0]: - or +
    arithmetic,   ///< parts[0] name parts[1]: + - * / // %
    concat,       ///< parts, as texts
    comparison,   ///< parts[0] operators[0] parts[1] operators[1] parts[2] ...
    all,          ///< parts[0] and parts[1]
    any,          ///< parts[0] or parts[1]
    conditional,  ///< parts[1] if parts[0] else parts[2]
  };
  Kind kind = Kind::constant;
  int line = 1;
  int depth = 1;  ///< Of the tree.
  std::string name = {};
  Value value = {};
  std::vector<Expression> parts = {};
  std::vector<std::string> keywords = {};   ///< Of the last parts of a call, filter or test.
  std::vector<std::string> operators = {};  ///< == != < <= > >= in, "not in"
};

using Block = std::vector<Node>;

struct Node {
  enum class Kind {
    data,        ///< text
    output,      ///< expressions[0]
    choice,      ///< bodies[i] of the first expressions[i] that holds; one body more is for else
    loop,        ///< for names in expressions[0] if expressions[1]; bodies[1] where there was nothing
    set,         ///< names[0] = expressions[0]
    set_member,  ///< names[0].names[1] = expressions[0]
    set_block,   ///< names[0] = bodies[0] as text
    macro,       ///< text(names), of which the last have expressions as their defaults
    scope,       ///< bodies[0]
    leave_loop,
    next_round,
  };
  Kind kind = Kind::data;
  int line = 1;
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<Expression> expressions = {};
  std::vector<Block> bodies = {};
};

}  // namespace assay::jinja
