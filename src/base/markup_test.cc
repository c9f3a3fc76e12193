#include "base/markup.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Markup, LeavesNothingThatOpensATagOrClosesAnAttribute) {
  EXPECT_EQ(markup_text("<script>alert('&\")</script>"), "&lt;script&gt;alert(&#39;&amp;&quot;)&lt;/script&gt;");
}

TEST(Markup, KeepsTextOfEveryScriptAndReplacesWhatIsNone) {
  EXPECT_EQ(markup_text("größe 模型 ±"), "größe 模型 ±");
  EXPECT_EQ(markup_text("a\xFFz\x01\x7F"), "a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(markup_text("\xC2\x85"), "\xEF\xBF\xBD") << "a C1 control";
  EXPECT_EQ(markup_text("one\ntwo\tthree"), "one two three");
}

}  // namespace
}  // namespace assay
