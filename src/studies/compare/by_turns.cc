#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "statistics/group_sequential.h"
#include "statistics/rounds.h"
#include "studies/compare/run.h"

namespace assay {
namespace {

constexpr std::int64_t first_look = 10;

std::uint64_t drawn_anew() {
  std::random_device source;
  return source();  // 32 bits: a number that a person can type.
}

class ByTurns {
 public:
  ByTurns(const TimedByTurns& timed, const InterleaveRequest& request, const CompareOptions& options)
      : timed_(timed), request_(request), options_(options), cells_(1) {
    turns_.order_seed = request.order_seed ? *request.order_seed : drawn_anew();
    turns_.level = options.level;
    cells_[0].subject = "whole process";
  }

  void run() {
    timed_.a_ms();  // Files into the page cache.
    timed_.b_ms();
    begin_s_ = timed_.now_s();
    TossedOrder order(turns_.order_seed);
    while (!is_finished()) run_round(order.is_a_first());
  }

  ComparisonReport report() const {
    return {.a = request_.a, .b = request_.b, .cells = cells_, .notes = {}, .turns = turns_};
  }

 private:
  void run_round(bool is_a_first) {
    Comparison& pair = cells_[0];
    if (is_a_first) pair.a_ms.push_back(timed_.a_ms());
    pair.b_ms.push_back(timed_.b_ms());
    if (!is_a_first) pair.a_ms.push_back(timed_.a_ms());
    ++turns_.rounds;
  }

  bool is_finished() {
    if (request_.budget_s) return is_sure_or_spent(*request_.budget_s);
    if (turns_.rounds < request_.rounds) return false;
    look(options_.level);
    return true;
  }

  bool is_sure_or_spent(double budget_s) {
    if (turns_.rounds == 0) return false;
    const double spent_s = timed_.now_s() - begin_s_;
    const bool is_last = spent_s + spent_s / static_cast<double>(turns_.rounds) > budget_s;
    if (!is_last && turns_.rounds < next_look_) return false;
    next_look_ = turns_.rounds + turns_.rounds / 2;
    const double share = is_last ? 1 : spent_s / budget_s;
    look(levels_.next(static_cast<double>(turns_.rounds), spent_error(options_.level, share)));
    turns_.stopped_by = is_sure() ? "verdict" : "budget";
    return is_last || is_sure();
  }

  void look(double level) {
    CompareOptions options = options_;
    options.level = turns_.level = level;
    turns_.looks.push_back(turns_.rounds);
    cells_[0] = {.subject = cells_[0].subject,  // Nothing of an earlier verdict.
                 .a_ms = std::move(cells_[0].a_ms),
                 .b_ms = std::move(cells_[0].b_ms)};
    decide(cells_, Timed::by_turns, options);
  }

  bool is_sure() const {
    const Comparison& pair = cells_[0];
    if (pair.relation == Relation::cannot_tell) return false;
    if (!options_.allowed) return true;
    return pair.ratio->interval->low > 1 + *options_.allowed || pair.ratio->interval->high <= 1 + *options_.allowed;
  }

  const TimedByTurns& timed_;
  const InterleaveRequest& request_;
  const CompareOptions& options_;
  std::vector<Comparison> cells_;
  Turns turns_;
  SequentialLevels levels_;
  double begin_s_ = 0;
  std::int64_t next_look_ = first_look;
};

std::string note_of(const Turns& turns, double rate) {
  const std::string how =
      fmt::format("{} rounds by turns in an order tossed anew each round (--seed {})", turns.rounds, turns.order_seed);
  if (std::string(turns.stopped_by) == "rounds") return how;
  const char* end = std::string(turns.stopped_by) == "verdict" ? "a sure verdict" : "the budget";
  return fmt::format(
      "{}; {} ended it, at look {} (after {} rounds). The chance of a false verdict at any look is at most {:.2g} %: "
      "at "
      "this one the interval is of {:.4g} %, and p must be below {:.2g}",
      how, end, turns.looks.size(), fmt::join(turns.looks, ", "), 100 * rate, 100 * (1 - turns.level), turns.level);
}

}  // namespace

ComparisonReport compare_by_turns(const TimedByTurns& timed, const InterleaveRequest& request,
                                  const CompareOptions& options) {
  ByTurns turns(timed, request, options);
  turns.run();
  ComparisonReport report = turns.report();
  report.notes.push_back(note_of(*report.turns, options.level));
  return report;
}

}  // namespace assay
