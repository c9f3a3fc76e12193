#include "report/html/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/markup.h"
#include "report/draw/plot.h"
#include "report/html/labels.h"

namespace assay {
namespace {

constexpr ChartFrame pareto_frame = {
    .width = 460, .height = 300, .left_margin = 62, .right_margin = 14, .top_margin = 12, .bottom_margin = 48};

/// How a chart reads a record.
struct Costs {
  const char* title;
  const char* axis;
  std::optional<double> (*cost)(const Record& record);
  std::string (*why_none)(const Record& record);
};
constexpr Costs costs[] = {
    {"Quality against latency", "latency, ms (less is better)", [](const Record& r) { return r.latency->median_ms; },
     [](const Record& r) { return r.outcome.reason.value_or("not measured"); }},
    {"Quality against energy", "energy per sample, J (less is better)",
     [](const Record& r) { return r.energy->energy_j; },
     [](const Record& r) { return to_text(r.energy->energy_status); }},
};

/// Perplexity turned over, so that more is better.
std::optional<double> gain_of(const Record& record) {
  if (record.quality->perplexity) return -*record.quality->perplexity;
  if (record.quality->accuracy) return 100 * *record.quality->accuracy;
  return record.difference->score_pearson;
}

/// What gain_of gives, and how it reads.
struct Gain {
  const char* axis;
  double sign;
};
Gain gain_kind(const ReportSubject& subject) {
  for (const Record* record : subject.records) {
    if (record->quality->perplexity) return {"perplexity (up is better)", -1};
    if (record->quality->accuracy) return {"accuracy, % (up is better)", 1};
  }
  return {"Pearson's r with the baseline's scores", 1};
}

std::vector<Tradeoff> tradeoffs_of(const ReportSubject& subject, const Costs& which) {
  std::vector<Tradeoff> all;
  for (const Record* record : subject.records) {
    const std::optional<double> cost = which.cost(*record);
    const std::optional<double> gain = gain_of(*record);
    if (record->outcome.status == Status::ok && cost && gain && *cost > 0)
      all.push_back({record->setting.precision, *cost, *gain});
  }
  return all;
}

Axis cost_axis(const std::vector<Tradeoff>& all) {
  const auto [low, high] =
      std::minmax_element(all.begin(), all.end(), [](const Tradeoff& a, const Tradeoff& b) { return a.cost < b.cost; });
  return make_axis(ScaleKind::logarithmic,
                   {low->cost / 1.25, high->cost * 1.25, pareto_frame.left(), pareto_frame.right(), 6});
}

Axis gain_axis(const std::vector<Tradeoff>& all) {
  const auto [low, high] =
      std::minmax_element(all.begin(), all.end(), [](const Tradeoff& a, const Tradeoff& b) { return a.gain < b.gain; });
  const double margin = std::max({(high->gain - low->gain) * 0.12, std::abs(high->gain) * 1e-4, 1e-9});
  return make_axis(ScaleKind::linear,
                   {low->gain - margin, high->gain + margin, pareto_frame.bottom(), pareto_frame.top(), 5});
}

void draw_axes(Drawing& drawing, const Axis& x, const Axis& y, const char* x_title, const Gain& gain) {
  for (const double tick : x.ticks) {
    drawing.line(x.at(tick), pareto_frame.top(), x.at(tick), pareto_frame.bottom(), "grid");
    drawing.text(x.at(tick), pareto_frame.bottom() + 15, Anchor::middle, plain_number(tick), "tick");
  }
  for (const double tick : y.ticks) {
    drawing.line(pareto_frame.left(), y.at(tick), pareto_frame.right(), y.at(tick), "grid");
    drawing.text(pareto_frame.left() - 6, y.at(tick) + 4, Anchor::end, plain_number(gain.sign * tick), "tick");
  }
  drawing.path(fmt::format("M{0} {1}V{2}H{3}", pareto_frame.left(), pareto_frame.top(), pareto_frame.bottom(),
                           pareto_frame.right()),
               "axis");
  drawing.text(pareto_frame.middle_x(), pareto_frame.height - 8, Anchor::middle, x_title);
  drawing.vertical_text(14, pareto_frame.middle_y(), gain.axis);
}

/// Steps: what the front costs for at least that gain.
void draw_front(Drawing& drawing, const std::vector<Tradeoff>& all, const Axis& x, const Axis& y) {
  std::string data;
  for (const std::size_t i : pareto_front(all)) {
    const double at_x = x.at(all[i].cost);
    const double at_y = y.at(all[i].gain);
    data += data.empty() ? fmt::format("M{:.1f} {:.1f}", at_x, at_y) : fmt::format("H{:.1f}V{:.1f}", at_x, at_y);
  }
  drawing.path(data, "front");
}

std::string chart(const ReportSubject& subject, const Costs& which, const std::vector<Tradeoff>& all) {
  Drawing drawing(pareto_frame.width, pareto_frame.height);
  const Axis x = cost_axis(all);
  const Axis y = gain_axis(all);
  const Gain gain = gain_kind(subject);
  draw_axes(drawing, x, y, which.axis, gain);
  draw_front(drawing, all, x, y);
  const std::vector<std::size_t> front = pareto_front(all);
  Labels labels(pareto_frame.left() + 2, pareto_frame.top(), pareto_frame.width - 2, pareto_frame.bottom());
  std::string description;
  for (const Tradeoff& one : all) labels.add_point(x.at(one.cost), y.at(one.gain));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool on_front = std::find(front.begin(), front.end(), i) != front.end();
    const std::string words = fmt::format("{}: {}, {}{}", all[i].precision, plain_number(all[i].cost),
                                          plain_number(gain.sign * all[i].gain), on_front ? ", on the front" : "");
    drawing.mark(x.at(all[i].cost), y.at(all[i].gain), on_front ? 0 : 1, on_front ? "s0" : "off", words);
    description += (description.empty() ? "" : "; ") + words;
  }
  for (const bool first : {true, false}) {  // Names on the front come first where room is short.
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool on_front = std::find(front.begin(), front.end(), i) != front.end();
      if (on_front == first) labels.place(drawing, x.at(all[i].cost), y.at(all[i].gain), all[i].precision);
    }
  }
  return drawing.markup(fmt::format("{}: {}", which.title, subject.title), description);
}

std::string why_none(const ReportSubject& subject, const Costs& which) {
  for (const Record* record : subject.records) {
    if (record->outcome.status != Status::ok) continue;
    return gain_of(*record) ? which.why_none(*record) : "quality: " + to_text(record->quality->quality_status);
  }
  return "nothing was measured";
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const Tradeoff> tradeoffs) {
  std::vector<std::size_t> order(tradeoffs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (tradeoffs[a].cost != tradeoffs[b].cost) return tradeoffs[a].cost < tradeoffs[b].cost;
    return tradeoffs[a].gain > tradeoffs[b].gain;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool is_equal = !front.empty() && tradeoffs[i].cost == tradeoffs[front.back()].cost &&
                          tradeoffs[i].gain == tradeoffs[front.back()].gain;
    if (front.empty() || is_equal || tradeoffs[i].gain > tradeoffs[front.back()].gain) front.push_back(i);
  }
  return front;
}

std::string pareto_html(const ReportSubject& subject) {
  std::string text;
  for (const Costs& which : costs) {
    const std::vector<Tradeoff> all = tradeoffs_of(subject, which);
    text += fmt::format("<figure class=\"card wide\"><h4>{}</h4>", which.title);
    if (all.empty()) {
      text += fmt::format("<p class=\"none\">{}</p></figure>\n", markup_text(why_none(subject, which)));
    } else {
      text += fmt::format(
          "{}<figcaption>circles and line: what no other precision beats in both; squares: the others</figcaption>"
          "</figure>\n",
          chart(subject, which, all));
    }
  }
  return text;
}

}  // namespace assay
