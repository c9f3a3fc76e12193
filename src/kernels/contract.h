#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

/// The contract suite: every kernel of every backend against the reference, over dtypes and shapes.
namespace assay::contract {

/// How an input's values are made. Always the same ones: Philox, keyed by the input's place.
enum class Fill : std::uint8_t {
  normal,        ///< standard normal, rounded to the dtype
  weights,       ///< normal / sqrt(width): dot products with normal rows are about 1, as in models
  around_one,    ///< 1 + normal / 10: gains
  small,         ///< positive, about 0.01: scales
  whole,         ///< -127 .. 127
  magnitudes,    ///< +-2^-10 .. 448, every power of two about as often: the range of e4m3
  ids,           ///< rows of the second input
  few_ids,       ///< 0 .. 19, so that each comes several times
  labels,        ///< 0 .. width of the first input - 1, every third -100
  right_padded,  ///< 1 and then 0, at least one 1 in each row
  left_padded,
  holes,       ///< 0 and 1 at random; the last row all 0
  blocks,      ///< of attributes.blocks: any bytes whose values are within 4
  lengths,     ///< tokens held: of caches that are the call's last inputs, from none to as many as leave room
  offsets,     ///< rising from 0 to the rows of the first input: the first stretches are empty or short
  reversed,    ///< the last row's number first
  with_zeros,  ///< normal, but every third row is all 0
  codes        ///< 0 .. 255
};

/// One call and how to fill it.
struct Case {
  std::string label;
  Call call;
  std::vector<Fill> fills;
};

/// The cases of an operation: dtypes x shapes, among them odd widths, one row, empty batches and windows.
std::vector<Case> cases_of(const Operation& operation);

/// What came of a case: whether an implementation took it, and in words how it broke the contract ("" if it did not).
struct Outcome {
  bool ran = false;
  std::string broken;
};

/// A case with its inputs made, ready to be run by any number of implementations; the reference runs once.
class CaseRun {
 public:
  explicit CaseRun(const Case& one);
  ~CaseRun();
  /// Runs the case through that implementation and compares with the reference.
  ///
  /// Allowed between them, relative to the largest |reference| of the row (of the output, below 8 columns
  /// or where the kernel says so, Prepared::errors_of): f32 2^-16,
  /// f16 and tf32 2^-9, bf16 2^-6, whichever is the widest among the output's dtype, the kernel's operands and its
  /// accumulator; four times that of a 16-bit attributes.math, which rounds a row's sum at every step; with operands of
  /// e4m3 2^-9, since a GPU adds their products with some 14 bits. s8 outputs may differ by 1, e4m3 ones not at all.
  /// Nothing may be written outside the output's rows, and every result must be finite. The same where outputs lie on
  /// inputs, as plans and updates let them. `device`: where the implementation's tensors lie; on a GPU a second run
  /// must make the same bits.
  Outcome compare(const Implementation& implementation, const MachineFacts& facts,
                  const Device& device = host_device());
  /// What the kernel writes, by output, guards included; then the same where outputs lie on inputs.
  std::vector<std::vector<std::byte>> outputs(Prepared prepared, const Device& device = host_device());

 private:
  void make_inputs();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::contract
