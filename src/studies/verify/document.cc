#include <fmt/format.h>

#include <algorithm>

#include "results/seal.h"
#include "studies/verify/run.h"

namespace assay {
namespace {

const char* words_of(Seal::State state) {
  switch (state) {
    case Seal::State::own:
    case Seal::State::holds:
      return "holds";
    case Seal::State::broken:
      return "broken: changed after it was written";
    case Seal::State::absent:
      return "none: written before there were seals";
  }
  return "";
}

std::string figures_words(const Verified& thing) {
  if (thing.seal.changed.empty()) return "follow";
  return fmt::format("{} not", thing.seal.changed.size());
}

Table verified_table(Table table, const std::vector<Verified>& things) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Verified>> columns = {
      {{.key = "what", .role = Table::Role::label}, [](const Verified& v) -> Cell { return v.what; }},
      {{.key = "subject", .role = Table::Role::label}, [](const Verified& v) { return text_or_absent(v.subject); }},
      {{.key = "seal"}, [](const Verified& v) -> Cell { return words_of(v.seal.state); }},
      {{.key = "figures", .meaning = "median, interval, speed-up and rates, from samples and plan figures"},
       [](const Verified& v) -> Cell { return figures_words(v); }},
      {{.key = "changed", .detail = Detail::data}, [](const Verified& v) -> Cell { return v.seal.changed; }},
      {{.key = "sha256", .detail = Detail::data}, [](const Verified& v) { return or_absent(v.seal.seal); }}};
  return filled(std::move(table), columns, things);
}

Sentences changed_figures(const std::vector<Verified>& things) {
  constexpr std::size_t most = 3;
  Sentences sentences{.key = "changed", .title = "Figures that do not follow"};
  for (const Verified& thing : things) {
    if (!thing.seal.changed.empty())
      sentences.texts.push_back(fmt::format("{}: {}", thing.what, changed_words(thing.seal, most)));
  }
  return sentences;
}

std::string verdict_of(const Verification& verification) {
  const auto count = [&](auto&& is_so) {
    return std::count_if(verification.things.begin(), verification.things.end(), is_so);
  };
  const auto broken = count([](const Verified& v) { return !v.holds(); });
  const auto unsealed = count([](const Verified& v) { return v.seal.state == Seal::State::absent; });
  const std::size_t all = verification.things.size();
  std::string text = broken == 0 ? fmt::format("All {} hold: files, runs and records", all)
                                 : fmt::format("{} of {} do not hold", broken, all);
  if (unsealed > 0)
    text += fmt::format("; {} have no seal, and of them only the figures were computed again", unsealed);
  return text + ".";
}

}  // namespace

Document to_document(const Verification& verification) {
  Document document{.subject = {.schema = "assay-verification-1", .title = "Verified: " + verification.file}};
  add_fact(document.subject.facts, {.key = "file"}, verification.file);
  add_fact(document.subject.facts, {.key = "holds"}, verification.holds());
  std::vector<Verified> doubtful;
  std::copy_if(verification.things.begin(), verification.things.end(), std::back_inserter(doubtful),
               [](const Verified& thing) { return !thing.holds(); });
  if (!doubtful.empty())
    document.tables.push_back(verified_table({.key = "doubtful", .caption = "What does not hold"}, doubtful));
  document.tables.push_back(
      verified_table({.key = "verified", .caption = "Everything", .detail = Detail::details}, verification.things));
  document.sentences = {{.texts = {verdict_of(verification)}}, changed_figures(doubtful)};
  return document;
}

}  // namespace assay
