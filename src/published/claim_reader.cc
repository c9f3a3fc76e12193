#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "base/lower_case.h"
#include "published/claims.h"

namespace assay {
namespace {

struct Sentence {
  int line = 0;
  std::string text;
  bool begins_paragraph = false;
  bool is_of_others = false;  ///< Its heading says so.
};

struct TextWord {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string text;
};

std::vector<TextWord> text_words(const std::string& lower) {
  std::vector<TextWord> words;
  for (std::size_t at = 0; at < lower.size(); ++at) {
    const auto is_part = [&](std::size_t i) {
      return std::isalnum(static_cast<unsigned char>(lower[i])) != 0 || static_cast<unsigned char>(lower[i]) >= 0x80;
    };
    if (!is_part(at)) continue;
    std::size_t end = at;
    while (end < lower.size() && is_part(end)) ++end;
    words.push_back({at, end, lower.substr(at, end - at)});
    at = end;
  }
  return words;
}

/// What a word that begins so says; the longer of two that share a beginning stands first.
template <typename Meaning>
struct Stem {
  std::string_view begins;
  Meaning meaning;
};

constexpr Stem<ClaimSubject> subject_stems[] = {
    {"latenc", ClaimSubject::time},     {"runtime", ClaimSubject::time},     {"duration", ClaimSubject::time},
    {"ttft", ClaimSubject::time},       {"tpot", ClaimSubject::time},        {"speed", ClaimSubject::speed},
    {"fast", ClaimSubject::speed},      {"slow", ClaimSubject::speed},       {"accelerat", ClaimSubject::speed},
    {"quick", ClaimSubject::speed},     {"throughput", ClaimSubject::rate},  {"energ", ClaimSubject::energy},
    {"joule", ClaimSubject::energy},    {"watt", ClaimSubject::power},       {"memor", ClaimSubject::memory},
    {"vram", ClaimSubject::memory},     {"footprint", ClaimSubject::memory}, {"smaller", ClaimSubject::size},
    {"size", ClaimSubject::size},       {"storage", ClaimSubject::size},     {"disk", ClaimSubject::size},
    {"checkpoint", ClaimSubject::size}, {"accura", ClaimSubject::accuracy},  {"perplexit", ClaimSubject::perplexity},
    {"ppl", ClaimSubject::perplexity},
};

ClaimSubject subject_of(const std::string& word) {
  if (word == "time" || word == "times") return ClaimSubject::time;
  if (word == "power") return ClaimSubject::power;
  for (const auto& stem : subject_stems) {
    if (word.starts_with(stem.begins)) return stem.meaning;
  }
  return read_column(word).quantity == Quantity::accuracy ? ClaimSubject::accuracy : ClaimSubject::none;
}

/// Less and more are better or worse by what they are of.
enum class Trend : std::uint8_t { none, better, worse, less, more };

constexpr Stem<Trend> trend_stems[] = {
    {"fast", Trend::better},   {"speed", Trend::better},    {"quick", Trend::better}, {"accelerat", Trend::better},
    {"improv", Trend::better}, {"efficien", Trend::better}, {"slow", Trend::worse},   {"overhead", Trend::worse},
    {"longer", Trend::worse},  {"worse", Trend::worse},     {"less", Trend::less},    {"lower", Trend::less},
    {"reduc", Trend::less},    {"decreas", Trend::less},    {"cut", Trend::less},     {"drop", Trend::less},
    {"sav", Trend::less},      {"small", Trend::less},      {"shorter", Trend::less}, {"fewer", Trend::less},
    {"shrink", Trend::less},   {"shrunk", Trend::less},     {"fall", Trend::less},    {"fell", Trend::less},
    {"loss", Trend::less},     {"compress", Trend::less},   {"halv", Trend::less},    {"degrad", Trend::less},
    {"more", Trend::more},     {"higher", Trend::more},     {"increas", Trend::more}, {"gain", Trend::more},
    {"rais", Trend::more},     {"rise", Trend::more},       {"grow", Trend::more},    {"larger", Trend::more},
    {"bigger", Trend::more},   {"doubl", Trend::more},      {"tripl", Trend::more},
};

Trend trend_of(const std::string& word) {
  for (const auto& stem : trend_stems) {
    if (word.starts_with(stem.begins)) return stem.meaning;
  }
  return Trend::none;
}

Sense sense_of(Trend trend, ClaimSubject subject) {
  const bool is_more_good = subject == ClaimSubject::rate || subject == ClaimSubject::accuracy;
  switch (trend) {
    case Trend::better:
      return Sense::better;
    case Trend::worse:
      return Sense::worse;
    case Trend::less:
      return subject == ClaimSubject::speed ? Sense::unknown : is_more_good ? Sense::worse : Sense::better;
    case Trend::more:
      return subject == ClaimSubject::speed ? Sense::unknown : is_more_good ? Sense::better : Sense::worse;
    case Trend::none:
      break;
  }
  return Sense::unknown;
}

struct HedgeWords {
  std::string_view words;
  Hedge hedge;
};
constexpr HedgeWords hedge_words[] = {
    {"up to", Hedge::at_least},    {"as much as", Hedge::at_least},
    {"over", Hedge::at_least},     {"more than", Hedge::at_least},
    {"at least", Hedge::at_least}, {"exceeding", Hedge::at_least},
    {"above", Hedge::at_least},    {">", Hedge::at_least},
    {"nearly", Hedge::nearly},     {"almost", Hedge::nearly},
    {"close to", Hedge::nearly},   {"just under", Hedge::nearly},
    {"about", Hedge::about},       {"around", Hedge::about},
    {"roughly", Hedge::about},     {"approximately", Hedge::about},
    {"approx.", Hedge::about},     {"some", Hedge::about},
    {"~", Hedge::about},           {"≈", Hedge::about},
    {"less than", Hedge::at_most}, {"under", Hedge::at_most},
    {"below", Hedge::at_most},     {"at most", Hedge::at_most},
    {"within", Hedge::at_most},    {"no more than", Hedge::at_most},
    {"<", Hedge::at_most},
};

/// Words that stand between a hedge and its figure, or before both.
std::string without_articles(std::string text) {
  const auto trim = [&] {
    while (text.ends_with(' ')) text.pop_back();
  };
  trim();
  for (const char* word : {" a", " an", " the", " of", " by", " to"}) {
    if (text.ends_with(word) && !text.ends_with(" up to") && !text.ends_with("close to"))
      text.resize(text.size() - std::string_view(word).size());
    trim();
  }
  return text;
}

Hedge hedge_before(const std::string& before) {
  for (const std::string& text : {before, without_articles(before)}) {
    std::string end = " " + text;
    while (end.ends_with(' ')) end.pop_back();
    for (const HedgeWords& one : hedge_words) {
      const bool is_sign = one.words.size() <= 3 && !std::isalpha(static_cast<unsigned char>(one.words[0]));
      if (end.ends_with((is_sign ? "" : " ") + std::string(one.words))) return one.hedge;
    }
  }
  return Hedge::none;
}

/// Words that say that a sentence is not about the tables beside it.
struct AsideWords {
  const char* reason;
  std::vector<std::string_view> words;
};
const std::vector<AsideWords>& aside_words() {
  static const std::vector<AsideWords> rows = {
      {"it is another's work",
       {"et al", "reported in", "reported by", " report ", "reports", "prior work", "previous work", "literature",
        "according to", "claimed by", "related work", "the authors", "advertis", "vendor"}},
      {"it is a target or a supposition",
       {"target",    "goal",    "we aim",  "hope",   "expect",      "plan to", "planned",
        "should",    "would",   "could",   "might",  "theor",       "ideal",   "hypothe",
        "projected", "estimat", "suggest", "budget", "requirement", "future",  "in principle"}},
      {"it is of the device",
       {"idle", "tdp", "power limit", "bandwidth", "hardware peak", "peak perf", "peak tops", "capacity"}},
      {"it tells how was measured",
       {"warm-up", "warmup", "warm up", "sampled every", "sampling", "timeout", "confidence", "std", "deviation",
        "variance", "percentile", "utili"}},
  };
  return rows;
}

std::string aside_of(const Sentence& sentence) {
  if (sentence.is_of_others) return aside_words()[0].reason;
  std::string lower = " " + lower_case(sentence.text) + " ";
  if (const auto at = lower.find("as expected"); at != std::string::npos) lower.erase(at, 11);
  for (const AsideWords& one : aside_words()) {
    for (const std::string_view word : one.words) {
      if (lower.find(word) != std::string::npos) return one.reason;
    }
  }
  // "[3]" is a citation, where it is no link's text.
  const auto open = lower.find('[');
  const bool cites = open != std::string::npos && open + 1 < lower.size() && std::isdigit(lower[open + 1]) != 0;
  return cites ? aside_words()[0].reason : "";
}

struct NumberWord {
  std::string_view word;
  double value;
};
constexpr NumberWord factor_words[] = {{"halves", 2},   {"halved", 2},   {"halving", 2}, {"doubles", 2},
                                       {"doubled", 2},  {"doubling", 2}, {"triples", 3}, {"tripled", 3},
                                       {"tripling", 3}, {"twice", 2},    {"thrice", 3},  {"quadruples", 4}};
constexpr NumberWord number_words[] = {{"two", 2}, {"three", 3}, {"four", 4},  {"five", 5},
                                       {"six", 6}, {"seven", 7}, {"eight", 8}, {"ten", 10}};

class SentenceReader {
 public:
  SentenceReader(const Sentence& sentence, const std::set<std::string>& names)
      : sentence_(sentence), text_(sentence.text), lower_(lower_case(sentence.text)), words_(text_words(lower_)) {
    find_precisions();
    find_names(names);
    find_figures();
  }

  /// `last`: whom the sentence before was about.
  std::vector<ReadClaim> claims(NamedRows& last) {
    std::vector<ReadClaim> all;
    all.reserve(figures_.size() + 1);
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      if (auto claim = claim_at(i, last)) all.push_back(std::move(*claim));
    }
    add_orders(all);
    for (const Mention& mention : mentions_) {
      if (mention.rows.precision != PrecisionName::unknown && !mention.is_object) last = mention.rows;
    }
    return all;
  }

 private:
  struct Mention {
    std::size_t from;
    std::size_t to;
    NamedRows rows;
    bool is_object;
  };
  struct Span {
    std::size_t from;
    std::size_t to;
  };

  void find_precisions() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const bool has_next = i + 1 < words_.size() && words_[i + 1].from - words_[i].to <= 1;
      const std::string next = has_next ? words_[i + 1].text : "";
      const std::string& word = words_[i].text;
      const bool needs_noun = word == "half" || word == "mixed" || word == "single" || word == "full";
      if (needs_noun && next != "precision") continue;
      auto precision = needs_noun ? PrecisionName::unknown : read_precision(word).precision;
      std::size_t to = words_[i].to;
      if (precision == PrecisionName::unknown && has_next && read_precision(next).precision == PrecisionName::unknown) {
        precision = read_precision(word + " " + next).precision;
        to = words_[i + 1].to;
      }
      if (precision == PrecisionName::unknown) continue;
      mentions_.push_back({words_[i].from, to, {.precision = precision}, follows_joint(words_[i].from)});
    }
  }

  void find_names(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      for (auto at = lower_.find(name); at != std::string::npos; at = lower_.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        const auto is_part = [&](std::size_t i) { return std::isalnum(static_cast<unsigned char>(lower_[i])) != 0; };
        if ((at > 0 && is_part(at - 1)) || (end < lower_.size() && is_part(end))) continue;
        mentions_.push_back({at, end, {.precision = PrecisionName::unknown, .words = name}, follows_joint(at)});
      }
    }
  }

  /// "than FP32", "over the FP32 baseline", "as fast as FP16", "compared to a ...".
  bool follows_joint(std::size_t at) const {
    constexpr std::size_t farthest = 3;  // "than", "the", "plain".
    auto word = std::lower_bound(words_.begin(), words_.end(), at,
                                 [](const TextWord& one, std::size_t place) { return one.from < place; });
    for (std::size_t steps = 0; steps < farthest && word != words_.begin(); ++steps) {
      --word;
      if (is_joint(static_cast<std::size_t>(word - words_.begin()))) return true;
      const bool is_filler = word->text == "the" || word->text == "a" || word->text == "its" || word->text == "to" ||
                             word->text == "with" || word->text == "original" || word->text == "plain";
      if (!is_filler) return false;
    }
    return false;
  }

  bool is_joint(std::size_t i) const {
    const std::string& word = words_[i].text;
    if (word == "as") return i >= 2 && words_[i - 2].text == "as";
    constexpr std::string_view joints[] = {"than", "over", "vs", "versus", "against", "compared", "relative"};
    if (std::find(std::begin(joints), std::end(joints), word) == std::end(joints)) return false;
    if (i + 1 >= words_.size()) return false;
    const std::string& next = words_[i + 1].text;
    const auto is_number = [&](const NumberWord& one) { return next == one.word; };
    return std::isdigit(static_cast<unsigned char>(next[0])) == 0 &&
           std::none_of(std::begin(factor_words), std::end(factor_words), is_number) &&
           std::none_of(std::begin(number_words), std::end(number_words), is_number);
  }

  void find_figures() {
    for (FigureInText& one : figures_in(text_)) {
      PrintedFigure& figure = one.figure;
      std::string behind = lower_case(figure.behind.substr(0, 30));
      while (!behind.empty() && (behind[0] == ' ' || behind[0] == '-')) behind.erase(0, 1);
      const bool is_points =
          behind.starts_with("point") || behind.starts_with("pp") || behind.starts_with("percentage");
      if (figure.unit.dimension == Dimension::none && (behind.starts_with("percent") || is_points))
        figure.unit = {Dimension::percent, 0.01};
      if (figure.unit.dimension == Dimension::none && (behind.starts_with("fold") || behind.starts_with("times")))
        figure.unit = {Dimension::ratio, 1};
      const std::string own = text_.substr(one.from, one.to - one.from);
      if (own.ends_with("times") && !is_compared(behind)) continue;
      if (figure.unit.dimension == Dimension::ratio && known_device_named_in(behind.substr(0, behind.find(' '))))
        continue;
      while (one.to > one.from + 1 && text_[one.to - 1] == ' ') --one.to;
      figures_.push_back(one);
    }
    for (std::size_t i = 0; i < words_.size(); ++i) add_factor_word(i);
    std::sort(figures_.begin(), figures_.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  }

  static bool is_compared(const std::string& behind) {
    const std::string word = behind.substr(0, behind.find(' '));
    return word == "as" || word == "the" || trend_of(word) != Trend::none;
  }

  /// "halves", "twice as fast", "three times faster", "half the size".
  void add_factor_word(std::size_t i) {
    const auto value_of = [&](const auto& table) {
      const auto found = std::find_if(std::begin(table), std::end(table),
                                      [&](const NumberWord& one) { return one.word == words_[i].text; });
      return found == std::end(table) ? 0.0 : found->value;
    };
    double value = value_of(factor_words);
    std::size_t to = words_[i].to;
    const std::string next = i + 1 < words_.size() ? words_[i + 1].text : "";
    if (value == 0 && next == "times" && i + 2 < words_.size() && is_compared(words_[i + 2].text)) {
      value = value_of(number_words);
      to = words_[i + 1].to;
    }
    if (words_[i].text == "half" && (next == "the" || next == "as")) value = 2;
    if (value == 0) return;
    PrintedFigure figure;
    figure.value = value;
    figure.range = {0.97 * value, 1.03 * value};
    figure.unit = {Dimension::ratio, 1};
    figure.is_about = true;
    figure.text = text_.substr(words_[i].from, to - words_[i].from);
    figures_.push_back({words_[i].from, to, figure});
  }

  /// The figure's own words: to the next figure and to what parts clauses, on both sides.
  Span clause_before(std::size_t i) const {
    const std::size_t at = figures_[i].from;
    std::size_t from = i > 0 ? figures_[i - 1].to : 0;
    for (const std::string_view mark : {", ", "; ", " and ", " while ", " but ", " whereas ", " yet ", ")"}) {
      const auto found = lower_.rfind(mark, at);
      if (found != std::string::npos && found + mark.size() <= at) from = std::max(from, found + mark.size());
    }
    return {from, at};
  }
  Span clause_behind(std::size_t i) const {
    const std::size_t at = figures_[i].to;
    std::size_t to = i + 1 < figures_.size() ? figures_[i + 1].from : lower_.size();
    for (const std::string_view mark : {", ", "; ", " and ", " while ", " but ", " whereas ", " yet ", ")"}) {
      const auto found = lower_.find(mark, at);
      if (found != std::string::npos) to = std::min(to, found);
    }
    return {at, std::max(at, to)};
  }

  /// The first word of the clause behind, the last of the clause before, the last before it, the first behind it, of
  /// which `meaning` says anything.
  template <typename Meaning>
  auto nearest(std::size_t i, Meaning&& meaning) const -> decltype(meaning("")) {
    using Found = decltype(meaning(""));
    const Span before = clause_before(i);
    const Span behind = clause_behind(i);
    const auto first = [&](Span span) {
      for (const TextWord& word : words_) {
        const bool is_inside = word.from >= span.from && word.to <= span.to;
        if (is_inside && meaning(word.text) != Found{}) return meaning(word.text);
      }
      return Found{};
    };
    const auto last = [&](Span span) {
      for (auto word = words_.rbegin(); word != words_.rend(); ++word) {
        const bool is_inside = word->from >= span.from && word->to <= span.to;
        if (is_inside && meaning(word->text) != Found{}) return meaning(word->text);
      }
      return Found{};
    };
    for (const Found found : {first({figures_[i].from, behind.to}), last(before), last({0, before.from})}) {
      if (found != Found{}) return found;
    }
    return first({behind.to, lower_.size()});
  }

  /// Whose figure it is: named in its own clause, else before it, else behind it; what it is compared with does not
  /// count.
  NamedRows whose(std::size_t i, bool is_precision) const {
    const Span before = clause_before(i);
    const Span behind = clause_behind(i);
    const Mention* best = nullptr;
    int best_rank = 5;
    for (const Mention& one : mentions_) {
      if (one.is_object || (one.rows.precision != PrecisionName::unknown) != is_precision) continue;
      const bool is_own_before = one.from >= before.from && one.to <= before.to;
      const bool is_own_behind = one.from >= behind.from && one.to <= behind.to;
      const int rank = is_own_before ? 1 : is_own_behind ? 2 : one.to <= figures_[i].from ? 3 : 4;
      // Of two before the figure the nearer, of two behind it the first; a longer name holds a shorter one.
      const bool is_nearer = best && rank == best_rank && rank % 2 == 1 && one.from > best->from;
      const bool is_longer = best && rank == best_rank && one.from <= best->from && one.to > best->to;
      if (rank < best_rank || is_nearer || is_longer) {
        best = &one;
        best_rank = rank;
      }
    }
    return best ? best->rows : NamedRows{};
  }

  /// What the nearest joint behind the figure, else before it, compares with.
  void find_other(std::size_t from, ReadClaim& claim) const {
    const TextWord* joint = nullptr;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if (!is_joint(w)) continue;
      if (words_[w].from >= from) {
        joint = &words_[w];
        break;
      }
      joint = &words_[w];
    }
    if (!joint) return;
    const auto end = std::min(lower_.find_first_of(",;().", joint->to), lower_.size());
    for (const Mention& one : mentions_) {
      if (one.from < joint->to || one.to > end || one.from - joint->to > 40) continue;
      if (claim.than.is_any()) claim.than = one.rows;
    }
    if (!claim.than.is_any()) return;
    const std::string rest = lower_.substr(joint->to, std::min<std::size_t>(end - joint->to, 40));
    for (const char* own : {"baseline", "original", "full", "uncompress", "unquant", "dense", "default", "reference",
                            "before", "other", "the rest"}) {
      if (rest.find(own) != std::string::npos) return;
    }
    claim.other = rest;
    claim.other.erase(0, std::min(claim.other.find_first_not_of(' '), claim.other.size()));
  }

  ReadClaim begun(std::size_t from, std::size_t to) const {
    ReadClaim claim;
    claim.line = sentence_.line;
    claim.sentence = text_;
    claim.text = text_.substr(from, to - from);
    while (claim.text.ends_with(' ') || claim.text.ends_with('.')) claim.text.pop_back();
    claim.aside = aside_of(sentence_);
    return claim;
  }

  std::optional<ReadClaim> claim_at(std::size_t i, const NamedRows& last) {
    const FigureInText& one = figures_[i];
    ReadClaim claim = begun(one.from, clause_behind(i).to);
    claim.figure = one.figure;
    claim.subject = nearest(i, subject_of);
    if (!fit_subject(claim)) return std::nullopt;
    const std::string before = lower_.substr(0, one.from);
    claim.hedge = hedge_before(before);
    if (one.figure.is_about && claim.hedge == Hedge::none) claim.hedge = Hedge::about;
    claim.is_left = before.ends_with(" to ") && claim.hedge == Hedge::none;
    claim.sense = sense_of(nearest(i, trend_of), claim.subject);
    claim.of = whose(i, true);
    claim.model = whose(i, false);
    // "from 412 ms to 231 ms": the first is the other side's.
    if (before.ends_with("from ") && claim.of.precision != PrecisionName::unknown && !is_named_behind(i))
      claim.of = {};
    else if (claim.of.is_any() && !claim.is_value())
      claim.of = last;
    find_other(one.from, claim);
    settle_sides(i, claim);
    return claim;
  }

  bool is_named_behind(std::size_t i) const {
    const Span behind = clause_behind(i);
    return std::any_of(mentions_.begin(), mentions_.end(), [&](const Mention& one) {
      return one.from >= behind.from && one.to <= behind.to && one.rows.precision != PrecisionName::unknown;
    });
  }

  /// "FP8 doubles the throughput of BF16": of two in one clause the second is compared with.
  void settle_sides(std::size_t i, ReadClaim& claim) const {
    const bool is_factor = claim.figure.unit.dimension == Dimension::ratio;
    if (!is_factor || !claim.than.is_any() || claim.of.is_any()) return;
    const Span behind = clause_behind(i);
    for (const Mention& one : mentions_) {
      const bool is_other = one.from >= behind.from && one.to <= behind.to &&
                            one.rows.precision != PrecisionName::unknown && one.rows.precision != claim.of.precision &&
                            !one.is_object;
      if (is_other) claim.than = one.rows;
    }
  }

  /// What a unit says of the subject; false where the figure claims nothing that tables hold.
  static bool fit_subject(ReadClaim& claim) {
    const auto is_of = [&](std::initializer_list<ClaimSubject> any) {
      return std::find(any.begin(), any.end(), claim.subject) != any.end();
    };
    switch (claim.figure.unit.dimension) {
      case Dimension::ratio:
      case Dimension::percent:
        return claim.subject != ClaimSubject::none;
      case Dimension::time:
        claim.subject = ClaimSubject::time;
        return true;
      case Dimension::energy:
        claim.subject = ClaimSubject::energy;
        return true;
      case Dimension::power:
        claim.subject = ClaimSubject::power;
        return true;
      case Dimension::rate:
      case Dimension::token_rate:
        claim.subject = ClaimSubject::rate;
        return true;
      case Dimension::bytes:
        if (!is_of({ClaimSubject::memory, ClaimSubject::size})) claim.subject = ClaimSubject::memory;
        return true;
      case Dimension::none:
        return is_of({ClaimSubject::perplexity}) && claim.figure.text.find('.') < 8;
      default:
        return false;
    }
  }

  /// "INT8 is faster than FP16".
  void add_orders(std::vector<ReadClaim>& all) const {
    for (std::size_t i = 0; i + 2 < words_.size(); ++i) {
      const bool is_slower = words_[i].text == "slower";
      if ((words_[i].text != "faster" && !is_slower) || words_[i + 1].text != "than") continue;
      const auto is_near = [&](const FigureInText& one) {
        return one.from < words_[i].from && one.to + 12 > words_[i].from;
      };
      if (std::any_of(figures_.begin(), figures_.end(), is_near) || is_denied()) continue;
      ReadClaim claim = begun(words_[i].from, std::min(lower_.find_first_of(",;", words_[i].from), lower_.size()));
      claim.is_order = true;
      claim.subject = ClaimSubject::speed;
      claim.sense = is_slower ? Sense::worse : Sense::better;
      claim.hedge = Hedge::at_least;
      claim.figure.value = 1;
      claim.figure.range = exactly(1);
      claim.figure.unit = {Dimension::ratio, 1};
      for (const Mention& one : mentions_) {
        if (one.to > words_[i].from || one.is_object) continue;
        (one.rows.words.empty() ? claim.of : claim.model) = one.rows;
      }
      find_other(words_[i].from, claim);
      if (!claim.of.is_any() && !claim.than.is_any()) all.push_back(std::move(claim));
    }
  }

  bool is_denied() const {
    return std::any_of(words_.begin(), words_.end(), [](const TextWord& word) {
      return word.text == "not" || word.text == "no" || word.text == "never" || word.text == "neither" ||
             word.text == "if" || word.text == "when" || word.text == "unless" || word.text == "only" ||
             word.text == "isn" || word.text == "why" || word.text == "whether";
    });
  }

  const Sentence& sentence_;
  const std::string& text_;
  std::string lower_;
  std::vector<TextWord> words_;
  std::vector<Mention> mentions_;
  std::vector<FigureInText> figures_;
};

bool ends_sentence(const std::string& text, std::size_t at) {
  if (text[at] != '.' && text[at] != '!' && text[at] != '?') return false;
  if (at + 1 < text.size() && text[at + 1] != ' ') return false;
  for (const std::string_view word :
       {" vs", "e.g", "i.e", "al", " Fig", " Tab", "approx", " ca", " cf", " resp", " Sec"}) {
    if (std::string_view(text).substr(0, at).ends_with(word) && text[at] == '.') return false;
  }
  return true;
}

void add_sentences(const std::string& block, Sentence like, std::vector<Sentence>& all) {
  std::size_t from = 0;
  like.begins_paragraph = true;
  for (std::size_t at = 0; at < block.size(); ++at) {
    if (at + 1 < block.size() && !ends_sentence(block, at)) continue;
    like.text = plain_text(std::string_view(block).substr(from, at + 1 - from));
    if (!like.text.empty()) all.push_back(like);
    like.begins_paragraph = false;
    from = at + 1;
  }
}

/// "Latency: 12.3 ms", "FP16:".
bool is_pair_line(const std::string& text) {
  constexpr std::size_t most = 5;
  const auto colon = text.find(':');
  return colon != std::string::npos && words_of_header(text.substr(0, colon)).size() <= most;
}

/// Lines that follow one another make one text; a list's item and a heading begin another.
std::vector<Sentence> sentences_of(const std::vector<TextLine>& prose) {
  std::vector<Sentence> all;
  std::string block;
  Sentence like;
  int last = -2;
  const auto close = [&] {
    add_sentences(block, like, all);
    block.clear();
  };
  constexpr std::size_t longest = 4000;
  for (const TextLine& line : prose) {
    const bool is_heading = line.text.starts_with('#');
    const bool is_item = line.text.starts_with("- ") || line.text.starts_with("* ") || line.text.starts_with("+ ") ||
                         line.text.starts_with("• ");
    const bool begins = is_heading || is_item || is_pair_line(line.text) || is_pair_line(block);
    if (line.line != last + 1 || begins || block.empty()) {
      close();
      like.line = line.line;
    }
    last = is_heading ? -2 : line.line;
    const std::string lower = lower_case(line.text.substr(0, 200));
    if (is_heading)
      like.is_of_others = lower.find("related") != std::string::npos || lower.find("future") != std::string::npos ||
                          lower.find("target") != std::string::npos || lower.find("prior") != std::string::npos;
    if (block.size() < longest) block += (block.empty() ? "" : " ") + line.text.substr(is_item ? 2 : 0, longest);
  }
  close();
  return all;
}

/// Models and methods that rows are of, in lower case; precisions are known without.
std::set<std::string> names_in(std::span<const PublishedTable> tables) {
  std::set<std::string> names;
  constexpr std::size_t most = 200;
  for (const PublishedTable& table : tables) {
    for (const Observation& row : table.rows) {
      const std::string head = row.group.substr(0, row.group.find('|'));
      for (std::string name : {lower_case(head), lower_case(row.label)}) {
        while (name.ends_with(' ')) name.pop_back();
        const bool is_name = name.size() >= 3 && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
        const bool is_generic = name == "model" || name == "baseline" || name == "ours" || name == "total";
        const bool is_precision = read_precision(name).precision != PrecisionName::unknown;
        if (is_name && !is_generic && !is_precision && names.size() < most) names.insert(name);
      }
    }
  }
  return names;
}

}  // namespace

std::vector<ReadClaim> read_claims(const std::vector<TextLine>& prose, std::span<const PublishedTable> tables) {
  constexpr std::size_t most = 500;
  const std::set<std::string> names = names_in(tables);
  std::vector<ReadClaim> all;
  NamedRows last;
  for (const Sentence& sentence : sentences_of(prose)) {
    if (sentence.begins_paragraph) last = {};
    if (all.size() >= most) break;
    SentenceReader reader(sentence, names);
    for (ReadClaim& claim : reader.claims(last)) all.push_back(std::move(claim));
  }
  return all;
}

}  // namespace assay
