#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>

#include "base/hash.h"
#include "base/markup.h"
#include "report/draw/figure.h"
#include "report/html/resources.h"
#include "report/html/tables.h"
#include "report/methods.h"
#include "report/records/described.h"
#include "report/records/figures.h"
#include "report/render.h"

namespace assay {
namespace {

/// How much a page holds of what grows with the records.
struct Fullness {
  std::size_t points = 200;  ///< Samples of a row in a distribution.
  std::size_t charts = 48;   ///< Charts of each kind that are drawn for single subjects or records.
  std::size_t fields = 24;   ///< Records whose every field is shown.
  std::size_t ledgers = SIZE_MAX;
};
/// From the fullest to the leanest.
constexpr Fullness details[] = {{200, 48, 24, SIZE_MAX}, {60, 24, 12, 200}, {30, 8, 0, 60}, {20, 2, 0, 10}};

constexpr std::size_t subjects_together = 4;

/// Whether a part is read by everybody, or by who wants to know more.
enum class Reading : std::uint8_t { open, folded };

struct Part {
  std::string id;
  std::string title;
  std::string html;
  Reading reading = Reading::open;
};

std::string base64(const std::string& hex) {
  constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    bits = bits << 4 | static_cast<std::uint32_t>(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    count += 4;
    while (count >= 6) {
      count -= 6;
      text += letters[bits >> count & 63];
    }
  }
  if (count > 0) text += letters[bits << (6 - count) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

/// Lets run what bears this script's hash, and nothing else.
std::string policy(std::string_view script) {
  const std::string hash = sha256_hex(std::as_bytes(std::span(script.data(), script.size())));
  return fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
      base64(hash));
}

/// `draw` for each element, as far as `most` goes; then a sentence about the rest.
template <typename Items, typename Draw>
std::string up_to(const Items& items, std::size_t most, Draw&& draw) {
  std::string text;
  std::size_t drawn = 0;
  for (const auto& item : items) {
    if (drawn++ < most) text += draw(item);
  }
  if (drawn > most)
    text += fmt::format("<p class=\"none\">{} more are left out: the page would grow too large.</p>\n", drawn - most);
  return text;
}

std::string cards(const std::string& figures) {
  return "<div class=\"cards\">\n" + figures + "</div>\n";
}

std::string cards(const std::vector<Figure>& figures, Breadth breadth) {
  std::string text;
  for (const Figure& figure : figures) text += figure_html(figure, breadth);
  return cards(text);
}

std::string titled(const std::string& title, const std::string& part) {
  return fmt::format("<section><h3>{}</h3>{}</section>\n", markup_text(title), part);
}

bool has_points(const Figure& figure) {
  return std::any_of(figure.series.begin(), figure.series.end(), [](const Figure::Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const Figure::Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); });
  });
}

/// Those with something to draw; of the others a line says why they are missing. What was drawn before is not again.
std::string panels_of(const std::vector<ReportSubject>& group, std::set<std::string>& drawn_before) {
  std::string charts;
  std::string missing;
  for (const Figure& figure : panel_figures(group)) {
    if (!has_points(figure)) {
      missing += fmt::format("{}{}: {}", missing.empty() ? "" : "; ", figure.caption, figure.reason);
      continue;
    }
    const std::string chart = figure_html(figure, Breadth::third);
    if (drawn_before.insert(chart).second) charts += chart;
  }
  const std::string line =
      missing.empty() ? "" : fmt::format("<p class=\"none\">Not drawn. {}</p>\n", markup_text(missing));
  return (charts.empty() ? "" : cards(charts)) + line;
}

std::string panels_part(std::span<const ReportSubject> all, const Fullness& detail) {
  std::set<std::string> drawn_before;
  return up_to(figure_groups(all, subjects_together), detail.charts, [&](const std::vector<ReportSubject>& group) {
    return titled(group.size() == 1 ? group.front().title : "Side by side", panels_of(group, drawn_before));
  });
}

std::string pareto_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return up_to(all, detail.charts, [](const ReportSubject& subject) {
    return titled(subject.name, cards(pareto_figures(subject), Breadth::half));
  });
}

std::string roofline_part(std::span<const ReportSubject> all, const Fullness& detail) {
  std::vector<const Record*> records;
  for (const ReportSubject& subject : all) {
    for (const Record* record : subject.records) {
      if (record->outcome.status == Status::ok) records.push_back(record);
    }
  }
  if (records.empty()) return "<p class=\"none\">nothing was measured</p>\n";
  return cards(up_to(records, detail.charts,
                     [](const Record* record) { return figure_html(roofline_figure(*record), Breadth::half); }));
}

std::string timelines_part(std::span<const ReportSubject> all, const Fullness& detail) {
  const std::string figures = up_to(all, detail.charts, [](const ReportSubject& subject) {
    return figure_html(memory_figure(subject)) + figure_html(power_figure(subject));
  });
  const Table power = power_table(all);
  return cards(figures) + (power.rows.empty() ? "" : table_html(power, ""));
}

std::string distribution_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return cards(up_to(all, detail.charts, [&](const ReportSubject& subject) {
    return figure_html(samples_figure(subject, detail.points));
  }));
}

std::string ledger_part(std::span<const ReportSubject> all, const Fullness& detail) {
  std::vector<std::vector<ReportSubject>> ones;
  for (const ReportSubject& subject : all) ones.push_back({subject});
  return up_to(ones, detail.ledgers, [](const std::vector<ReportSubject>& one) { return ledger_html(one); });
}

std::string methods_part(std::span<const ReportSource> sources) {
  std::string text;
  for (const std::string& paragraph : methods_paragraphs(sources)) text += "<p>" + markup_text(paragraph) + "</p>\n";
  return text;
}

/// Of what a document says itself.
std::string own_title(const Document& document) {
  if (!document.subject.title.empty() || document.sentences.empty()) return document.subject.title;
  return document.sentences.front().title;
}

/// What documents say themselves, beside their records.
std::vector<Part> told_parts(std::span<const ReportSource> sources, Detail detail) {
  std::vector<Part> parts;
  for (const ReportSource& source : sources) {
    if (!source.document.tells()) continue;
    const std::string number = std::to_string(parts.size() + 1);
    const std::string from = sources.size() > 1 ? source.label + ": " : "";
    parts.push_back({"study-" + number, from + own_title(source.document),
                     html_of(source.document, "document-" + number, detail),
                     parts.empty() ? Reading::open : Reading::folded});
  }
  return parts;
}

bool tells(std::span<const ReportSource> sources) {
  return std::any_of(sources.begin(), sources.end(), [](const ReportSource& one) { return one.document.tells(); });
}

/// Of records; empty where there are none and documents say something else.
std::vector<Part> record_parts(std::span<const ReportSource> sources, std::span<const ReportSubject> all,
                               const Fullness& detail) {
  if (all.empty() && tells(sources)) return {};
  return {{"panels", "Six panels", panels_part(all, detail)},
          {"table", "Results", results_html(all)},
          {"without", "Left out", table_html(left_out_table(all), "Every row was measured.")},
          {"found", "Findings", findings_html(sources)},
          {"grades", "Trust", table_html(trust_table(all), "no row is graded")},
          {"pareto", "Quality against cost", pareto_part(all, detail), Reading::folded},
          {"roofline", "Roofline", roofline_part(all, detail), Reading::folded},
          {"samples", "Samples", distribution_part(all, detail), Reading::folded},
          {"timelines", "Memory and power", timelines_part(all, detail), Reading::folded},
          {"ledger", "What ran", ledger_part(all, detail), Reading::folded},
          {"machine", "Machine", machines_html(sources), Reading::folded},
          {"methods", "Methods", methods_part(sources), Reading::folded},
          {"every-field", "Every field", fields_html(all, detail.fields), Reading::folded}};
}

std::string content_of(const Part& part) {
  if (part.reading == Reading::open) return part.html;
  return fmt::format("<details><summary>Show: {}</summary>\n{}</details>\n", markup_text(part.title), part.html);
}

std::string body(const std::vector<Part>& parts, const PageOptions& options) {
  std::string links;
  std::string text;
  for (const Part& part : parts) {
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, markup_text(part.title));
    text +=
        fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
                    part.id, markup_text(part.title), content_of(part));
  }
  const std::string command =
      options.command.empty() ? "" : fmt::format("<p><code>{}</code></p>\n", markup_text(options.command));
  return fmt::format(
      "<body><a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header><h1>{}</h1>\n{}"
      "<nav aria-label=\"Parts of this page\"><ul>{}</ul></nav></header>\n<main id=\"content\">\n{}</main>\n",
      markup_text(options.title), command, links, text);
}

}  // namespace

std::string html_report(std::span<const ReportSource> sources, const PageOptions& options) {
  const std::vector<ReportSubject> all = subjects(sources);
  const std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n",
      policy(report_script()), markup_text(options.title), report_style());
  const std::string tail = fmt::format("<script>{}</script>\n</body>\n</html>\n", report_script());
  std::string page;
  for (const Fullness& detail : details) {
    std::vector<Part> parts = told_parts(sources, options.detail);
    for (Part& part : record_parts(sources, all, detail)) parts.push_back(std::move(part));
    page = head + body(parts, options) + tail;
    if (page.size() < most_page_bytes) break;
  }
  return page;
}

}  // namespace assay
