#include "kernels/cuda/products.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

Offer decline() {
  return Declined{"cuBLASLt runs on a GPU"};
}

}  // namespace

Offer prepare_library_linear(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_quantized_linear(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_linear_input_gradient(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_linear_weight_gradient(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_attention_scores(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_attention_context(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_attention_context_transposed(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_attention(const Call&, const MachineFacts&) {
  return decline();
}
Offer prepare_library_attention_gradient(const Call&, const MachineFacts&) {
  return decline();
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
