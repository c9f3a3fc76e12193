#include "kernels/cpu/rope_table.h"

#include <cmath>
#include <mutex>
#include <vector>

namespace assay::cpu {
namespace {

std::shared_ptr<RopeTable> make_table(const Attributes& a, std::int64_t positions) {
  const bool halves = a.pairs == RotaryPairs::halves;
  auto table = std::make_shared<RopeTable>();
  table->positions = positions;
  table->columns = halves ? rotary_columns(a) / 2 : rotary_columns(a);
  const std::vector<float> frequencies = rotary_frequencies(a, positions);
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t column = 0; column < table->columns; ++column) {
      const auto pair = static_cast<std::size_t>(halves ? column : column / 2);
      const float angle = static_cast<float>(position) * frequencies[pair];
      const bool negative = (!halves && column % 2 == 0) != a.inverse;
      const double magnitude = a.rope_scaling.magnitude;
      table->cosines.push_back(static_cast<float>(magnitude * std::cos(static_cast<double>(angle))));
      table->sines.push_back(
          static_cast<float>((negative ? -magnitude : magnitude) * std::sin(static_cast<double>(angle))));
    }
  }
  return table;
}

}  // namespace

std::shared_ptr<const RopeTable> rope_table(const Attributes& attributes, std::int64_t positions) {
  struct Known {
    std::int64_t positions;
    Attributes of;
    std::weak_ptr<const RopeTable> table;
  };
  static std::mutex guard;
  static std::vector<Known> tables;  // A model has one, or two with two bases.
  Attributes of = attributes;
  of.heads = 0;  // Those of queries and of keys turn alike.
  const std::scoped_lock lock(guard);
  std::erase_if(tables, [](const Known& known) { return known.table.expired(); });
  for (const Known& known : tables) {
    if (known.positions != positions || known.of != of) continue;
    if (std::shared_ptr<const RopeTable> table = known.table.lock()) return table;
  }
  std::shared_ptr<const RopeTable> table = make_table(attributes, positions);
  tables.push_back({positions, of, table});
  return table;
}

}  // namespace assay::cpu
