#include "kernels/cpu/stripe_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/shares.h"
#include "kernels/cpu/stripe_rows.h"

namespace assay::cpu {
namespace {

/// Stripes of 8 bits with a scale and a minimum for 32 or 16 inputs, as which formats that are not re-laid are read.
constexpr StripeLayout decoded_layout = {
    .bits = 8, .scales = StripeScales::f32_minimum, .has_zero = false, .zero = 128};
constexpr std::int64_t decoded_header_bytes = 2 * stripe_rows * 4;
constexpr micro::StripeShape decoded_shape = {.layout = decoded_layout,
                                              .stretches = 1,
                                              .groups = 1,
                                              .zero_at = 0,
                                              .header_bytes = decoded_header_bytes,
                                              .bytes = decoded_header_bytes + stripe_rows * stretch_values};

/// Four codes of a row's part, as they lie among vectors; of others' inputs they stay zero.
void put_part(const GroupedCodes& codes, std::int64_t first, std::int64_t row, std::byte* vectors) {
  for (std::int64_t i = 0; i < stretch_values; i += 4) {
    std::uint32_t four;
    std::memcpy(&four, codes.codes.data() + first + i, 4);
    four ^= 0x80808080U;
    std::memcpy(vectors + (i / 4 * 2 + row / 16) * 64 + row % 16 * 4, &four, 4);
  }
}

/// Leaves of a stretch's codes those of one half: the others become zero, which is 128.
void keep_half(std::int64_t half, std::byte* vectors) {
  constexpr std::size_t half_bytes = stripe_rows * stretch_values / 2;
  std::memset(vectors + (half == 0 ? half_bytes : 0), 0x80, half_bytes);
}

/// Whether its panels are blocks as they are.
bool is_not_laid(const BlockFormat& format) {
  return !stripe_layout(format).has_value();
}

/// Whether a panel is decoded before it is multiplied.
bool is_decoded(const BlockFormat& format, const StripeCode& code) {
  return is_not_laid(format) && !code.reads_blocks;
}

/// Of a stretch: 2 where scales are of 16 inputs.
std::int64_t parts_of(const BlockFormat& format) {
  return is_not_laid(format) && format.group < stretch_values ? stretch_values / format.group : 1;
}

/// One block of 32 rows, `stripe` as its format has it, to stripes of decoded_shape.
void decode_stripe(const BlockFormat& format, const std::byte* stripe, std::byte* decoded) {
  const std::int64_t parts = parts_of(format);
  const std::int64_t all = format.elements / stretch_values * parts;
  for (std::int64_t row = 0; row < stripe_rows; ++row) {
    GroupedCodes codes;
    format.decode(stripe + row * format.bytes, codes);
    for (std::int64_t part = 0; part < all; ++part) {
      std::byte* const to = decoded + part * decoded_shape.bytes;
      auto* const scales = reinterpret_cast<float*>(to);
      const auto group = static_cast<std::size_t>(part * stretch_values / parts / format.group);
      scales[row] = codes.scales[group];
      scales[stripe_rows + row] = codes.minima[group];
      put_part(codes, part / parts * stretch_values, row, to + decoded_header_bytes);
    }
  }
  for (std::int64_t part = 0; part < all && parts == 2; ++part)
    keep_half(part % 2, decoded + part * decoded_shape.bytes + decoded_header_bytes);
}

micro::StripeShape shape_of_stripes(const BlockFormat& format, const StripeCode& code) {
  if (!is_not_laid(format)) return micro::stripe_shape(format, *stripe_layout(format));
  micro::StripeShape shape = decoded_shape;
  shape.format = &format;
  if (code.reads_blocks) shape.layout.zero = *micro::zero_of_small_codes(format);
  return shape;
}

class StripeMatmul final : public Kernel {
 public:
  StripeMatmul(const LinearCall& call, const StripeCode& code)
      : call_(call),
        code_(code),
        packing_(panels_of(*call.blocks)),
        shape_(shape_of_stripes(*call.blocks, code)),
        rows_({.dtype = call.x,
               .in = call.in,
               .x_stride = call.x_stride,
               .order = code.rows,
               .zero = shape_.layout.zero,
               .parts = parts_of(*call.blocks)}),
        panels_(ceil_div(call.out, micro::panel_width)),
        row_bytes_(call.blocks->bytes_of(call.in)),
        panel_bytes_(stripe_offset(packing_, row_bytes_, micro::panel_width, 0)),
        decoded_bytes_(is_decoded(*call.blocks, code) ? decoded_panel_bytes() : 0),
        task_panels_(panels_of_task()),
        task_rows_(rows_of_task()),
        threads_(useful_threads(call.rows * call.in * call.out, tasks_of(call.rows), call.threads)),
        copies_(call.rows <= micro::float_stripe_rows ? threads_ : 1),
        shares_(threads_),
        finish_(choose_finish()) {}

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(copies_ * rows_.bytes(call_.rows) + threads_ * decoded_bytes_);
  }

  void run(const Memory& memory) const override {
    const LinearMemory tensors = linear_memory(call_, memory);
    if (tensors.rows == 0 || call_.out == 0) return;
    are_few() ? run_few(tensors) : run_many(tensors);
  }

 private:
  /// Rows that each thread prepares for itself, so that nobody waits; panels then come at memory's rate.
  bool are_few() const { return call_.rows <= micro::float_stripe_rows; }

  /// A thread's panels lie side by side.
  void run_few(const LinearMemory& tensors) const {
    shares_.deal(panels_);
    on_threads(threads_, [&](int thread, int) {
      ask_for_first_lines(tensors.weight + panels_ * thread / threads_ * panel_bytes_);
      const PreparedRows rows = rows_.place(tensors, tensors.workspace + thread * rows_.bytes(call_.rows));
      rows_.prepare(tensors, rows, 0, tensors.rows);
      for (std::int64_t panel = shares_.take(thread); panel != Shares::none; panel = shares_.take(thread))
        multiply_panel(tensors, rows, {panel, 0, tensors.rows}, decoded_of(tensors, thread));
    });
  }

  /// All threads prepare all rows together, and take turns at tasks.
  void run_many(const LinearMemory& tensors) const {
    std::atomic<std::int64_t> next = 0;
    Barrier prepared;
    on_threads(threads_, [&](int thread, int threads) {
      const PreparedRows rows = rows_.place(tensors, tensors.workspace);
      rows_.prepare(tensors, rows, tensors.rows * thread / threads, tensors.rows * (thread + 1) / threads);
      prepared.wait(threads);
      const std::int64_t count = tasks_of(tensors.rows);
      for (std::int64_t task = next++; task < count; task = next++)
        run_task(tensors, rows, task, decoded_of(tensors, thread));
    });
  }

  std::byte* decoded_of(const LinearMemory& tensors, int thread) const {
    return tensors.workspace + copies_ * rows_.bytes(call_.rows) + thread * decoded_bytes_;
  }

  std::int64_t decoded_panel_bytes() const {
    const std::int64_t blocks = row_bytes_ / call_.blocks->bytes;
    return blocks * call_.blocks->elements / stretch_values * parts_of(*call_.blocks) * decoded_shape.bytes;
  }
  /// Some 64 KiB, so that taking a task costs nothing beside it, and enough tasks for threads that wait for no other.
  std::int64_t panels_of_task() const {
    constexpr std::int64_t task_bytes = 64 * 1024;
    const std::int64_t even = panels_ / (4 * std::max(call_.threads, 1));
    return std::clamp<std::int64_t>(std::min(task_bytes / std::max<std::int64_t>(panel_bytes_, 1), even), 1, panels_);
  }
  /// Rows stay in the second cache while panels pass by.
  std::int64_t rows_of_task() const {
    constexpr std::int64_t second_cache_share = 512 * 1024;
    const std::int64_t fit = second_cache_share / std::max<std::int64_t>(rows_.stride(), 1);
    return round_up(std::clamp<std::int64_t>(fit, code_.block_rows, 256), code_.block_rows);
  }
  std::int64_t panel_tasks() const { return ceil_div(panels_, task_panels_); }
  std::int64_t tasks_of(std::int64_t rows) const { return panel_tasks() * ceil_div(rows, task_rows_); }

  void run_task(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t task, std::byte* decoded) const {
    const std::int64_t first_panel = task % panel_tasks() * task_panels_;
    const std::int64_t first_row = task / panel_tasks() * task_rows_;
    const std::int64_t end_row = std::min(first_row + task_rows_, tensors.rows);
    for (std::int64_t panel = first_panel; panel < std::min(first_panel + task_panels_, panels_); ++panel)
      multiply_panel(tensors, rows, {panel, first_row, end_row}, decoded);
  }

  /// Rows [first_row, end_row) by a panel.
  struct PanelRows {
    std::int64_t panel;
    std::int64_t first_row;
    std::int64_t end_row;
  };

  void multiply_panel(const LinearMemory& tensors, const PreparedRows& rows, const PanelRows& of,
                      std::byte* decoded) const {
    const std::byte* const stripes = panel_at(tensors, of.panel, decoded);
    for (std::int64_t row = of.first_row; row < of.end_row; row += code_.block_rows)
      multiply(tensors, rows, {of.panel, stripes, row, std::min<std::int64_t>(code_.block_rows, of.end_row - row)});
  }

  const std::byte* panel_at(const LinearMemory& tensors, std::int64_t panel, std::byte* decoded) const {
    const std::byte* const stored = tensors.weight + panel * panel_bytes_;
    if (decoded_bytes_ == 0) return stored;
    const BlockFormat& format = *call_.blocks;
    const std::int64_t blocks = row_bytes_ / format.bytes;
    const std::int64_t bytes = decoded_bytes_ / std::max<std::int64_t>(blocks, 1);
    for (std::int64_t block = 0; block < blocks; ++block)
      decode_stripe(format, stored + block * stripe_rows * format.bytes, decoded + block * bytes);
    return decoded;
  }

  struct Part {
    std::int64_t panel;
    const std::byte* stripes;
    std::int64_t row;
    std::int64_t count;
  };

  void multiply(const LinearMemory& tensors, const PreparedRows& rows, const Part& part) const {
    alignas(64) float sums[micro::integer_stripe_rows * micro::panel_width];
    micro::StripeBlock block = {.shape = shape_, .panel = part.stripes};
    rows_.point_at(rows, part.row, block);
    block.c = sums;
    code_.multiply(block, static_cast<int>(part.count));
    const std::int64_t n = part.panel * micro::panel_width;
    finish_(epilogue_at(tensors, part.row, n), reinterpret_cast<const std::byte*>(sums), part.count,
            std::min<std::int64_t>(micro::panel_width, call_.out - n));
  }

  Epilogue epilogue_at(const LinearMemory& tensors, std::int64_t row, std::int64_t n) const {
    Epilogue epilogue;
    if (call_.has_bias) epilogue.bias = shifted({tensors.bias, call_.bias}, n);
    epilogue.activation = call_.activation;
    const std::int64_t size = bytes_of(call_.y);
    epilogue.y = {.data = tensors.y + (row * call_.y_stride + n) * size,
                  .dtype = call_.y,
                  .stride_bytes = call_.y_stride * size,
                  .factor = sink_factor(call_.y_scale)};
    return epilogue;
  }

  LinearCall call_;
  StripeCode code_;
  Packing packing_;
  micro::StripeShape shape_;
  StripeRowsOf rows_;
  std::int64_t panels_;
  std::int64_t row_bytes_;
  std::int64_t panel_bytes_;
  std::int64_t decoded_bytes_;
  std::int64_t task_panels_;
  std::int64_t task_rows_;
  int threads_;
  std::int64_t copies_;  ///< Of the prepared rows.
  mutable Shares shares_;
  Finish finish_;
};

const char* unfit_for_stripes(const LinearCall& call, const StripeCode& code) {
  if (const char* why = unfit_for_panels(call, panels_of(*call.blocks))) return why;
  if (code.reads_blocks && !micro::zero_of_small_codes(*call.blocks)) return "its codes are not small ones";
  if (is_decoded(*call.blocks, code) && code.operand != DType::s8) return "its blocks are not laid out for it";
  return nullptr;
}

}  // namespace

Offer prepare_stripes(const LinearCall& call, const MachineFacts& facts, const StripeCode& code) {
  if (const char* why = unfit_for_stripes(call, code)) return Declined{why};
  choose_vector_target(facts);
  auto kernel = std::make_unique<StripeMatmul>(call, code);
  Prepared prepared;
  prepared.workspace_bytes = kernel->workspace_bytes();
  prepared.kernel = std::move(kernel);
  prepared.description =
      fmt::format("{} by {} in panels of {}{}", code.description, call.blocks->name, micro::panel_width,
                  is_decoded(*call.blocks, code) ? ", decoded to 8 bits first" : "");
  prepared.takes_rows = true;
  prepared.operand = code.operand;
  prepared.accumulator = code.accumulator;
  prepared.packing.resize(static_cast<std::size_t>(call.places.weight) + 1);
  prepared.packing.back() = panels_of(*call.blocks);
  return prepared;
}

}  // namespace assay::cpu
