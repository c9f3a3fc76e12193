#include "formats/npy_header.h"

#include <charconv>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

/// NumPy's own limit on dimensions is 64.
constexpr std::size_t most_npy_extents = 32;

// header = '{' [ entry { ',' entry } [ ',' ] ] '}' white      entry = string ':' value
// string = "'" characters "'"    shape = '(' [ digits { ',' digits } [ ',' ] ] ')'    truth = True | False
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader header() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (!accept(',') && peek() != '}') fail("',' or '}'");
    }
    skip_white();
    if (at_ != text_.size()) fail("the end");
    for (const bool seen : {seen_descr_, seen_order_, seen_shape_}) {
      if (!seen) fail_user("{}: the header lacks one of 'descr', 'fortran_order' and 'shape'", name_);
    }
    return header_;
  }

 private:
  void entry() {
    const std::string key = string();
    expect(':');
    if (key == "descr" && !seen_descr_) {
      header_.descr = string();
      seen_descr_ = true;
    } else if (key == "fortran_order" && !seen_order_) {
      header_.fortran_order = truth();
      seen_order_ = true;
    } else if (key == "shape" && !seen_shape_) {
      shape();
      seen_shape_ = true;
    } else {
      fail_user("{}: the header has an unknown or repeated key '{}'", name_, key);
    }
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      header_.shape.push_back(extent());
      if (header_.shape.size() > most_npy_extents) fail_user("{}: has more than {} extents", name_, most_npy_extents);
      const bool comma = accept(',');
      // (5) is a number in Python, not a tuple.
      if (!comma && (peek() != ')' || header_.shape.size() == 1)) fail("','");
    }
  }

  std::int64_t extent() {
    skip_white();
    std::int64_t value = -1;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("an extent below 2^63");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string string() {
    skip_white();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a quoted text");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return printable(inner);
  }

  bool truth() {
    skip_white();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("True or False");
  }

  void skip_white() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  /// The next character that is not white; 0 at the end.
  char peek() {
    skip_white();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(std::string("'") + wanted + "'");
  }

  [[noreturn]] void fail(const std::string& wanted) {
    fail_user("{}: the header needs {} at its byte {}", name_, wanted, at_);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool seen_descr_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  return LiteralReader(text, name).header();
}

}  // namespace assay
