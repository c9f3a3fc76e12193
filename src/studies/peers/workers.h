#pragma once

#include <span>
#include <string_view>

namespace assay {

// The files of workers/ as they are in the source, carried in the program.
std::string_view worker_worker();
std::string_view worker_job();
std::string_view worker_network();
std::string_view worker_pytorch_peer();
std::string_view worker_pytorch_compiled_peer();
std::string_view worker_onnxruntime_peer();
std::string_view worker_openvino_peer();
std::string_view worker_openvino_run();
std::string_view worker_openvino_passes();
std::string_view worker_openvino_generation();
std::string_view worker_openvino_cache();
std::string_view worker_ctranslate2_peer();
std::string_view worker_llama_cpp_peer();

struct WorkerFile {
  const char* name;
  std::string_view (*text)();
};
constexpr WorkerFile worker_files[] = {{"worker.py", worker_worker},
                                       {"job.py", worker_job},
                                       {"network.py", worker_network},
                                       {"pytorch_peer.py", worker_pytorch_peer},
                                       {"pytorch_compiled_peer.py", worker_pytorch_compiled_peer},
                                       {"onnxruntime_peer.py", worker_onnxruntime_peer},
                                       {"openvino_peer.py", worker_openvino_peer},
                                       {"openvino_run.py", worker_openvino_run},
                                       {"openvino_passes.py", worker_openvino_passes},
                                       {"openvino_generation.py", worker_openvino_generation},
                                       {"openvino_cache.py", worker_openvino_cache},
                                       {"ctranslate2_peer.py", worker_ctranslate2_peer},
                                       {"llama_cpp_peer.py", worker_llama_cpp_peer}};

}  // namespace assay
