#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "base/markup.h"
#include "report/html/distribution.h"
#include "report/html/panels.h"
#include "report/html/pareto.h"
#include "report/html/resources.h"
#include "report/html/roofline.h"
#include "report/html/tables.h"
#include "report/html/timeline.h"
#include "report/methods.h"
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

struct Part {
  const char* id;
  const char* title;
  std::string html;
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

std::string panels_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return up_to(figure_groups(all, subjects_together), detail.charts, [](const std::vector<ReportSubject>& group) {
    const std::string title = group.size() == 1 ? group.front().title : "Side by side";
    return fmt::format("<section><h3>{}</h3>{}</section>\n", markup_text(title), panels_html(group));
  });
}

std::string cards(const std::string& figures) {
  return "<div class=\"cards\">\n" + figures + "</div>\n";
}

std::string pareto_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return up_to(all, detail.charts, [&](const ReportSubject& subject) {
    return fmt::format("<section><h3>{}</h3>{}</section>\n", markup_text(subject.name), cards(pareto_html(subject)));
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
  return cards(up_to(records, detail.charts, [](const Record* record) { return roofline_html(*record); }));
}

std::string timelines_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return cards(up_to(all, detail.charts,
                     [](const ReportSubject& subject) { return memory_timeline_html(subject) + power_html(subject); }));
}

std::string distribution_part(std::span<const ReportSubject> all, const Fullness& detail) {
  return cards(up_to(all, detail.charts,
                     [&](const ReportSubject& subject) { return distribution_html(subject, detail.points); }));
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

bool has_sections(std::span<const ReportSource> sources) {
  return std::any_of(sources.begin(), sources.end(), [](const ReportSource& one) { return one.document.tells(); });
}

/// What the documents say beside their records comes after what is given.
std::vector<ReportSection> all_sections(std::span<const ReportSource> sources, std::span<const ReportSection> given) {
  std::vector<ReportSection> sections(given.begin(), given.end());
  for (const ReportSource& source : sources) {
    if (!source.document.tells()) continue;
    const std::string from = sources.size() > 1 ? source.label + ": " : "";
    sections.push_back({.title = from + source.document.subject.title, .document = source.document});
  }
  return sections;
}

std::string section_html(const ReportSection& section, std::size_t number, Detail detail) {
  std::string text;
  for (const std::string& paragraph : section.paragraphs) text += "<p>" + markup_text(paragraph) + "</p>\n";
  text += html_of(section.document, fmt::format("document-{}", number), detail);
  std::size_t tables = 0;
  for (const ReportTable& table : section.tables) {
    text += table_html(page_table(table, fmt::format("section-{}-{}", number, ++tables)));
  }
  for (const std::string& listing : section.listings) {
    std::string lines;
    for (std::size_t begin = 0; begin < listing.size();) {
      const std::size_t end = std::min(listing.find('\n', begin), listing.size());
      lines += markup_text(std::string_view(listing).substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
    text +=
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"listing\"><pre>" + lines + "</pre></div>\n";
  }
  ReportTable expected{"What was expected, and what came", {"expectation", "observed", "came"}, {}};
  for (const ReportExpectation& one : section.expectations) {
    expected.rows.push_back(
        {one.expectation, one.observed, one.met ? (*one.met ? "as expected" : "not as expected") : "cannot tell"});
  }
  if (!expected.rows.empty()) text += table_html(page_table(expected, fmt::format("expected-{}", number)));
  return text;
}

/// Of records; empty where there are none.
std::vector<Part> parts_of(std::span<const ReportSource> sources, std::span<const ReportSubject> all,
                           const Fullness& detail) {
  if (all.empty() && has_sections(sources)) return {};
  return {{"panels", "Six panels", panels_part(all, detail)},
          {"table", "Results", results_html(all)},
          {"without", "Left out", left_out_html(all)},
          {"found", "Findings", findings_html(sources)},
          {"grades", "Trust", trust_html(all)},
          {"pareto", "Quality against cost", pareto_part(all, detail)},
          {"roofline", "Roofline", roofline_part(all, detail)},
          {"samples", "Samples", distribution_part(all, detail)},
          {"timelines", "Memory and power", timelines_part(all, detail)},
          {"ledger", "What ran", ledger_part(all, detail)},
          {"machine", "Machine", machines_html(sources)},
          {"methods", "Methods", methods_part(sources)},
          {"every-field", "Every field", fields_html(all, detail.fields)}};
}

std::string body(const std::vector<Part>& parts, std::span<const ReportSection> sections, const PageOptions& options) {
  std::string links;
  std::string text;
  std::size_t number = 0;
  const auto add = [&](const std::string& id, const std::string& title, const std::string& html) {
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, markup_text(title));
    text += fmt::format("<section id=\"{}\" aria-labelledby=\"{}-title\"><h2 id=\"{}-title\">{}</h2>\n{}</section>\n",
                        id, id, id, markup_text(title), html);
  };
  for (const ReportSection& section : sections) {
    ++number;
    add(fmt::format("study-{}", number), section.title, section_html(section, number, options.detail));
  }
  for (const Part& part : parts) add(part.id, part.title, part.html);
  const std::string command =
      options.command.empty() ? "" : fmt::format("<p><code>{}</code></p>\n", markup_text(options.command));
  return fmt::format(
      "<body><a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header><h1>{}</h1>\n{}"
      "<nav aria-label=\"Parts of this page\"><ul>{}</ul></nav></header>\n<main id=\"content\">\n{}</main>\n",
      markup_text(options.title), command, links, text);
}

}  // namespace

std::string html_report(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                        const PageOptions& options) {
  const std::vector<ReportSubject> all = subjects(sources);
  const std::vector<ReportSection> told = all_sections(sources, sections);
  const std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n",
      policy(report_script()), markup_text(options.title), report_style());
  const std::string tail = fmt::format("<script>{}</script>\n</body>\n</html>\n", report_script());
  std::string page;
  for (const Fullness& detail : details) {
    page = head + body(parts_of(sources, all, detail), told, options) + tail;
    if (page.size() < most_page_bytes) break;
  }
  return page;
}

}  // namespace assay
