#include "measure/markers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

struct Marker {
  std::string phase;
  bool is_begin = false;
  double at_s = 0;
  double items = 0;
};

double number_at(const Json& json, const char* key, double otherwise) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  if (!found->is_number()) fail_user("'{}' is no number", key);
  return found->get<double>();
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) fail_user("has no text '{}'", key);
  return found->get<std::string>();
}

/// Throws a user error.
Marker parse_marker(std::string_view line) {
  constexpr std::size_t longest_name = 200;
  constexpr double most_items = 1e15;  // Whole numbers up to here are exact.
  const Json json = parse_json(line, "marker");
  if (!json.is_object()) fail_user("is no object");
  Marker marker{.phase = text_at(json, "phase")};
  const std::string at = text_at(json, "at");
  if (at != "begin" && at != "end") fail_user("'at' is neither begin nor end");
  marker.is_begin = at == "begin";
  marker.at_s = number_at(json, "time", NAN);
  marker.items = number_at(json, "items", 0);
  if (!std::isfinite(marker.at_s)) fail_user("has no 'time'");
  if (!(marker.items >= 0 && marker.items <= most_items)) fail_user("'items' is not from 0 to 1e15");
  if (marker.phase.empty() || marker.phase.size() > longest_name) fail_user("a phase's name has 1 to 200 bytes");
  return marker;
}

}  // namespace

void MarkerReader::fault(const std::string& sentence) {
  if (faults_++ == 0) first_fault_ = sentence;
}

void MarkerReader::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!is_skipping_) held_.append(part.substr(0, longest_marker + 1 - std::min(held_.size(), longest_marker + 1)));
    if (!is_skipping_ && held_.size() > longest_marker) {
      is_skipping_ = true;
      fault(fmt::format("a line is longer than {} bytes", longest_marker));
    }
    if (end == std::string_view::npos) return;
    if (!is_skipping_) take_line(held_);
    held_.clear();
    is_skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void MarkerReader::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  try {
    take_marker(line);
  } catch (const Error& e) {
    fault(fmt::format("{}: {}", printable(line, 80), e.what()));
  }
}

void MarkerReader::take_marker(std::string_view line) {
  const Marker marker = parse_marker(line);
  if (marker.at_s < begin_s_) fail_user("its time is before the program's start; is it of CLOCK_MONOTONIC?");
  const std::size_t phase = index_of(marker.phase);
  if (phase == phases_.size()) fail_user("more than {} phases", most_phases);
  marker.is_begin ? begin(phase, marker.at_s, marker.items) : end(phase, marker.at_s, marker.items);
}

std::size_t MarkerReader::index_of(const std::string& name) {
  const auto known =
      std::find_if(phases_.begin(), phases_.end(), [&](const MarkedPhase& phase) { return phase.name == name; });
  if (known != phases_.end()) return static_cast<std::size_t>(known - phases_.begin());
  if (phases_.size() == most_phases) return phases_.size();
  phases_.push_back({name, {}});
  open_.emplace_back();
  return phases_.size() - 1;
}

void MarkerReader::begin(std::size_t phase, double at_s, double items) {
  if (open_[phase].begun.size() == most_open) fail_user("begun {} times and not ended", most_open);
  open_[phase].begun.push_back({at_s, at_s, items});
}

void MarkerReader::end(std::size_t phase, double at_s, double items) {
  std::vector<PhaseSpan>& begun = open_[phase].begun;
  if (begun.empty()) fail_user("ends what was not begun");
  PhaseSpan span = begun.back();
  begun.pop_back();
  if (at_s < span.begin_s) fail_user("ends before it began");
  if (spans_ == most_spans) fail_user("more than {} phases were run through; the rest is left out", most_spans);
  span.end_s = at_s;
  span.items = std::max(span.items, items);
  phases_[phase].spans.push_back(span);
  ++spans_;
}

void MarkerReader::finish(double end_s) {
  if (!held_.empty() && !is_skipping_) fault("the last line has no end");
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    MarkedPhase& phase = phases_[i];
    if (!open_[i].begun.empty()) fault(fmt::format("{}: begun and not ended", printable(phase.name)));
    const auto late = std::erase_if(phase.spans, [&](const PhaseSpan& span) { return span.end_s > end_s; });
    if (late > 0) fault(fmt::format("{}: ends after the program did", printable(phase.name)));
  }
  open_.clear();
  std::erase_if(phases_, [](const MarkedPhase& phase) { return phase.spans.empty(); });
}

}  // namespace assay
