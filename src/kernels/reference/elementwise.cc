#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

template <typename Function>
void of_each(const Call& call, const Memory& memory, Function function) {
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) y.set(row, i, function(x(row, i)));
    }
  });
}

template <typename Combine>
void element_by_element(const Call& call, const Memory& memory, Combine combine) {
  const Reader x = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Writer z = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) z.set(row, i, combine(x(row, i), y(row, i)));
    }
  });
}

}  // namespace

void add(const Call& call, const Memory& memory) {
  element_by_element(call, memory, [](double x, double y) { return x + y; });
}

void multiply(const Call& call, const Memory& memory) {
  element_by_element(call, memory, [](double x, double y) { return x * y; });
}

void affine(const Call& call, const Memory& memory) {
  of_each(call, memory, [&](double x) { return call.attributes.scale * x + call.attributes.shift; });
}

void soft_cap(const Call& call, const Memory& memory) {
  of_each(call, memory, [&](double x) { return soft_capped(x, call.attributes.cap); });
}

void soft_cap_gradient(const Call& call, const Memory& memory) {
  element_by_element(call, memory, [&](double dy, double y) { return dy * soft_cap_slope(y, call.attributes.cap); });
}

}  // namespace assay::reference
