#include "text/graphemes.h"

#include "text/unicode.h"

namespace assay {
namespace {

using unicode::GraphemeBreak;

/// What the rules need to know of the characters of a cluster so far.
struct ClusterState {
  GraphemeBreak last = GraphemeBreak::other;
  bool pictographic = false;         ///< An emoji and then only extending characters.
  bool joined_pictographic = false;  ///< The same, then a zero-width joiner.
  bool odd_regionals = false;
};

bool is_line_or_control(GraphemeBreak kind) {
  return kind == GraphemeBreak::carriage_return || kind == GraphemeBreak::line_feed || kind == GraphemeBreak::control;
}

/// GB6 to GB8: Hangul syllables.
bool hangul_joins(GraphemeBreak a, GraphemeBreak b) {
  using enum GraphemeBreak;
  if (a == hangul_l) return b == hangul_l || b == hangul_v || b == hangul_lv || b == hangul_lvt;
  if (a == hangul_lv || a == hangul_v) return b == hangul_v || b == hangul_t;
  return (a == hangul_lvt || a == hangul_t) && b == hangul_t;
}

bool joins(const ClusterState& state, char32_t c) {
  const GraphemeBreak next = unicode::grapheme_break(c);
  const GraphemeBreak last = state.last;
  if (last == GraphemeBreak::carriage_return && next == GraphemeBreak::line_feed) return true;
  if (is_line_or_control(last) || is_line_or_control(next)) return false;
  if (hangul_joins(last, next)) return true;
  if (next == GraphemeBreak::extend || next == GraphemeBreak::joiner || next == GraphemeBreak::spacing_mark)
    return true;
  if (last == GraphemeBreak::prepend) return true;
  if (state.joined_pictographic && (unicode::classes(c) & unicode::pictographic)) return true;
  return last == GraphemeBreak::regional && next == GraphemeBreak::regional && state.odd_regionals;
}

void add(ClusterState& state, char32_t c) {
  const GraphemeBreak kind = unicode::grapheme_break(c);
  state.joined_pictographic = state.pictographic && kind == GraphemeBreak::joiner;
  state.pictographic =
      (unicode::classes(c) & unicode::pictographic) != 0 || (state.pictographic && kind == GraphemeBreak::extend);
  state.odd_regionals = kind == GraphemeBreak::regional && !state.odd_regionals;
  state.last = kind;
}

}  // namespace

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  ClusterState state;
  add(state, unicode::next_code_point(text, at));
  while (at < text.size()) {
    std::size_t next = at;
    const char32_t c = unicode::next_code_point(text, next);
    if (!joins(state, c)) break;
    add(state, c);
    at = next;
  }
  return at;
}

}  // namespace assay
