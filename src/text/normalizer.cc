#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace assay {
namespace {

/// Nmt of the library: false where the character is dropped.
bool clean_nmt(char32_t& c) {
  constexpr std::u32string_view spaces =
      U"\u0009\u000A\u000C\u000D\u1680\u200B\u200C\u200D\u200E\u200F\u2028\u2029\u2581\uFEFF\uFFFD";
  if (spaces.find(c) != std::u32string_view::npos) c = ' ';
  return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
}

/// Takes the code points of a text one by one and writes what one step makes of them.
class StepWriter {
 public:
  StepWriter(const CharacterStep& step, std::string& out) : step_(step), out_(out) {}

  void write(char32_t c) {
    const std::uint16_t flags = unicode::properties(c);
    if (step_.clean_text && (flags & unicode::removed)) return;
    if (step_.clean_text && (flags & unicode::white)) c = ' ';
    if (step_.clean_nmt && !clean_nmt(c)) return;
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
    if (step_.decomposed == CharacterStep::Form::as_is) {
      if (!is_dropped(c)) finish(c);
      return;
    }
    parts_.clear();
    if (step_.decomposed == CharacterStep::Form::canonical)
      unicode::append_decomposed(c, parts_);
    else
      unicode::append_compatible(c, parts_);
    for (const char32_t part : parts_) order(part);
  }

  /// A starter ends the run of combining characters, even one that is dropped afterwards.
  void order(char32_t c) {
    const bool dropped = is_dropped(c);
    if (unicode::combining_class(c) != 0) {
      if (!dropped) held_ += c;
      return;
    }
    if (!held_.empty()) flush();
    if (!dropped) finish(c);
  }

  bool is_dropped(char32_t c) const {
    return (step_.strip_marks && (unicode::properties(c) & unicode::mark)) ||
           (step_.strip_accents && (unicode::classes(c) & unicode::accent));
  }

  void finish(char32_t c) {
    if (!step_.lowercase) return unicode::append_utf8(c, out_);
    if (c != 0x130) return unicode::append_utf8(unicode::to_lower(c), out_);
    out_ += "i\u0307";
  }

  const CharacterStep& step_;
  std::string& out_;
  std::u32string parts_;
  std::u32string held_;
};

/// NFC of a text in NFD (Unicode Standard, D117): a character goes into the last starter unless one of its class or a
/// starter stands between.
std::string composed(std::string_view text) {
  std::u32string made;
  std::size_t starter = std::u32string::npos;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = unicode::next_code_point(text, at);
    const int own_class = unicode::combining_class(c);
    const bool free = starter != std::u32string::npos && last_class < own_class;
    const char32_t composite = free ? unicode::compose(made[starter], c) : 0;
    if (composite != 0) {
      made[starter] = composite;
      continue;
    }
    made += c;
    last_class = own_class;
    if (own_class == 0) starter = made.size() - 1, last_class = -1;
  }
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : made) unicode::append_utf8(c, out);
  return out;
}

std::string normalized_by(const CharacterStep& step, std::string_view text) {
  std::string made;
  made.reserve(text.size() + text.size() / 8);
  StepWriter writer(step, made);
  for (std::size_t at = 0; at < text.size();) writer.write(unicode::next_code_point(text, at));
  writer.flush();
  return step.composed ? composed(made) : made;
}

std::string normalized_by(const Prepend& step, std::string_view text) {
  return text.empty() ? std::string() : step.text + std::string(text);
}

std::string normalized_by(const Replacement& step, std::string_view text) {
  std::string made;
  std::size_t at = 0;
  for (Expression::Match match = step.pattern.find(text, 0); match.begin != std::string_view::npos;
       match = step.pattern.find(text, at)) {
    made.append(text, at, match.begin - at).append(step.content);
    at = match.end;
  }
  return made.append(text, at);
}

std::string normalized_by(const CharacterMap& step, std::string_view text) {
  return map_characters(step, text);
}

std::string normalized_by(const Trim& step, std::string_view text) {
  const auto white = [](char32_t c) { return (unicode::properties(c) & unicode::white) != 0; };
  while (step.left && !text.empty()) {
    std::size_t next = 0;
    if (!white(unicode::next_code_point(text, next))) break;
    text.remove_prefix(next);
  }
  while (step.right && !text.empty()) {
    std::size_t last = text.size();
    if (!white(unicode::previous_code_point(text, last))) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}

/// What a step made of a text.
struct StepDone {
  std::string_view text;
  std::string_view made;
};

/// How many of the first bytes of what was made stand for the first `count` bytes of the text.
std::size_t traced(const CharacterStep& step, const StepDone& done, std::size_t count) {
  const std::size_t alone = normalized_by(step, done.text.substr(0, count)).size();
  std::size_t end = 0;  // The last of these characters may have been composed with the next one.
  while (end < std::min(alone, done.made.size())) unicode::next_code_point(done.made, end);
  return end;
}

std::size_t traced(const Prepend& step, const StepDone&, std::size_t count) {
  return step.text.size() + count;
}

/// The library sets what replaces a match in the place of the match's last character.
std::size_t traced(const Replacement& step, const StepDone& done, std::size_t count) {
  std::size_t bytes = 0;
  std::size_t at = 0;
  while (at < count) {
    const Expression::Match match = step.pattern.find(done.text, at);
    bytes += std::min(match.begin, count) - at;
    if (match.begin >= count || match.end > count) break;
    bytes += step.content.size();
    at = match.end;
  }
  return bytes;
}

std::size_t traced(const CharacterMap& step, const StepDone& done, std::size_t count) {
  return mapped_bytes(step, done.text, count);
}

std::size_t traced(const Trim& step, const StepDone& done, std::size_t count) {
  const std::string left = normalized_by(Trim{.left = step.left, .right = false}, done.text);
  const std::size_t dropped = done.text.size() - left.size();
  return std::min(count - std::min(count, dropped), done.made.size());
}

}  // namespace

std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text) {
  std::string current(text);
  for (const NormalizerStep& step : steps) {
    current = std::visit([&](const auto& kind) { return normalized_by(kind, current); }, step);
  }
  return current;
}

std::size_t bytes_of_first(const std::vector<NormalizerStep>& steps, std::string_view text) {
  std::string current(text);
  std::size_t count = 0;
  if (!text.empty()) unicode::next_code_point(text, count);
  for (const NormalizerStep& step : steps) {
    if (count == 0) return 0;
    std::string made = std::visit([&](const auto& kind) { return normalized_by(kind, current); }, step);
    count = std::visit([&](const auto& kind) { return traced(kind, {current, made}, count); }, step);
    current = std::move(made);
  }
  return count;
}

bool counts_the_first(const std::vector<NormalizerStep>& steps) {
  return std::none_of(steps.begin(), steps.end(), [](const NormalizerStep& step) {
    const auto* kind = std::get_if<CharacterStep>(&step);
    return kind != nullptr && kind->strip_marks;
  });
}

}  // namespace assay
