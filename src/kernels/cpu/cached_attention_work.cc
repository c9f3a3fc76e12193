#include "kernels/cpu/cached_attention_work.h"

#include <algorithm>

namespace assay::cpu {
namespace {

KeptRows kept_rows(const Call& call, const Memory& memory, std::size_t cache, std::size_t scales) {
  return {memory.in<std::byte>(cache), call.in(cache).dtype, memory.in<float>(scales)};
}

}  // namespace

CachedWork cached_work(const Call& call, const Memory& memory) {
  CachedWork work;
  work.attributes = call.attributes;
  work.batch = call.in(0).shape[0];
  work.seq = call.in(0).shape[1];
  work.slots = call.in(1).shape[1];
  work.q = source_rows(call, memory, 0);
  work.k = kept_rows(call, memory, 1, 5);
  work.v = kept_rows(call, memory, 2, 6);
  work.mask = memory.in<std::uint8_t>(3);
  work.lengths = memory.in<std::int32_t>(4);
  work.sinks = memory.in<float>(7);
  work.y = sink_rows(call, memory, 0);
  return work;
}

const char* unfit_for_cache(const Call& call) {
  if (!is_vector_float(call.in(0).dtype) || !is_vector_float(call.out(0).dtype)) return "a dtype is no float";
  if (call.attributes.math != DType::f32) return "its arithmetic is to be 16 bits wide";
  if (call.attributes.scale <= 0) return "the scale is not positive";
  if (call.in(1).dtype != call.in(2).dtype) return "keys and values are kept in two dtypes";
  if (call.in(7).present && call.in(7).dtype != DType::f32) return "the sinks are not f32";
  return nullptr;
}

}  // namespace assay::cpu
