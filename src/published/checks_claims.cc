#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "published/checks.h"

namespace assay {
namespace {

/// "30x more": a factor and what is compared.
struct SpokenClaim {
  std::size_t from = 0;
  std::size_t to = 0;
  PrintedFigure factor;
};

bool compares(std::string_view behind) {
  constexpr std::array words = {"more",   "less",   "slower", "faster", "smaller",  "larger",
                                "bigger", "higher", "lower",  "better", "reduction"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return behind.starts_with(word); });
}

std::vector<SpokenClaim> claims_in(const std::vector<FigureInText>& numbers) {
  std::vector<SpokenClaim> claims;
  for (const FigureInText& mention : numbers) {
    if (mention.figure.unit.dimension != Dimension::ratio || !compares(mention.figure.behind)) continue;
    if (mention.figure.value > 1) claims.push_back({mention.from, mention.to, mention.figure});
  }
  return claims;
}

bool is_quantity(Dimension dimension) {
  return dimension == Dimension::time || dimension == Dimension::energy || dimension == Dimension::power ||
         dimension == Dimension::bytes;
}

/// The nearest figure before the claim and the first of the same dimension behind it, one of the same sentence.
struct Sides {
  const FigureInText* subject = nullptr;
  const FigureInText* object = nullptr;
};

Sides sides_of(const SpokenClaim& claim, const std::vector<FigureInText>& numbers, const std::string& line) {
  Sides sides;
  const auto in_sentence = [&](std::size_t from, std::size_t to) {
    return line.substr(from, to - from).find(". ") == std::string::npos;
  };
  for (const FigureInText& mention : numbers) {
    if (!is_quantity(mention.figure.unit.dimension)) continue;
    if (mention.to <= claim.from && in_sentence(mention.to, claim.from)) sides.subject = &mention;
    const bool is_behind = mention.from >= claim.to && sides.subject != nullptr && sides.object == nullptr;
    if (is_behind && mention.figure.unit.dimension == sides.subject->figure.unit.dimension &&
        mention.from - claim.to < 60 && in_sentence(claim.to, mention.from))
      sides.object = &mention;
  }
  return sides;
}

bool says_than(const std::string& line, std::size_t from, std::size_t to) {
  const std::string between = line.substr(from, to - from);
  return between.find("than") != std::string::npos || between.find("vs") != std::string::npos ||
         between.find("compared") != std::string::npos;
}

/// Figures of one sentence against one another; whether it said anything.
bool check_line(const TextLine& source, Complaints& say) {
  constexpr std::size_t longest = 2000;
  const std::string line = plain_text(source.text).substr(0, longest);
  const std::vector<FigureInText> numbers = figures_in(line);
  bool is_wrong = false;
  for (const SpokenClaim& claim : claims_in(numbers)) {
    const Sides sides = sides_of(claim, numbers, line);
    if (!sides.subject || !sides.object || !says_than(line, claim.to, sides.object->from)) continue;
    const PrintedFigure a = in_base_unit(sides.subject->figure);
    const PrintedFigure b = in_base_unit(sides.object->figure);
    if (a.range.low <= 0 || b.range.low <= 0) continue;
    const Range ratio = a.value >= b.value ? a.range / b.range : b.range / a.range;
    if (may_equal(ratio, claim.factor.range, 0.05)) continue;
    const double off = claim.factor.value / middle(ratio);
    Measured said;
    said.row = fmt::format("line {}", source.line);
    const std::string subject = line.substr(sides.subject->from, sides.subject->to - sides.subject->from);
    const std::string object = line.substr(sides.object->from, sides.object->to - sides.object->from);
    say.figure(said,
               fmt::format("'{}' is {}x: {} against {}.", line.substr(claim.from, sides.object->to - claim.from),
                           shown(ratio), subject, object),
               fmt::format("{} / {} = {}", a.value >= b.value ? subject : object, a.value >= b.value ? object : subject,
                           shown(ratio)),
               off > 1.3 || off < 0.77 ? Severity::high : Severity::medium);
    is_wrong = true;
  }
  return is_wrong;
}

void say_contradicted(const JudgedClaim& claim, Complaints& say) {
  Measured said;
  said.row = fmt::format("line {}", claim.line);
  say.figure(said,
             fmt::format("'{}' is claimed, but the table gives {} ({}).", claim.text, claim.found, claim.bound_to),
             fmt::format("{} against {}", claim.stated, claim.found), claim.is_far ? Severity::high : Severity::medium);
}

}  // namespace

void check_claims(const PublishedTable& table, Complaints& say) {
  std::set<int> told;
  for (const TextLine& line : table.prose) {
    if (check_line(line, say)) told.insert(line.line);
  }
  for (const JudgedClaim& claim : table.claims) {
    const bool is_bound = claim.verdict == ClaimVerdict::holds || claim.verdict == ClaimVerdict::contradicted;
    if (is_bound) say.relation_tested();
    if (claim.verdict == ClaimVerdict::contradicted && !told.contains(claim.line)) say_contradicted(claim, say);
  }
}

}  // namespace assay
