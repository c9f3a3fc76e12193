#include "hardware/host.h"

#include <gtest/gtest.h>

#include "base/testing.h"
#include "hardware/recorded_tree.h"

namespace assay {
namespace {

TEST(Host, NameAndIdComeFromTheSystem) {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  EXPECT_EQ(read_host(root).name, "");
  EXPECT_EQ(read_host(root).id, "");
  write_text(root / "proc/sys/kernel/hostname", "node07\n");
  write_text(root / "etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  const HostFacts host = read_host(root);
  EXPECT_EQ(host.name, "node07");
  EXPECT_EQ(host.id.size(), 16U);
  EXPECT_EQ(host.id.find("0123456789abcdef"), std::string::npos) << "the system's id stays its own";
  EXPECT_EQ(read_host(root).id, host.id);
}

TEST(Host, CopiesOfAnImageAreToldApartByTheirCards) {
  const TemporaryFolder folder;
  const std::filesystem::path one = folder.path() / "one";
  const std::filesystem::path other = folder.path() / "other";
  for (const auto& root : {one, other}) write_text(root / "etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  EXPECT_EQ(read_host(one).id, read_host(other).id);
  write_text(one / "sys/class/net/eth0/address", "52:54:00:00:00:01\n");
  EXPECT_EQ(read_host(one).id, read_host(other).id) << "a card without a device is drawn anew with each container";
  write_text(one / "sys/class/net/eth0/device/vendor", "0x1af4\n");
  EXPECT_NE(read_host(one).id, read_host(other).id);
}

}  // namespace
}  // namespace assay
