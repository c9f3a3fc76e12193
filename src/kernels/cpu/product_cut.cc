#include "kernels/cpu/product_cut.h"

namespace assay::cpu {
namespace {

bool multiplies_tiles(const MatmulCode& code) {
  return code.block_rows > micro::avx2_strip_rows;
}

/// What packing an item costs, or reading it where it lies, counted in multiply-adds of one vector: most of it is
/// waiting for memory. Fitted on Zen 4, with others at its caches. Reading against the order of the packed block takes
/// a transposition. Tiles multiply so fast that everything else counts for more (estimated).
struct PackingCost {
  double a = 0;
  double b = 0;
};

PackingCost packing_cost(const Product& product, const MatmulCode& code) {
  constexpr double widened = 1.5;  // and transposed, and then packed: estimated
  // Interleaved rows (on Zen 3) are written in pieces of 8 and 16 bytes either way.
  if (code.packed_width < micro::panel_width) return {0.4, product.held ? widened : 0.3};
  const double scale = multiplies_tiles(code) ? 8 : 1;
  const double narrowed = bytes_of(product.b.dtype) > bytes_of(code.operand) ? 1.0 : 0;
  const double a = product.a.order == Factor::Order::k_strided ? 0.5 : 0.3;
  const double b = product.b.order == Factor::Order::k_contiguous ? 0.8 : 0.5;
  return {scale * a, scale * (product.held ? widened : b + narrowed)};
}

/// Time of the whole product under that cut, where 1 is multiplying alone on all threads. Threads end within a piece of
/// one another, half of one on average, unless their whole tiles take longer.
double cost(const Cut& cut, const Product& product, const PackingCost& packing) {
  constexpr double vectors = micro::panel_width / 16.0;
  const auto threads = static_cast<double>(product.threads);
  const auto tiles = static_cast<double>(cut.tiles());
  const double packed_rows =
      static_cast<double>(product.rows * cut.panel_tiles) / static_cast<double>(cut.tasks());  // on average
  const double packing_a = packing.a / (vectors * static_cast<double>(cut.panels));
  const double packing_b = packing.b * 16 / packed_rows;
  const double last = cut.split() > 0 ? 1.0 / static_cast<double>(cut.pieces()) : 1.0;
  const double even = tiles / threads + (product.threads > 1 ? last / 2 : 0);
  const auto whole = static_cast<double>(ceil_div(cut.tiles() - cut.split(), product.threads));
  return (1 + packing_a + packing_b) * std::max(even, whole) * threads / tiles;
}

/// Equal parts of K: a dozen rows of one and the panel that passes by share the caches. Tiles lose more by loading and
/// storing sums than by panels that pass by from the second cache.
std::int64_t chunk_groups(const Product& product, const MatmulCode& code) {
  constexpr std::int64_t most = 768;
  constexpr std::int64_t most_by_tiles = 512;
  const std::int64_t groups = std::max<std::int64_t>(ceil_div(product.depth, code.group), 1);
  const std::int64_t fit = multiplies_tiles(code) ? most_by_tiles : std::min(most, code.chunk / code.group);
  return round_up(ceil_div(groups, ceil_div(groups, fit)), 16);
}

/// What packed panels, or sums, may take of the second cache: half of it, but no less than 512 KiB where it has them.
/// Rows that pass by tiles where they lie need more of the rest.
std::int64_t second_cache_share(const Product& product, const MachineFacts& facts, const MatmulCode& code) {
  constexpr std::int64_t enough = 512 * 1024;
  const bool passes_rows = multiplies_tiles(code) && product.a.order == Factor::Order::k_contiguous;
  const std::int64_t most = passes_rows ? enough : 768 * 1024;
  std::int64_t share = most;
  for (const Cache& cache : facts.caches) {
    if (cache.level == 2) share = std::min(most, std::max(cache.bytes / 2, std::min(cache.bytes, enough)));
  }
  return std::max<std::int64_t>(share, 128 * 1024);
}

/// Rows that are packed together. Of a K that is strided, whole lines of memory hold them.
std::int64_t strip_rows(const Product& product, const MatmulCode& code) {
  const std::int64_t rows =
      product.a.order == Factor::Order::k_strided ? 3 * line_bytes / bytes_of(product.a.dtype) : 48;
  return std::max<std::int64_t>(rows, code.block_rows);
}

}  // namespace

Cut choose_cut(const Product& product, const MachineFacts& facts, const MatmulCode& code) {
  constexpr std::int64_t pieces_of_a_tile = 4;
  const std::int64_t share = second_cache_share(product, facts, code);
  const PackingCost packing = packing_cost(product, code);
  Cut cut;
  cut.groups = chunk_groups(product, code);
  cut.strip = strip_rows(product, code);
  const std::int64_t unit = product.a.order == Factor::Order::k_strided ? cut.strip : code.block_rows;
  const std::int64_t units = std::max<std::int64_t>(ceil_div(product.rows, unit), 1);
  const std::int64_t panels = std::max<std::int64_t>(ceil_div(product.columns, micro::panel_width), 1);
  const bool sums_last = ceil_div(product.depth, code.group) > cut.groups;
  Cut best;
  double best_time = 0;
  for (cut.panels = 1; cut.panels * cut.groups * sum_row_bytes <= share && cut.panels <= panels; ++cut.panels) {
    cut.panel_tiles = ceil_div(panels, cut.panels);
    // From all rows down to a unit, each size once that some number of tiles has.
    for (std::int64_t together = units; together > 0;) {
      cut.rows = together * unit;
      cut.row_tiles = ceil_div(units, together);
      together = together > 1 ? ceil_div(units, ceil_div(units, together - 1)) : 0;
      if (sums_last && cut.rows > unit && cut.panels * cut.rows * sum_row_bytes > share) continue;
      for (const std::int64_t pieces : {std::int64_t{1}, pieces_of_a_tile}) {
        cut.piece_rows = round_up(ceil_div(cut.rows, pieces), unit);
        cut.split_tiles = pieces == 1 ? 0 : product.threads;
        const double time = cost(cut, product, packing);
        if (best.rows > 0 && time >= best_time) continue;
        best = cut;
        best_time = time;
      }
    }
  }
  return best;
}

}  // namespace assay::cpu
