#include "local_names.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <regex>

namespace assay {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The place behind what begins at `at` and is no code: a comment, a directive, a literal; `at` itself for code.
std::size_t behind_foreign(const std::string& text, std::size_t at) {
  const auto behind = [&](std::size_t found, std::size_t length) {
    return found == std::string::npos ? text.size() : found + length;
  };
  const auto from = [&](const char* beginning) { return text.compare(at, std::strlen(beginning), beginning) == 0; };
  if (from("//")) return behind(text.find('\n', at), 0);
  if (from("/*")) return behind(text.find("*/", at), 2);
  if (from("R\"")) {
    const std::string ending = ")" + text.substr(at + 2, text.find('(', at) - at - 2) + "\"";
    return behind(text.find(ending, at), ending.size());
  }
  const char c = text[at];
  const bool is_separator = c == '\'' && at > 0 && is_word(text[at - 1]);  // 1'000
  if (c != '#' && c != '"' && (c != '\'' || is_separator)) return at + (is_separator ? 1 : 0);
  const char end = c == '#' ? '\n' : c;
  for (++at; at < text.size() && text[at] != end; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

/// Code alone; what stands in quotes becomes a 0.
std::string bare_code(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t behind = behind_foreign(text, at);
    if (behind == at) code += text[at];
    if (behind > at && (text[at] == '"' || text[at] == 'R')) code += '0';
    at = std::max(behind, at + 1);
  }
  return code;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

/// The place behind the '>' that closes the first '<'.
std::size_t behind_angles(const std::string& text) {
  int depth = 0;
  for (std::size_t at = text.find('<'); at < text.size(); ++at) {
    if (text[at] == '<') ++depth;
    if (text[at] == '>' && --depth == 0) return at + 1;
  }
  return text.size();
}

/// Without template parameters and attributes.
std::string bare_declaration(const std::string& statement) {
  static const std::regex attribute("\\[\\[[^\\]]*\\]\\]|\\balignas\\([^)]*\\)");
  std::string declaration = trimmed(std::regex_replace(statement, attribute, ""));
  while (declaration.starts_with("template")) declaration = trimmed(declaration.substr(behind_angles(declaration)));
  return declaration;
}

/// Where parameters, the initial value or the body begin.
std::size_t head_end(const std::string& declaration) {
  int angles = 0;
  for (std::size_t at = 0; at < declaration.size(); ++at) {
    const char c = declaration[at];
    if (c == '<') ++angles;
    if (c == '>' && angles > 0) --angles;
    if (angles == 0 && (c == '(' || c == '=' || c == '[' || c == '{')) return at;
  }
  return declaration.size();
}

std::string head_of(const std::string& declaration) {
  return trimmed(declaration.substr(0, head_end(declaration)));
}

bool has_initial_value(const std::string& statement) {
  const std::string declaration = bare_declaration(statement);
  const std::size_t end = declaration.find("operator") == std::string::npos ? head_end(declaration) : std::string::npos;
  return end < declaration.size() && (declaration[end] == '=' || declaration[end] == '[');
}

/// Empty where nothing is declared: macros, members that are defined, using declarations.
std::string declared_name(const std::string& statement) {
  static const std::regex alias("^using\\s+(\\w+)\\s*=[\\s\\S]*");
  static const std::regex type(
      "^(?:struct|class|union|enum(?:\\s+(?:class|struct))?)\\s+(\\w+)\\s*(?:final\\s*)?(?::[^:][\\s\\S]*)?$");
  static const std::regex last_word("[\\s\\S]*[\\s*&>](\\w+)$");
  const std::string declaration = bare_declaration(statement);
  std::smatch found;
  if (std::regex_match(declaration, found, alias)) return found[1];
  for (const char* other : {"using ", "namespace ", "static_assert", "extern ", "friend "}) {
    if (declaration.starts_with(other)) return "";
  }
  if (std::regex_match(declaration, found, type)) return found[1];
  const std::string head = head_of(declaration);
  if (head.find("operator") != std::string::npos) return "";
  return std::regex_match(head, found, last_word) ? found[1].str() : "";
}

class LocalNameReader {
 public:
  explicit LocalNameReader(const std::string& text) : code_(bare_code(text)) {}

  std::vector<LocalName> read() {
    for (; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == '(') ++parentheses_;
      if (c == ')') --parentheses_;
      if (parentheses_ > 0) continue;
      if (c == '{') open();
      if (c == '}') close();
      if (c == ';') end_statement();
    }
    return std::move(found_);
  }

 private:
  std::string statement() const { return trimmed(code_.substr(begin_, at_ - begin_)); }

  void open() {
    static const std::regex space("^(?:inline\\s+)?namespace\\b\\s*([\\w:]*)$");
    std::smatch found;
    const std::string before = statement();
    if (std::regex_match(before, found, space)) {
      spaces_.push_back(found[1]);
    } else {
      note(before);
      skip_block();
      if (has_initial_value(before)) skip_rest();
    }
    begin_ = at_ + 1;
  }

  void close() {
    if (!spaces_.empty()) spaces_.pop_back();
    begin_ = at_ + 1;
  }

  void end_statement() {
    note(statement());
    begin_ = at_ + 1;
  }

  void skip_block() {
    int depth = 0;
    for (; at_ < code_.size(); ++at_) {
      if (code_[at_] == '{') ++depth;
      if (code_[at_] == '}' && --depth == 0) return;
    }
  }

  /// Of an initial value that goes on behind its first brace: std::uint64_t{1} << 20.
  void skip_rest() {
    for (; at_ < code_.size() && code_[at_] != ';'; ++at_) {
      if (code_[at_] == '{') skip_block();
    }
  }

  void note(const std::string& declaration) {
    if (std::find(spaces_.begin(), spaces_.end(), "") == spaces_.end()) return;
    const std::string name = declared_name(declaration);
    if (name.empty()) return;
    std::string scope;
    for (const std::string& space : spaces_) {
      if (!space.empty()) scope += (scope.empty() ? "" : "::") + space;
    }
    found_.push_back({scope, name});
  }

  std::string code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  ///< Of the statement.
  int parentheses_ = 0;
  std::vector<std::string> spaces_;  ///< Around the statement; "" is an anonymous one.
  std::vector<LocalName> found_;
};

}  // namespace

std::vector<LocalName> local_names(const std::string& text) {
  return LocalNameReader(text).read();
}

}  // namespace assay
