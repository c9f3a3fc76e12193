#include "local_names.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "sources.h"

// Files of a room are compiled together: two helpers of one name are one that belongs into a header, or two that want
// more telling names (docs/design.md).

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Rooms whose files are on the move; each leaves this list when it has settled.
const std::set<std::string> unsettled_rooms = {};

/// Compiled alone, since it is read once for each instruction set, or changes it for what follows (cmake/rooms.cmake).
bool stays_alone(const std::string& text) {
  return text.find("hwy/foreach_target.h") != std::string::npos ||
         text.find("\"kernels/cpu/micro/target.h\"") != std::string::npos;
}

TEST(LocalNames, AreOfOneFileOfARoom) {
  const fs::path src = fs::path(ASSAY_SOURCE_DIR) / "src";
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> files;
  for (const fs::path& file : project_files(src)) {
    const std::string room = room_of(fs::relative(file, src));
    if (file.extension() != ".cc" || unsettled_rooms.count(room) != 0) continue;
    const std::string text = text_of(file);
    if (stays_alone(text)) continue;
    for (const LocalName& local : local_names(text))
      files[{room, local.scope, local.name}].insert(fs::relative(file, src).string());
  }
  EXPECT_GT(files.size(), 1000U) << "the test looked in the wrong place";
  for (const auto& [name, of] : files) {
    std::string all;
    for (const std::string& file : of) all += " " + file;
    EXPECT_EQ(of.size(), 1U) << std::get<2>(name) << " is a local name of" << all;
  }
}

std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  for (const LocalName& local : local_names(text)) names.insert(local.scope + "::" + local.name);
  return names;
}

TEST(LocalNames, OfEveryKindAreFound) {
  const std::string text = R"(#include "a.h"
namespace assay {
void outside() {}
namespace cpu {
namespace {
// void commented() {}
constexpr std::int64_t count = 1'000;
const std::map<int, std::string> table = {{1, "}"}, {2, "void quoted() {"}};
constexpr char letters[] = "ab";
using Size = std::int64_t;
using namespace std;
struct Point;
enum class Colour : std::uint8_t { red, green };
class Derived final : public Base { void member(); };
template <typename T, int n = (1 > 0)>
[[nodiscard]] const T* first(std::span<T> all) { return all.data(); }
std::vector<std::pair<int, int>> pairs(int a,
                                       char c = '{');
bool operator==(Point, Point);
int Derived_size{4};
TEST(A, B) { int inside; }
}  // namespace
}  // namespace cpu
void Derived::member() {}
}  // namespace assay
)";
  EXPECT_EQ(names_in(text),
            (std::set<std::string>{"assay::cpu::count", "assay::cpu::table", "assay::cpu::letters", "assay::cpu::Size",
                                   "assay::cpu::Point", "assay::cpu::Colour", "assay::cpu::Derived",
                                   "assay::cpu::first", "assay::cpu::pairs", "assay::cpu::Derived_size"}));
}

}  // namespace
}  // namespace assay
