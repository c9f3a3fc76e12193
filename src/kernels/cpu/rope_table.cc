#include "kernels/cpu/rope_table.h"

#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace assay::cpu {
namespace {

std::shared_ptr<RopeTable> make_table(const Attributes& a, std::int64_t positions) {
  const bool halves = a.pairs == RotaryPairs::halves;
  auto table = std::make_shared<RopeTable>();
  table->positions = positions;
  table->columns = halves ? a.head_dim / 2 : a.head_dim;
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t column = 0; column < table->columns; ++column) {
      const std::int64_t pair = halves ? column : column / 2;
      const float angle = static_cast<float>(position) * rotary_frequency(a, pair);
      const bool negative = (!halves && column % 2 == 0) != a.inverse;
      table->cosines.push_back(static_cast<float>(std::cos(static_cast<double>(angle))));
      table->sines.push_back(static_cast<float>((negative ? -1 : 1) * std::sin(static_cast<double>(angle))));
    }
  }
  return table;
}

}  // namespace

std::shared_ptr<const RopeTable> rope_table(const Attributes& attributes, std::int64_t positions) {
  using Key = std::tuple<std::int64_t, std::int64_t, double, RotaryPairs, bool>;
  static std::mutex guard;
  static std::map<Key, std::weak_ptr<const RopeTable>> tables;
  const std::scoped_lock lock(guard);
  std::weak_ptr<const RopeTable>& known =
      tables[{positions, attributes.head_dim, attributes.rope_theta, attributes.pairs, attributes.inverse}];
  if (std::shared_ptr<const RopeTable> table = known.lock()) return table;
  std::shared_ptr<const RopeTable> table = make_table(attributes, positions);
  known = table;
  return table;
}

}  // namespace assay::cpu
