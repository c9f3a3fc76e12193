#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "studies/profile.h"
#include "studies/svg.h"

namespace assay {
namespace {

/// A frame that is still open while events are written.
struct Open {
  std::string name;
  double begin_us = 0;
  std::size_t place = 0;  ///< Of its event, which stands before those inside it, as viewers want it.
};

constexpr int host_track = 1;
constexpr int gpu_track = 2;

OrderedJson event(const std::string& name, const char* category, double begin_us, double end_us,
                  int track = host_track) {
  return {{"name", name}, {"cat", category}, {"ph", "X"}, {"ts", begin_us}, {"dur", end_us - begin_us},
          {"pid", track}, {"tid", 1}};
}

OrderedJson track_name(int track, const std::string& title) {
  return {{"name", "process_name"}, {"ph", "M"}, {"pid", track}, {"args", {{"name", title}}}};
}

/// A run of its own, which begins where the host's does: the two are not the same moments.
void add_gpu_track(const Profile& profile, OrderedJson& events) {
  if (!profile.gpu || !profile.gpu->present()) return;
  for (const KernelSpan& span : profile.gpu->last.spans) {
    const ProfiledStep& step = profile.steps[span.step];
    OrderedJson kernel = event(span.name, name(step.phase), span.begin_us, span.end_us, gpu_track);
    kernel["args"] = {{"path", step.path}, {"operation", step.operation}};
    events.push_back(std::move(kernel));
  }
  events.push_back(track_name(gpu_track, "kernels on the GPU, by CUPTI, in another run"));
}

/// Ranges around steps that follow one another in the same frames, and the steps themselves.
class TraceWriter {
 public:
  OrderedJson take() { return std::move(events_); }

  void add(const ProfiledStep& step, double begin_us, double end_us) {
    const std::vector<std::string> now = frames(step);
    const std::size_t ranges = now.size() - 1;
    std::size_t common = 0;
    while (common < std::min(open_.size(), ranges) && open_[common].name == now[common]) ++common;
    close(common);
    while (open_.size() < ranges) {
      const std::string& range = now[open_.size()];
      open_.push_back({range, begin_us, events_.size()});
      events_.push_back(event(range, name(step.phase), begin_us, begin_us));
    }
    OrderedJson kernel = event(now.back(), name(step.phase), begin_us, end_us);
    kernel["args"] = {{"path", step.path},
                      {"operation", step.operation},
                      {"kernel", step.kernel},
                      {"flops", step.flops},
                      {"bytes", step.bytes}};
    events_.push_back(std::move(kernel));
    last_us_ = end_us;
  }

  void close(std::size_t remaining) {
    for (; open_.size() > remaining; open_.pop_back())
      events_[open_.back().place]["dur"] = last_us_ - open_.back().begin_us;
  }

 private:
  OrderedJson events_ = OrderedJson::array();
  std::vector<Open> open_;
  double last_us_ = 0;
};

struct FlameNode {
  std::string name;
  double ms = 0;
  std::vector<FlameNode> children;

  FlameNode& child(const std::string& wanted) {
    for (FlameNode& node : children) {
      if (node.name == wanted) return node;
    }
    return children.emplace_back(FlameNode{wanted, 0, {}});
  }
};

constexpr double flame_width = 1180;
constexpr double flame_row = 18;
constexpr double flame_left = 10;
constexpr double flame_top = 34;

/// The same colour for the same name.
std::string colour(const std::string& name) {
  unsigned hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("hsl({},65%,72%)", hash % 60 + (name.find("gradient") != std::string::npos ? 180 : 10));
}

struct FlameDrawing {
  double scale = 0;  ///< Pixels for a ms.
  double total_ms = 0;
  int depth = 0;
  std::string text;
};

void draw(const FlameNode& node, double x, int level, FlameDrawing& drawing) {
  const double width = node.ms * drawing.scale;
  constexpr double least_visible = 0.3;
  if (width < least_visible) return;
  drawing.depth = std::max(drawing.depth, level);
  const double y = flame_top + level * flame_row;
  const std::string label =
      fmt::format("{}: {:.3f} ms, {:.1f} %", node.name, node.ms, 100 * node.ms / drawing.total_ms);
  drawing.text += fmt::format(
      "<g><title>{}</title><rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"/>",
      escaped(label), x, y, width, flame_row - 1, colour(node.name));
  constexpr double letter = 6.2;
  const auto letters = static_cast<std::size_t>(width / letter);
  if (letters >= 4) {
    drawing.text += fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\">{}</text>", x + 2, y + 13,
                                escaped(node.name.substr(0, letters - 1)));
  }
  drawing.text += "</g>\n";
  for (const FlameNode& child : node.children) {
    draw(child, x, level + 1, drawing);
    x += child.ms * drawing.scale;
  }
}

}  // namespace

OrderedJson trace_json(const ProfileStudy& study) {
  const Profile& profile = study.profile;
  TraceWriter writer;
  const double start_s = profile.typical_run.front().begin_s;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const StepTime& time = profile.typical_run[i];
    writer.add(profile.steps[i], (time.begin_s - start_s) * 1e6, (time.end_s - start_s) * 1e6);
  }
  writer.close(0);
  OrderedJson events = writer.take();
  const std::string title = fmt::format("{} {} {}, {} x {}", study.model, profile.precision, name(profile.mode),
                                        study.extent.batch, study.extent.seq);
  events.push_back(track_name(host_track, title));
  add_gpu_track(profile, events);
  return {{"displayTimeUnit", "ms"}, {"traceEvents", events}};
}

std::string flame_svg(const ProfileStudy& study) {
  FlameNode root{study.model + " " + study.profile.precision, 0, {}};
  for (const ProfiledStep& step : study.profile.steps) {
    FlameNode* node = &root;
    node->ms += step.ms;
    for (const std::string& frame : frames(step)) {
      node = &node->child(frame);
      node->ms += step.ms;
    }
  }
  FlameDrawing drawing{flame_width / root.ms, root.ms, 0, ""};
  draw(root, flame_left, 0, drawing);
  const double height = flame_top + (drawing.depth + 1) * flame_row + 10;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"{0}\" viewBox=\"0 0 1200 {0}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"20\" font-size=\"14\">{1}</text>\n{2}</svg>\n",
      height,
      escaped(fmt::format("{} {} {}, {} x {}: {:.3f} ms, medians of {} runs", study.model, study.profile.precision,
                          name(study.profile.mode), study.extent.batch, study.extent.seq, root.ms,
                          study.profile.rounds)),
      drawing.text);
}

}  // namespace assay
