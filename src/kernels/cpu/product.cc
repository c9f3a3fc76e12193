#include "kernels/cpu/product.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/product_cut.h"

namespace assay::cpu {
namespace {

constexpr std::int64_t item_bytes = 4;  ///< Of a group of K.

/// Whether the loop can read rows of a where they lie: packed they would be the same. Rows that are whole multiples of
/// 4 KiB apart fall into one set of the first cache.
bool reads_in_place(const Product& product, const MatmulCode& code) {
  const Factor& a = product.a;
  const bool holds_items = a.dtype == code.operand && a.rounded == a.dtype && a.order == Factor::Order::k_contiguous;
  const bool whole_groups = product.depth > 0 && product.depth % code.group == 0;
  return holds_items && whole_groups && code.packed_width == micro::panel_width && a.stride_bytes % 4096 != 0;
}

/// Whether the result may go past the caches: whole lines, with nothing added, and more of them than the second cache
/// keeps until it is read.
bool streams(const Product& product, const MachineFacts& facts) {
  const bool is_float = product.y.dtype == DType::f32 || product.y.dtype == DType::bf16;
  const bool whole_lines = product.columns % micro::panel_width == 0 && product.y.stride_bytes % line_bytes == 0;
  std::int64_t kept = 0;
  for (const Cache& cache : facts.caches) {
    if (cache.level == 2) kept = cache.bytes;
  }
  return product.read_late && is_float && whole_lines && product.rows * product.y.stride_bytes > kept;
}

class PackedProduct final : public Kernel {
 public:
  PackedProduct(const Product& product, const MachineFacts& facts, const MatmulCode& code,
                ProductMemory (*memory)(const Memory&))
      : product_(product),
        code_(code),
        cut_(choose_cut(product, facts, code)),
        threads_(useful_threads(product.rows * product.columns * product.depth, cut_.tasks(), product.threads)),
        memory_(memory),
        in_place_(reads_in_place(product, code)),
        pack_panels_(choose_pack_panels()),
        pack_rows_(choose_pack_rows()),
        finish_(choose_finish()),
        stream_(streams(product, facts) ? choose_stream() : finish_) {}

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(threads_ * thread_bytes()); }

  void run(const Memory& memory) const override {
    if (memory.rows >= 0) return with_count(memory.rows).run({memory.inputs, memory.outputs, memory.workspace});
    if (product_.rows == 0 || product_.columns == 0) return;
    const ProductMemory tensors = memory_(memory);
    std::atomic<std::int64_t> next = 0;
    on_threads(threads_, [&](int thread, int) {
      const std::int64_t count = cut_.tasks();
      for (std::int64_t task = next++; task < count; task = next++) run_task(tensors, task, thread);
      if (stream_ != finish_) end_streams();
    });
  }

 private:
  /// The same for fewer rows of the first input: its workspace is enough.
  PackedProduct with_count(std::int64_t count) const {
    PackedProduct made = *this;
    made.product_.*product_.counted = count;
    made.cut_.row_tiles = ceil_div(made.product_.rows, cut_.rows);
    return made;
  }

  struct Task {
    const ProductMemory& tensors;
    Finish finish;
    std::byte* panels;
    std::byte* rows;
    std::byte* sums;
    std::byte* stretch;
    std::int64_t first_panel;
    std::int64_t panel_count;
    std::int64_t first_row;
    std::int64_t end_row;
  };

  // A thread's workspace: packed panels, a packed strip of rows, sums.
  /// A line more for each half that lies apart: those of neighbours would fall into the same sets of the caches.
  std::int64_t panel_bytes() const { return cut_.groups * sum_row_bytes + (halves_apart() ? 2 * line_bytes : 0); }
  bool halves_apart() const { return code_.packed_width < micro::panel_width; }
  /// One line more than the items: rows that lie a multiple of 4 KiB apart fall into one set of the first cache.
  std::int64_t row_bytes() const { return cut_.groups * item_bytes * rows_interleaved() + line_bytes; }
  std::int64_t rows_interleaved() const { return halves_apart() ? micro::avx2_rows : 1; }
  bool one_chunk() const { return cut_.groups * code_.group >= product_.depth; }
  std::int64_t panel_sums_bytes() const { return (one_chunk() ? code_.block_rows : cut_.rows) * sum_row_bytes; }
  std::int64_t packed_bytes() const { return cut_.panels * (panel_bytes() + panel_sums_bytes()) + strip_bytes(); }
  std::int64_t strip_bytes() const { return in_place_ ? 0 : ceil_div(cut_.strip, rows_interleaved()) * row_bytes(); }
  /// Behind all that, of a held weight: a stretch of it in f32, and what it takes to make that.
  std::int64_t stretch_bytes() const { return cut_.panels * cut_.groups * code_.group * sum_row_bytes; }
  std::int64_t thread_bytes() const {
    return packed_bytes() + (product_.held ? stretch_bytes() + HeldWeight::scratch_bytes : 0);
  }

  void run_task(const ProductMemory& tensors, std::int64_t index, int thread) const {
    const Cut::Task cut = cut_.task(index);
    if (cut.first_row >= product_.rows) return;
    const std::int64_t panels = ceil_div(product_.columns, micro::panel_width);
    std::byte* const scratch = tensors.workspace + thread * thread_bytes();
    const bool begins_line = reinterpret_cast<std::uintptr_t>(tensors.y) % line_bytes == 0;
    const Task task = {.tensors = tensors,
                       .finish = begins_line ? stream_ : finish_,
                       .panels = scratch,
                       .rows = scratch + cut_.panels * (panel_bytes() + panel_sums_bytes()),
                       .sums = scratch + cut_.panels * panel_bytes(),
                       .stretch = scratch + packed_bytes(),
                       .first_panel = cut.first_panel,
                       .panel_count = std::min(cut_.panels, panels - cut.first_panel),
                       .first_row = cut.first_row,
                       .end_row = std::min(cut.end_row, product_.rows)};
    const std::int64_t chunk = cut_.groups * code_.group;
    for (std::int64_t k = 0; k < std::max<std::int64_t>(product_.depth, 1); k += chunk) run_chunk(task, k);
  }

  void run_chunk(const Task& task, std::int64_t k) const {
    const std::int64_t k_count = std::min(cut_.groups * code_.group, product_.depth - k);
    const std::int64_t column = task.first_panel * micro::panel_width;
    const std::int64_t columns = std::min(task.panel_count * micro::panel_width, product_.columns - column);
    pack_b(task, {column, columns, k, k_count});
    for (std::int64_t row = task.first_row; row < task.end_row; row += cut_.strip) {
      const Stretch stretch = {row, std::min(cut_.strip, task.end_row - row), k, k_count};
      if (!in_place_) pack_a(task, stretch);
      for (std::int64_t done = 0; done < stretch.count; done += code_.block_rows) multiply_block(task, stretch, done);
    }
  }

  void pack_a(const Task& task, const Stretch& stretch) const {
    Factor a = product_.a;
    a.data = task.tensors.a;
    pack_rows_(
        a, stretch,
        {.data = task.rows, .operand = code_.operand, .row_bytes = row_bytes(), .interleaved = rows_interleaved()});
  }

  void pack_b(const Task& task, const Stretch& stretch) const {
    const Packed packed = {.data = task.panels,
                           .operand = code_.operand,
                           .row_bytes = panel_bytes() * code_.packed_width / micro::panel_width,
                           .width = code_.packed_width};
    Factor b = product_.b;
    b.data = task.tensors.b;
    if (!product_.held) return pack_panels_(b, stretch, packed);
    product_.held->read(b.data, task.tensors.scales, stretch, task.stretch + stretch_bytes(),
                        reinterpret_cast<float*>(task.stretch));
    b = {.data = task.stretch,
         .dtype = DType::f32,
         .rounded = DType::f32,
         .stride_bytes = stretch.count * item_bytes,
         .order = Factor::Order::k_strided};
    pack_panels_(b, {0, stretch.count, 0, stretch.k_count}, packed);
  }

  std::int64_t columns_from(std::int64_t column) const {
    return std::min<std::int64_t>(micro::panel_width, product_.columns - column);
  }

  const std::byte* rows_at(const Task& task, const Stretch& strip, std::int64_t done) const {
    if (!in_place_) return task.rows + done / rows_interleaved() * row_bytes();
    const Factor& a = product_.a;
    return task.tensors.a + (strip.first + done) * a.stride_bytes + strip.k * bytes_of(a.dtype);
  }

  /// Rows of the strip from `done` on, which stay in the first cache, times all panels of the task.
  void multiply_block(const Task& task, const Stretch& strip, std::int64_t done) const {
    const std::int64_t rows = std::min<std::int64_t>(code_.block_rows, strip.count - done);
    const std::int64_t row = strip.first + done;
    const bool last = strip.k + strip.k_count >= product_.depth;
    micro::Block block;
    block.a = rows_at(task, strip, done);
    block.a_stride = in_place_ ? product_.a.stride_bytes : row_bytes();
    block.groups = std::max<std::int64_t>(ceil_div(strip.k_count, code_.group), 1);
    block.sums = strip.k == 0 ? micro::Sums::start : micro::Sums::go_on;
    block.half_stride = panel_bytes() / 2;
    for (std::int64_t panel = 0; panel < task.panel_count; ++panel) {
      block.panel = task.panels + panel * panel_bytes();
      block.c = task.sums + panel * panel_sums_bytes() + (one_chunk() ? 0 : row - task.first_row) * sum_row_bytes;
      code_.multiply(block, static_cast<int>(rows));
      const std::int64_t column = (task.first_panel + panel) * micro::panel_width;
      if (last) task.finish(epilogue_at(task.tensors, row, column), block.c, rows, columns_from(column));
    }
  }

  Epilogue epilogue_at(const ProductMemory& tensors, std::int64_t row, std::int64_t column) const {
    Epilogue epilogue;
    if (tensors.bias != nullptr) epilogue.bias = shifted({tensors.bias, product_.bias}, column);
    epilogue.y = product_.y;
    epilogue.y.data = tensors.y + row * epilogue.y.stride_bytes + column * bytes_of(epilogue.y.dtype);
    if (tensors.onto == nullptr) return epilogue;
    epilogue.onto = product_.onto;
    epilogue.onto.data = tensors.onto + row * epilogue.onto.stride_bytes + column * bytes_of(epilogue.onto.dtype);
    return epilogue;
  }

  Product product_;
  MatmulCode code_;
  Cut cut_;
  int threads_;
  ProductMemory (*memory_)(const Memory&);
  bool in_place_;  ///< Rows of a are not packed.
  PackPanels pack_panels_;
  PackRows pack_rows_;
  Finish finish_;
  Finish stream_;  ///< The same where y begins with a line.
};

}  // namespace

Prepared prepare_product(const Product& product, const MachineFacts& facts, const MatmulCode& code,
                         ProductMemory (*memory)(const Memory& memory)) {
  choose_vector_target(facts);
  auto kernel = std::make_unique<PackedProduct>(product, facts, code, memory);
  Prepared prepared;
  prepared.workspace_bytes = kernel->workspace_bytes();
  prepared.kernel = std::move(kernel);
  prepared.description = std::string(code.description) +
                         (product.held ? ", from panels of the forward" : ", both factors packed as it runs");
  prepared.operand = code.operand;
  prepared.accumulator = code.accumulator;
  prepared.takes_rows = product.counted != nullptr;
  return prepared;
}

}  // namespace assay::cpu
