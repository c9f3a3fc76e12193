#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "studies/profile/run.h"

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

}  // namespace assay
