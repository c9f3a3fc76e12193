#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/coded_matrix.h"
#include "model/weights.h"

namespace assay {

/// What the tensors are that make up one quantised weight.
enum class Part : std::uint8_t {
  codes,
  scales,
  zeros,
  groups,         ///< Of each input.
  shape,          ///< Of the whole weight.
  global,         ///< A scale for all.
  table,          ///< What codes stand for.
  nested_scales,  ///< Of the scales, where they are codes themselves,
  nested_table,   ///< and what those stand for.
  state,          ///< A JSON text.
  order           ///< How codes lie.
};
constexpr std::size_t part_count = static_cast<std::size_t>(Part::order) + 1;

/// What stands behind the weight's name in theirs, with the dot; null where a method has none of that kind.
using PartEndings = std::array<const char*, part_count>;

/// The tensors of one weight.
class Parts {
 public:
  Parts(const std::map<std::string, Weight>& tensors, const std::string& base, const PartEndings& endings);

  /// null where there is none.
  const Weight* find(Part part) const;
  /// Throws a user error that names what it should stand beside.
  const Weight& need(Part part) const;

 private:
  std::string base_;
  PartEndings endings_;
  std::array<std::optional<Weight>, part_count> parts_;
};
/// As long as something may read them.
using KeptParts = std::shared_ptr<const Parts>;

/// One weight of checked parts; its codes and scales are read when they are asked for.
struct Joined {
  Shape shape;        ///< (out, in)
  std::string title;  ///< What is shown of its dtype: "GPTQ int4 g128".
  std::function<CodedMatrix()> matrix;
  const CodedFormat* format = nullptr;  ///< That holds it as it is; null where none does.
};

/// CodedMatrix::read of codes that are a byte each, row behind row.
std::function<void(std::int64_t, std::int64_t, std::uint8_t*)> codes_as_bytes(const KeptParts& parts, std::int64_t in);

[[noreturn]] void fail_part(const Weight& weight, const std::string& what);
/// `stored` may be null: any dtype.
void check_shape(const Weight& weight, const Shape& wanted, const char* stored);
/// Of any float dtype; all finite.
std::vector<float> floats_of(const Weight& weight);
std::vector<std::uint8_t> bytes_of(const Weight& weight);
/// "int4 g128"; a group of 0 is not said.
std::string title_of(const std::string& kind, std::int64_t group);
/// The narrowest in which a format may hold them.
DType scale_dtype(const Weight& scales);
/// How many of `each` cover `count`.
constexpr std::int64_t pieces(std::int64_t count, std::int64_t each) {
  return (count + each - 1) / each;
}

}  // namespace assay
