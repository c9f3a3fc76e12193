#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// body(row, i) for every element of the first input.
template <typename Body>
void for_elements(const Call& call, Body body) {
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) body(row, i);
    }
  });
}

}  // namespace

void activation_gradient(const Call& call, const Memory& memory) {
  const Reader dy = reader(call, memory, 0);
  const Reader x = reader(call, memory, 1);
  const Writer dx = writer(call, memory, 0);
  for_elements(call, [&](std::int64_t row, std::int64_t i) {
    dx.set(row, i, dy(row, i) * activation_slope(call.attributes.activation, x(row, i)));
  });
}

void gate(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Writer z = writer(call, memory, 0);
  for_elements(call, [&](std::int64_t row, std::int64_t i) {
    z.set(row, i, activate(call.attributes.activation, x(row, i)) * y(row, i));
  });
}

void clamped_gate(const Call& call, const Memory& memory) {
  const double cap = call.attributes.cap;
  const Reader x = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Writer z = writer(call, memory, 0);
  for_elements(call, [&](std::int64_t row, std::int64_t i) {
    const double h = x(row, i) > cap ? cap : x(row, i);  // NaN stays.
    const double u = std::clamp(y(row, i), -cap, cap);
    z.set(row, i, h / (1 + std::exp(-call.attributes.scale * h)) * (1 + u));
  });
}

void gate_gradient(const Call& call, const Memory& memory) {
  const Reader dz = reader(call, memory, 0);
  const Reader x = reader(call, memory, 1);
  const Reader y = reader(call, memory, 2);
  const Writer dx = writer(call, memory, 0);
  const Writer dy = writer(call, memory, 1);
  for_elements(call, [&](std::int64_t row, std::int64_t i) {
    const double given = dz(row, i);  // dx may take dz's place
    dx.set(row, i, given * y(row, i) * activation_slope(call.attributes.activation, x(row, i)));
    dy.set(row, i, given * activate(call.attributes.activation, x(row, i)));
  });
}

}  // namespace assay::reference
