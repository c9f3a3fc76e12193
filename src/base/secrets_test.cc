#include "base/secrets.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Secrets, UserInformationOfAnAddressIsHidden) {
  EXPECT_EQ(without_secrets("http://admin:p@ss:w@192.0.2.7:80/rpc"), "http://***@192.0.2.7:80/rpc");
  EXPECT_EQ(without_secrets("http://token@plug/"), "http://***@plug/");
  EXPECT_EQ(without_secrets("http://u:a/b@plug:80/x"), "http://***@plug:80/x") << "a slash in the password";
  EXPECT_EQ(without_secrets("http://plug:80/x"), "http://plug:80/x");
  EXPECT_EQ(without_secrets("https://[2001:db8::1]/x@y"), "https://[2001:db8::1]/x@y") << "a path may have an @";
}

TEST(Secrets, AQuerysValuesAreHiddenWhateverTheirNames) {
  EXPECT_EQ(without_secrets("http://plug/cm?user=admin&password=a%20b&cmnd=Status%208"),
            "http://plug/cm?user=***&password=***&cmnd=***");
  EXPECT_EQ(without_secrets("http://plug/cm?p%61ss=x;k=y#z"), "http://plug/cm?p%61ss=***;k=***");
}

TEST(Secrets, EveryAddressOfACommandLineIsSeen) {
  EXPECT_EQ(without_secrets("assay bench --meter-url=http://a:b@c/ 'http://d:e@f/?api_key=1' http://g"),
            "assay bench --meter-url=http://***@c/ 'http://***@f/?api_key=***' http://g");
  EXPECT_EQ(without_secrets("user@host: no address"), "user@host: no address");
}

}  // namespace
}  // namespace assay
