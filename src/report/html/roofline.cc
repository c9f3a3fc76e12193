#include "report/html/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/markup.h"
#include "report/draw/plot.h"
#include "report/html/labels.h"
#include "report/records/operated.h"

namespace assay {
namespace {

constexpr ChartFrame roofline_frame = {
    .width = 460, .height = 310, .left_margin = 62, .right_margin = 14, .top_margin = 14, .bottom_margin = 48};

/// Operations that do the same work.
struct Work {
  const LedgerRow* row = nullptr;
  int count = 0;
  double ms = 0;     ///< Sum; 0 where one of them was not timed.
  double bytes = 0;  ///< Of one.
  double intensity = 0;
  double gflops = 0;
};

struct Roof {
  double gflops = 0;
  double bytes_per_s = 0;
  double bound(double intensity) const { return std::min(gflops, intensity * bytes_per_s / 1e9); }
};

bool is_alike(const Work& a, const Operated& b) {
  return a.row->operation == b.row->operation && a.row->flops == b.row->flops && a.bytes == b.bytes &&
         a.row->kernel == b.row->kernel;
}

std::vector<Work> works_of(const Record& record) {
  std::vector<Work> works;
  for (const Operated& one : operations_of(record)) {
    if (one.row->flops <= 0 || one.bytes <= 0) continue;
    auto known = std::find_if(works.begin(), works.end(), [&](const Work& work) { return is_alike(work, one); });
    if (known == works.end())
      known = works.insert(works.end(), Work{one.row, 0, 0, one.bytes, one.row->flops / one.bytes, 0});
    ++known->count;
    known->ms += one.ms;
  }
  return works;
}

bool is_timed(const std::vector<Work>& works) {
  return std::all_of(works.begin(), works.end(), [](const Work& work) { return work.ms > 0; });
}

/// Draws the roofline of one record.
class RooflineChart {
 public:
  RooflineChart(const Record& record, std::vector<Work> works, Roof roof)
      : record_(record),
        works_(std::move(works)),
        roof_(roof),
        drawing_(roofline_frame.width, roofline_frame.height),
        timed_(is_timed(works_)) {
    for (Work& work : works_) {
      work.gflops = timed_ ? work.row->flops * work.count / work.ms / 1e6 : roof_.bound(work.intensity);
    }
    choose_axes();
  }

  std::string draw() {
    draw_axes();
    draw_roof();
    draw_works();
    return drawing_.markup(fmt::format("Roofline of {} in {}", record_.setting.model, record_.setting.precision),
                           description_);
  }

  std::string caption() const {
    const std::string size = "size of a mark is alike; the largest consumers of time are named";
    const std::string what =
        timed_
            ? "marks: operations, each timed in a traced run; " + size
            : "marks: operations by their arithmetic intensity, placed at their bound: they were not timed one by one";
    return fmt::format("roof: {:.1f} GB/s measured from memory, {:.0f} GFLOP/s: {}; {}", roof_.bytes_per_s / 1e9,
                       roof_.gflops, record_.evidence.peak_kind.value_or("peak"), what);
  }

 private:
  void choose_axes() {
    double low_x = roof_.gflops * 1e9 / roof_.bytes_per_s;  // The ridge is always in sight.
    double high_x = low_x;
    double low_y = roof_.gflops;
    double high_y = roof_.gflops;
    for (const Work& work : works_) {
      low_x = std::min(low_x, work.intensity);
      high_x = std::max(high_x, work.intensity);
      low_y = std::min(low_y, work.gflops);
      high_y = std::max(high_y, work.gflops);
    }
    x_ = make_axis(ScaleKind::logarithmic, {low_x / 2, high_x * 3, roofline_frame.left(), roofline_frame.right(), 6});
    y_ = make_axis(ScaleKind::logarithmic, {low_y / 2, high_y * 2, roofline_frame.bottom(), roofline_frame.top(), 6});
  }

  void draw_axes() {
    for (const double tick : x_.ticks) {
      drawing_.line(x_.at(tick), roofline_frame.top(), x_.at(tick), roofline_frame.bottom(), "grid");
      drawing_.text(x_.at(tick), roofline_frame.bottom() + 15, Anchor::middle, plain_number(tick), "tick");
    }
    for (const double tick : y_.ticks) {
      drawing_.line(roofline_frame.left(), y_.at(tick), roofline_frame.right(), y_.at(tick), "grid");
      drawing_.text(roofline_frame.left() - 6, y_.at(tick) + 4, Anchor::end, plain_number(tick), "tick");
    }
    drawing_.path(fmt::format("M{0} {1}V{2}H{3}", roofline_frame.left(), roofline_frame.top(), roofline_frame.bottom(),
                              roofline_frame.right()),
                  "axis");
    drawing_.text(roofline_frame.middle_x(), roofline_frame.height - 8, Anchor::middle, "arithmetic intensity, FLOP/B");
    drawing_.vertical_text(14, roofline_frame.middle_y(), "GFLOP/s");
  }

  void draw_roof() {
    const double ridge = roof_.gflops * 1e9 / roof_.bytes_per_s;
    double start = x_.low;
    if (roof_.bound(start) < y_.low) start = y_.low * 1e9 / roof_.bytes_per_s;
    drawing_.path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}", x_.at(start), y_.at(roof_.bound(start)),
                              x_.at(ridge), y_.at(roof_.gflops), roofline_frame.right()),
                  "roof");
  }

  void draw_works() {
    Labels labels(roofline_frame.left() + 2, roofline_frame.top(), roofline_frame.width - 2, roofline_frame.bottom());
    for (const Work& work : works_) labels.add_point(x_.at(work.intensity), y_.at(work.gflops));
    std::stable_sort(works_.begin(), works_.end(), [](const Work& a, const Work& b) { return a.ms > b.ms; });
    constexpr std::size_t most_names = 8;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const Work& work = works_[i];
      std::string words = fmt::format("{} x {} ({}): {} FLOP/B, {} GFLOP/s", work.count, work.row->operation,
                                      work.row->role, plain_number(work.intensity), plain_number(work.gflops));
      if (timed_) words += fmt::format(", {} ms together", plain_number(work.ms));
      const bool product = multiplies(*work.row);
      drawing_.mark(x_.at(work.intensity), y_.at(work.gflops), product ? 0 : 3, product ? "s0" : "s1", words);
      description_ += (description_.empty() ? "" : "; ") + words;
      const std::string text =
          work.count > 1 ? fmt::format("{} x {}", work.count, work.row->operation) : work.row->operation;
      if (i < most_names) labels.place(drawing_, x_.at(work.intensity), y_.at(work.gflops), text);
    }
  }

  const Record& record_;
  std::vector<Work> works_;
  Roof roof_;
  Drawing drawing_;
  bool timed_;
  Axis x_;
  Axis y_;
  std::string description_;
};

}  // namespace

std::string roofline_html(const Record& record) {
  const std::string heading =
      fmt::format("<figure class=\"card wide\"><h4>{}, {} x {}</h4>", markup_text(record.setting.precision),
                  record.setting.batch, record.setting.seq);
  const std::vector<Work> works = works_of(record);
  const double peak = record.evidence.matmul_peak_gflops.value_or(record.evidence.peak_gflops.value_or(0));
  const double bandwidth = record.evidence.bandwidth_bytes_per_s.value_or(0);
  std::string why;
  if (works.empty()) why = "the ledger holds no FLOPs and bytes of single operations";
  if (peak <= 0 || bandwidth <= 0) why = "this machine's peak and bandwidth were not measured";
  if (!why.empty()) return fmt::format("{}<p class=\"none\">{}</p></figure>\n", heading, why);
  RooflineChart chart(record, works, {peak, bandwidth});
  const std::string drawn = chart.draw();
  return fmt::format("{}{}<figcaption>circles: matrix products; diamonds: other operations; {}</figcaption></figure>\n",
                     heading, drawn, markup_text(chart.caption()));
}

}  // namespace assay
