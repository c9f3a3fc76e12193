#include "report/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "report/columns.h"
#include "report/ledger_brief.h"
#include "report/mode_words.h"
#include "report/text.h"

namespace assay {
namespace {

constexpr const char* bold = "1";
constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr const char* red = "31";

/// Longer precision names (with overrides) get a line of their own.
constexpr std::size_t widest_precision = 12;
constexpr std::size_t narrowest_cut = 8;  // "emulated" whole

std::string line_of_title(const Column& column, const Records& rows, std::size_t which) {
  const std::string text = title_of(column, rows);
  const auto newline = text.find('\n');
  return which == 0 ? text.substr(0, newline) : text.substr(newline + 1);
}

const char* colour_of(const Record& record) {
  const char grade = record.grade.trust.value_or(" ")[0];
  return grade == 'A' ? green : grade == 'C' ? yellow : grade == 'D' ? red : nullptr;
}

/// Writes one report; its parts are called in order.
class Writer {
 public:
  Writer(const Document& document, const TerminalOptions& options) : document_(document), options_(options) {
    measured_ = std::any_of(document.records.begin(), document.records.end(),
                            [](const Record& record) { return record.outcome.status == Status::ok; });
    choose_widths();
  }

  std::string write() {
    write_tables();
    write_notes();
    write_trust();
    write_ledger();
    write_findings(RuleKind::finding, "Findings");
    write_findings(RuleKind::expectation, "Expectations");
    return std::move(out_);
  }

 private:
  std::string paint(const std::string& text, const char* code) const {
    return options_.colour == Colour::on && code ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  void heading(const std::string& text) {
    if (!out_.empty()) out_ += '\n';
    out_ += paint(wrap(terminal_text(text), options_.width, 2), bold) + "\n";
  }

  void item(const std::string& text, std::size_t indent = 2) {
    out_ += std::string(indent, ' ') + wrap(terminal_text(text), options_.width - indent, indent + 2) + "\n";
  }

  void choose_widths() {
    for (const Column& column : table_columns()) {
      std::size_t width = 0;
      for (const Record& record : document_.records) {
        width = std::max({width, display_width(line_of_title(column, {&record}, 0)),
                          display_width(line_of_title(column, {&record}, 1))});
        const bool is_name = &column == &table_columns().front();
        if (record.outcome.status == Status::ok || is_name)
          width = std::max(width, display_width(cell_text(column, record)));
      }
      widths_.push_back(width);
    }
    gap_ = total_width() <= options_.width ? 2 : 1;
    shrink();
  }

  std::size_t total_width() const {
    std::size_t total = gap_ * (widths_.size() - 1);
    for (const std::size_t width : widths_) total += width;
    return total;
  }

  /// From the last column that may be cut to the first.
  void shrink() {
    for (std::size_t i = widths_.size(); i-- > 0 && total_width() > options_.width;) {
      if (table_columns()[i].cut == Cut::never) continue;
      const std::size_t excess = total_width() - options_.width;
      const std::size_t spare = widths_[i] - std::min(widths_[i], narrowest_cut);
      widths_[i] -= std::min(spare, excess);
    }
  }

  std::string cell_text(const Column& column, const Record& record) const {
    const std::string text = terminal_text(column.cell(record));
    const bool is_long_name = &column == &table_columns().front() && display_width(text) > widest_precision;
    return is_long_name ? "" : text;
  }

  std::string padded(std::size_t i, const std::string& text) const {
    const std::string shown = cut(text, widths_[i]);
    return table_columns()[i].align == Align::left ? pad_right(shown, widths_[i]) : pad_left(shown, widths_[i]);
  }

  void add_line(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  void write_titles(const Records& rows) {
    for (std::size_t which = 0; which < 2; ++which) {
      std::string line;
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        line += (i ? std::string(gap_, ' ') : "") + padded(i, line_of_title(table_columns()[i], rows, which));
      }
      add_line(line);
    }
  }

  void write_row(const Record& record) {
    const std::string row_name = terminal_text(shown_precision(record));
    if (record.outcome.status != Status::ok) {
      const std::string name_part = pad_right(row_name, widths_.front()) + "  ";
      const std::string status = fmt::format("{}: {}", name(record.outcome.status),
                                             terminal_text(record.outcome.reason.value_or("no reason was given")));
      const std::string text = wrap(name_part + status, options_.width, display_width(name_part));
      out_ += paint(text, record.outcome.status == Status::impossible ? red : nullptr) + "\n";
      return;
    }
    if (display_width(row_name) > widest_precision) add_line(cut(row_name, options_.width));
    std::string line;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const std::string cell = padded(i, terminal_text(cell_text(table_columns()[i], record)));
      const bool is_trust = i + 1 == widths_.size();
      line += (i ? std::string(gap_, ' ') : "") + (is_trust ? paint(cell, colour_of(record)) : cell);
    }
    add_line(line);
  }

  void write_tables() {
    const Record* above = nullptr;
    for (const Record& record : document_.records) {
      const Together relation_above = above ? relation(*above, record) : Together::apart;
      if (relation_above == Together::apart) {
        heading(model_title(record));
        if (measured_) write_titles(under_one_title(document_.records, record));
      }
      if (relation_above != Together::same_cell) out_ += terminal_text(cell_title(record)) + "\n";
      write_row(record);
      above = &record;
    }
  }

  /// "text" once, for all records that say it.
  template <typename Text>
  void note_each(const std::string& about, Text&& text_of) {
    std::set<std::string> said;
    for (const Record& record : document_.records) {
      if (record.outcome.status != Status::ok) continue;
      const std::string text = text_of(record);
      if (!text.empty() && said.insert(text).second) item(fmt::format("{}: {}", about, text));
    }
  }

  void write_notes() {
    if (!measured_) return;
    out_ += '\n';
    note_each("latency", [](const Record& r) {
      return fmt::format("median of {}, ± half its 95 % interval; speed-up: against the baseline, round by round",
                         mode_words(r).sample);
    });
    const auto restored = [](const Record& r) {
      return r.outcome.restored ? r.outcome.restored->substr(0, 16) + " UTC" : "";
    };
    note_each("*: taken from the store, where it was kept at", restored);
    note_each("of peak", [](const Record& r) {
      return r.evidence.peak_kind
                 ? fmt::format("{}: {:.0f} GFLOP/s", *r.evidence.peak_kind, r.evidence.peak_gflops.value_or(0))
                 : "";
    });
    note_each("energy", [](const Record& r) {
      return r.energy->energy_j ? fmt::format("J for one {}, {}", mode_words(r).each, r.energy->energy_status)
                                : r.energy->energy_status;
    });
    note_each("quality", [](const Record& r) { return quality_note(r); });
    item("MB are 10^6 bytes; peak: weights as kept and the plan's buffers; size: parameters as stored");
  }

  static std::string quality_note(const Record& record) {
    const std::string kind = quality_kind(record);
    if (kind.empty()) return record.quality->quality_status;
    const std::string on = fmt::format("on {} ({})", record.quality->quality_data.value_or("unnamed data"),
                                       record.quality->protocol.value_or("protocol not named"));
    if (kind != "scores") return kind + " " + on;
    return fmt::format("largest difference from the baseline's scores and correlations with them, {}; {}", on,
                       record.quality->quality_status);
  }

  void write_trust() {
    bool is_first = true;
    for (const Record& record : document_.records) {
      if (!record.grade.trust || *record.grade.trust == "A" || record.outcome.status != Status::ok) continue;
      if (is_first) heading("Trust below A");
      is_first = false;
      for (const std::string& reason : record.grade.trust_reasons) {
        item(fmt::format("{}, {}: {}", record.setting.precision, cell_title(record), reason));
      }
    }
  }

  void write_ledger() {
    std::set<std::string> said;
    for (const Record& record : document_.records) {
      std::string block = record.setting.model + record.setting.precision;
      const std::vector<std::string> lines = ledger_brief(record);
      for (const std::string& line : lines) block += line;
      if (lines.empty() || !said.insert(block).second) continue;
      if (said.size() == 1) heading("What ran");
      item(record.setting.precision + ":");
      for (const std::string& line : lines) item(line, 4);
    }
  }

  void write_findings(RuleKind kind, const char* title) {
    bool is_first = true;
    for (const Finding& finding : document_.findings) {
      if (finding.kind != kind) continue;
      if (is_first) heading(title);
      is_first = false;
      const bool is_surprise = finding.met.has_value() && !*finding.met;
      out_ +=
          paint("  " + wrap(terminal_text(finding.text), options_.width - 2, 4), is_surprise ? yellow : nullptr) + "\n";
    }
  }

  const Document& document_;
  const TerminalOptions& options_;
  std::string out_;
  std::vector<std::size_t> widths_;
  std::size_t gap_ = 2;
  bool measured_ = false;
};

}  // namespace

Colour colour_for(int file_descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_refused = (no_colour && *no_colour) || (terminal && std::string(terminal) == "dumb");
  return !is_refused && isatty(file_descriptor) ? Colour::on : Colour::off;
}

std::string terminal_report(const Document& document, const TerminalOptions& options) {
  return Writer(document, options).write();
}

}  // namespace assay
