#include "studies/tune/answer.h"

#include <algorithm>
#include <string>

#include "studies/tune/aims.h"
#include "studies/tune/run.h"

namespace assay {
namespace {

/// KL of a point that was scored.
const Change& loss_of_point(const Tuning& tuning, std::size_t point) {
  return tuning.points[point].held_out->kl;
}

bool loses_less(const Tuning& tuning, std::size_t a, std::size_t b) {
  return loss_of_point(tuning, a).value < loss_of_point(tuning, b).value;
}

/// Whether the first is told to lose more: by intervals, else by the figures.
bool is_told_to_lose_more(const Change& loss, const Change& than) {
  if (loss.interval && than.interval) return loss.interval->low > than.interval->high;
  return loss.value > than.value;
}

std::vector<std::string> names_of(const Tuning& tuning) {
  std::vector<std::string> names;
  names.reserve(tuning.points.size());
  for (const TunePoint& point : tuning.points) names.push_back(point.precision);
  return names;
}

/// Standings of those that keep the limit, among these; figures of all.
std::vector<ChoiceRow> choice_rows_of(const Tuning& tuning, const Document& timed) {
  const ChoiceQuestion& question = facts_of(tuning.aim).question;
  const VerdictSource source{timed.records, timed.findings};
  std::vector<ChoiceRow> rows = choice_of(question, names_of(tuning), source);
  std::vector<std::string> keeping;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].standing = AimStanding::lacking;
    rows[i].against_best.clear();
    if (keeps_limit(tuning, tuning.points[i])) keeping.push_back(tuning.points[i].precision);
  }
  for (ChoiceRow& row : choice_of(question, keeping, source)) {
    const auto same =
        std::find_if(rows.begin(), rows.end(), [&](const ChoiceRow& one) { return one.name == row.name; });
    *same = std::move(row);
  }
  return rows;
}

/// Of points that nothing tells apart.
void take_from(const Tuning& tuning, TuneAnswer& answer) {
  const auto less = [&](std::size_t a, std::size_t b) { return loses_less(tuning, a, b); };
  const std::size_t least = *std::min_element(answer.tied.begin(), answer.tied.end(), less);
  std::size_t taken = least;
  if (tuning.points[least].is_mix) {
    std::vector<std::size_t> uniform;
    for (const std::size_t one : answer.tied) {
      const bool is_simpler = !tuning.points[one].is_mix;
      if (is_simpler && !is_told_to_lose_more(loss_of_point(tuning, one), loss_of_point(tuning, least)))
        uniform.push_back(one);
    }
    if (!uniform.empty()) taken = *std::min_element(uniform.begin(), uniform.end(), less);
  }
  answer.taken = taken;
  if (answer.tied.size() > 1) answer.reason = taken == least ? TakenFor::less_loss : TakenFor::simpler;
}

}  // namespace

TuneAnswer answer_of(const Tuning& tuning, const Document& timed) {
  TuneAnswer answer;
  answer.rows = choice_rows_of(tuning, timed);
  answer.times =
      choice_of({"latency", facts_of(tuning.aim).question.mode}, names_of(tuning), {timed.records, timed.findings});
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    if (answer.rows[i].is_tied()) answer.tied.push_back(i);
  }
  if (!answer.tied.empty()) take_from(tuning, answer);
  return answer;
}

}  // namespace assay
