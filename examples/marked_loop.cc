// A loop whose phases `assay measure` tells apart, in C++ (the header is C too):
//
//   c++ -O2 -Iinclude examples/marked_loop.cc -o /tmp/marked_loop && assay measure -- /tmp/marked_loop

#include <cstdio>
#include <vector>

#include "assay_markers.h"

namespace {

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

}  // namespace

int main() {
  double total = 0;
  for (int step = 0; step < 3; ++step) {
    assay_phase_begin("fill", 0);
    const std::vector<double> values(1 << 20, 1.0 + step);
    assay_phase_end("fill");
    assay_phase_begin("sum", 1 << 20);
    total += sum_of_squares(values);
    assay_phase_end("sum");
  }
  std::printf("%g\n", total);
}
