#include "kernels/cuda/host/toolkit/cudnn_library.h"

#include <fmt/format.h>

#include "kernels/cuda/host/toolkit/gpu.h"
#include "kernels/cuda/host/toolkit/toolkit_library.h"

namespace assay::cuda {
namespace {

constexpr const char* cudnn_name = "libcudnn.so.9";
constexpr std::size_t oldest_cuda = 13000;  ///< That the library may be built for: as this program is.

struct Functions {
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetStream) get_stream = nullptr;
  decltype(&::cudnnGetVersion) get_version = nullptr;
  decltype(&::cudnnGetCudartVersion) get_cuda_version = nullptr;
  decltype(&::cudnnGetErrorString) error_string = nullptr;
  decltype(&::cudnnGetLastErrorString) last_error_string = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
};

Functions functions;

/// The name of the first one that the library lacks; null: it has all.
const char* find_functions(void* library) {
  if (!find_function(library, "cudnnCreate", functions.create)) return "cudnnCreate";
  if (!find_function(library, "cudnnSetStream", functions.set_stream)) return "cudnnSetStream";
  if (!find_function(library, "cudnnGetStream", functions.get_stream)) return "cudnnGetStream";
  if (!find_function(library, "cudnnGetVersion", functions.get_version)) return "cudnnGetVersion";
  if (!find_function(library, "cudnnGetCudartVersion", functions.get_cuda_version)) return "cudnnGetCudartVersion";
  if (!find_function(library, "cudnnGetErrorString", functions.error_string)) return "cudnnGetErrorString";
  if (!find_function(library, "cudnnGetLastErrorString", functions.last_error_string)) return "cudnnGetLastErrorString";
  if (!find_function(library, "cudnnBackendCreateDescriptor", functions.create_descriptor))
    return "cudnnBackendCreateDescriptor";
  if (!find_function(library, "cudnnBackendDestroyDescriptor", functions.destroy_descriptor))
    return "cudnnBackendDestroyDescriptor";
  if (!find_function(library, "cudnnBackendSetAttribute", functions.set_attribute)) return "cudnnBackendSetAttribute";
  if (!find_function(library, "cudnnBackendGetAttribute", functions.get_attribute)) return "cudnnBackendGetAttribute";
  if (!find_function(library, "cudnnBackendFinalize", functions.finalize)) return "cudnnBackendFinalize";
  if (!find_function(library, "cudnnBackendExecute", functions.execute)) return "cudnnBackendExecute";
  return nullptr;
}

std::string start_cudnn(Cudnn& library) {
  void* opened = open_toolkit_library(cudnn_name);
  if (opened == nullptr) return fmt::format("{} was not found", cudnn_name);
  if (const char* missing = find_functions(opened)) return fmt::format("{} has no {}", cudnn_name, missing);
  const std::size_t version = functions.get_version();
  library.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  if (const std::size_t cuda = functions.get_cuda_version(); cuda < oldest_cuda)
    return fmt::format("version {} is built for CUDA {}", library.version, cuda / 1000);
  cudnnStatus_t status = functions.create(&library.handle);
  if (status == CUDNN_STATUS_SUCCESS) status = functions.set_stream(library.handle, stream());
  if (status != CUDNN_STATUS_SUCCESS) return fmt::format("it does not start: {}", functions.error_string(status));
  return "";
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn library = [] {
    Cudnn started;
    started.fault = start_cudnn(started);
    return started;
  }();
  return library;
}

}  // namespace assay::cuda

// What cudnn_frontend's headers call. Its own way of opening the library would open cudart by name, too, which is
// linked statically here and need not lie on a machine otherwise.
extern "C" {

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return assay::cuda::functions.get_stream(handle, stream);
}
std::size_t cudnnGetVersion() {
  return assay::cuda::functions.get_version();
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return assay::cuda::functions.error_string(status);
}
void cudnnGetLastErrorString(char* message, std::size_t size) {
  assay::cuda::functions.last_error_string(message, size);
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return assay::cuda::functions.create_descriptor(type, descriptor);
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return assay::cuda::functions.destroy_descriptor(descriptor);
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count, const void* elements) {
  return assay::cuda::functions.set_attribute(descriptor, name, type, count, elements);
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count,
                                       void* elements) {
  return assay::cuda::functions.get_attribute(descriptor, name, type, room, count, elements);
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return assay::cuda::functions.finalize(descriptor);
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t addresses) {
  return assay::cuda::functions.execute(handle, plan, addresses);
}

}  // extern "C"
