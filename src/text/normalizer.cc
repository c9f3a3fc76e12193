#include "text/normalizer.h"

#include <algorithm>

#include "text/unicode.h"

namespace assay {
namespace {

/// Takes the code points of a text one by one and writes what one step makes of them.
class StepWriter {
 public:
  StepWriter(const NormalizerStep& step, std::string& out) : step_(step), out_(out) {}

  void write(char32_t c) {
    const std::uint16_t flags = unicode::properties(c);
    if (step_.clean_text && (flags & unicode::removed)) return;
    if (step_.clean_text && (flags & unicode::white)) c = ' ';
    if (!step_.pad_cjk || !(flags & unicode::cjk)) return decompose(c);
    decompose(' ');
    decompose(c);
    decompose(' ');
  }

  /// Writes the combining characters held back, in canonical order (Unicode Standard, D109).
  void flush() {
    const auto lower_class = [](char32_t a, char32_t b) {
      return unicode::combining_class(a) < unicode::combining_class(b);
    };
    std::stable_sort(held_.begin(), held_.end(), lower_class);
    for (const char32_t c : held_) finish(c);
    held_.clear();
  }

 private:
  void decompose(char32_t c) {
    if (!step_.decompose) return finish(c);
    parts_.clear();
    unicode::append_decomposed(c, parts_);
    for (const char32_t part : parts_) order(part);
  }

  /// A starter ends the run of combining characters, even one that is dropped afterwards.
  void order(char32_t c) {
    const bool dropped = step_.strip_marks && (unicode::properties(c) & unicode::mark);
    if (unicode::combining_class(c) != 0) {
      if (!dropped) held_ += c;
      return;
    }
    if (!held_.empty()) flush();
    if (!dropped) finish(c);
  }

  void finish(char32_t c) {
    if (!step_.lowercase) return unicode::append_utf8(c, out_);
    if (c != 0x130) return unicode::append_utf8(unicode::to_lower(c), out_);
    out_ += "i\u0307";
  }

  const NormalizerStep& step_;
  std::string& out_;
  std::u32string parts_;
  std::u32string held_;
};

}  // namespace

std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text) {
  std::string current(text);
  for (const NormalizerStep& step : steps) {
    std::string next;
    next.reserve(current.size() + current.size() / 8);
    StepWriter writer(step, next);
    for (std::size_t at = 0; at < current.size();) writer.write(unicode::next_code_point(current, at));
    writer.flush();
    current = std::move(next);
  }
  return current;
}

}  // namespace assay
