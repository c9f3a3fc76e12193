#include "text/splitter.h"

#include <algorithm>
#include <vector>

#include "text/unicode.h"

namespace assay {
namespace {

using unicode::next_code_point;

constexpr std::uint16_t classes = unicode::letter | unicode::number | unicode::space;

std::uint16_t class_of(char32_t c) {
  return unicode::properties(c) & classes;
}

/// The class of the code point at text[at]; `space` at the end of the text.
std::uint16_t class_at(std::string_view text, std::size_t at) {
  return at < text.size() ? class_of(next_code_point(text, at)) : static_cast<std::uint16_t>(unicode::space);
}

/// End of the run of code points from text[at] on whose flags under `mask` are exactly `wanted`.
std::size_t run_end(std::string_view text, std::size_t at, std::uint16_t mask, std::uint16_t wanted) {
  const std::uint16_t* const properties = unicode::property_table();
  while (at < text.size()) {
    std::size_t next = at;
    if ((properties[next_code_point(text, next)] & mask) != wanted) break;
    at = next;
  }
  return at;
}

/// s, t, re, ve, m, ll, d after an apostrophe at text[at]; returns the end, or `at` where there is none.
/// With `fold` the letters may be of either case, and s may be U+017F, which folds to s.
enum class Case { exact, fold };

std::size_t contraction_end(std::string_view text, std::size_t at, Case letters) {
  if (text[at] != '\'') return at;
  const auto fold = [&](std::size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return letters == Case::fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = fold(at + 1);
  const char second = fold(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  if (letters == Case::fold && text.substr(at + 1, 2) == "\u017F") return at + 3;
  return at;
}

/// \s+(?!\S)|\s+ for white space at text[at]: the last one before something else is left to the next piece.
std::size_t spaces_end(std::string_view text, std::size_t at) {
  const std::size_t end = run_end(text, at, classes, unicode::space);
  if (end == text.size()) return end;
  std::size_t last = end;
  unicode::previous_code_point(text, last);
  return last > at ? last : end;
}

std::size_t gpt2_end(std::string_view text, std::size_t at) {
  const std::size_t contraction = contraction_end(text, at, Case::exact);
  if (contraction > at) return contraction;
  const std::size_t after_space = text[at] == ' ' ? at + 1 : at;
  const std::uint16_t kind = class_at(text, after_space);
  if (kind != unicode::space) return run_end(text, after_space, classes, kind);
  return spaces_end(text, at);
}

bool is_newline(char c) {
  return c == '\r' || c == '\n';
}

/// \p{N}{1,most}
std::size_t numbers_end(std::string_view text, std::size_t at, int most) {
  for (int i = 0; i < most && at < text.size() && class_at(text, at) == unicode::number; ++i) next_code_point(text, at);
  return at;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t spaces_or_newlines_end(std::string_view text, std::size_t at) {
  std::size_t end = run_end(text, at, classes, unicode::space);
  while (end > at && !is_newline(text[end - 1])) --end;
  return end > at ? end : spaces_end(text, at);
}

std::size_t llama3_end(std::string_view text, std::size_t at, int most_numbers) {
  const std::size_t contraction = contraction_end(text, at, Case::fold);
  if (contraction > at) return contraction;
  std::size_t second = at;
  const std::uint16_t first_kind = class_of(next_code_point(text, second));
  if (first_kind == unicode::letter) return run_end(text, at, classes, unicode::letter);
  if (first_kind == unicode::number) return numbers_end(text, at, most_numbers);
  const std::uint16_t second_kind = class_at(text, second);
  if (!is_newline(text[at]) && second_kind == unicode::letter) return run_end(text, second, classes, unicode::letter);
  if (first_kind != 0 && !(text[at] == ' ' && second_kind == 0)) return spaces_or_newlines_end(text, at);
  std::size_t end = run_end(text, first_kind == 0 ? at : second, classes, 0);
  while (end < text.size() && is_newline(text[end])) ++end;
  return end;
}

std::size_t digits_end(std::string_view text, std::size_t at) {
  std::size_t next = at;
  if (unicode::properties(next_code_point(text, next)) & unicode::digit) return next;
  return run_end(text, at, unicode::digit, 0);
}

std::size_t digit_runs_end(std::string_view text, std::size_t at) {
  std::size_t next = at;
  const std::uint16_t kind = unicode::properties(next_code_point(text, next)) & unicode::digit;
  return run_end(text, at, unicode::digit, kind);
}

std::size_t bert_end(std::string_view text, std::size_t at) {
  std::size_t next = at;
  if (unicode::properties(next_code_point(text, next)) & unicode::punctuation) return next;
  return run_end(text, at, unicode::punctuation | unicode::white, 0);
}

std::size_t words_end(std::string_view text, std::size_t at) {
  constexpr std::uint16_t mask = unicode::word | unicode::space;
  std::size_t next = at;
  const bool word = (unicode::properties(next_code_point(text, next)) & unicode::word) != 0;
  return word ? run_end(text, at, unicode::word, unicode::word) : run_end(text, at, mask, 0);
}

/// The end of the word at text[at] with the marks before it.
std::size_t marked_words_end(std::string_view text, std::size_t at) {
  while (text.substr(at).starts_with(space_mark)) at += space_mark.size();
  return at < text.size() ? std::min(text.find(space_mark, at), text.size()) : at;
}

/// White space that no piece holds.
std::uint16_t dropped_by(Splitter splitter) {
  if (splitter == Splitter::bert) return unicode::white;
  return splitter == Splitter::words ? unicode::space : 0;
}

std::size_t piece_end(Splitter splitter, std::string_view text, std::size_t at) {
  switch (splitter) {
    case Splitter::whole:
      return text.size();
    case Splitter::bert:
      return bert_end(text, at);
    case Splitter::words:
      return words_end(text, at);
    case Splitter::digits:
      return digits_end(text, at);
    case Splitter::digit_runs:
      return digit_runs_end(text, at);
    case Splitter::gpt2:
      return gpt2_end(text, at);
    case Splitter::llama3:
      return llama3_end(text, at, 3);
    case Splitter::qwen2:
      return llama3_end(text, at, 1);
    case Splitter::marked_words:
      return marked_words_end(text, at);
  }
  return text.size();
}

/// A stretch of the text, a match or what lies between.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool match = false;
};

std::vector<Stretch> find_stretches(const SplitStep& step, std::string_view text) {
  std::vector<Stretch> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const Expression::Match match = step.expression->find(text, at);
    const std::size_t begin = std::min(match.begin, text.size());
    if (begin > at) found.push_back({at, begin, step.inverted});
    if (begin < text.size()) found.push_back({begin, match.end, !step.inverted});
    at = begin < text.size() ? match.end : begin;
  }
  return found;
}

/// Whether the stretch at `i` joins the one before it.
bool joins_previous(Behaviour behaviour, const std::vector<Stretch>& found, std::size_t i) {
  const bool match = found[i].match;
  const bool before = i > 0 && found[i - 1].match;
  switch (behaviour) {
    case Behaviour::contiguous:
      return match == before;
    case Behaviour::merged_with_previous:
      return match && !before;
    case Behaviour::merged_with_next:
      return before && !match;
    default:
      return false;
  }
}

std::vector<Stretch> joined(const std::vector<Stretch>& found, Behaviour behaviour) {
  std::vector<Stretch> made;
  made.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (behaviour == Behaviour::removed && found[i].match) continue;
    if (i > 0 && joins_previous(behaviour, found, i)) {
      made.back().end = found[i].end;
    } else {
      made.push_back(found[i]);
    }
  }
  return made;
}

/// The text with its spaces replaced and one put before it, as the step wants.
std::string with_spaces(const SplitStep& step, std::string_view text, std::size_t first_bytes) {
  std::string made;
  for (const char c : text) {
    if (c == ' ')
      made += step.space;
    else
      made += c;
  }
  const bool wanted = step.prefix == PrefixSpace::always || (step.prefix == PrefixSpace::first && first_bytes > 0);
  return wanted && !made.starts_with(step.space) ? step.space + made : made;
}

}  // namespace

void split(const SplitStep& step, std::string_view text, std::size_t first_bytes, const TakePiece& take) {
  std::string spaced;
  if (step.prefix != PrefixSpace::never || step.space != " ") {
    spaced = with_spaces(step, text, first_bytes);
    if (first_bytes > 0) first_bytes = with_spaces(step, text.substr(0, first_bytes), first_bytes).size();
    text = spaced;
  }
  if (step.expression) {
    for (const Stretch& piece : joined(find_stretches(step, text), step.behaviour)) {
      take(text.substr(piece.begin, piece.end - piece.begin), first_bytes_at(piece.begin, first_bytes));
    }
    return;
  }
  const std::uint16_t dropped = dropped_by(step.splitter);
  for (std::size_t at = 0; at < text.size();) {
    if (dropped != 0) at = run_end(text, at, dropped, dropped);
    if (at >= text.size()) return;
    const std::size_t end = piece_end(step.splitter, text, at);
    take(text.substr(at, end - at), first_bytes_at(at, first_bytes));
    at = end;
  }
}

}  // namespace assay
