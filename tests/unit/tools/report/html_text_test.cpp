#include "report/html/html_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/html/html_assets.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

TEST(HtmlText, EscapesWhatHtmlWouldRead) {
  EXPECT_EQ(escape_html("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape_html("µs\n\t\x1b[1m"), "µs\n\t?[1m");
  EXPECT_EQ(attribute("title", "\"><b>"), " title=\"&quot;&gt;&lt;b&gt;\"");
}

TEST(HtmlText, JsonCannotEndItsScript) {
  const nlohmann::ordered_json document = {{"text", "</script><!-- \xff"}};
  const std::string json = script_json(document);
  EXPECT_EQ(json.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::ordered_json::parse(json)["text"], "</script><!-- \uFFFD");
}

TEST(HtmlText, TemplateIsFilledOnce) {
  EXPECT_EQ(fill_template("<p>{{a}}-{{b}}</p>", {{"a", "{{b}}"}, {"b", "2"}}), "<p>{{b}}-2</p>");
  EXPECT_EQ(fill_template("none", {}), "none");
  EXPECT_THROW((void)fill_template("{{c}}", {}), Error);
  EXPECT_THROW((void)fill_template("{{a", {{"a", "1"}}), Error);
}

TEST(HtmlText, ExactNumbersGiveTheSameValue) {
  for (const double value : {1.0 / 3, 1e-7, 123456789.125, 0.1, 1e300})
    EXPECT_EQ(std::stod(exact_number(value)), value);
  EXPECT_EQ(time_text(4.56), "4.56 µs");
  EXPECT_EQ(time_text(4560), "4.56 ms");
}

TEST(HtmlAssets, AreEmbedded) {
  EXPECT_NE(kReportPage.find("{{chart-library}}"), std::string_view::npos);
  EXPECT_NE(kReportStyle.find("prefers-color-scheme: dark"), std::string_view::npos);
  EXPECT_NE(kReportScript.find("use strict"), std::string_view::npos);
  for (const std::string_view script : {kReportScript, kChartLibrary})
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
}

}  // namespace
}  // namespace tutti::tools
