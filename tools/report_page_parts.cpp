// SPDX-License-Identifier: Apache-2.0
#include "tools/report_page_parts.h"

#include <string_view>
#include <vector>

#include "base/printable.h"
#include "report/begin.js.h"
#include "report/compare.html.h"
#include "report/compare.js.h"
#include "report/details.js.h"
#include "report/devices.js.h"
#include "report/frame.html.h"
#include "report/graph.js.h"
#include "report/input.js.h"
#include "report/kernels.js.h"
#include "report/measure.js.h"
#include "report/page.css.h"
#include "report/page.html.h"
#include "report/search.js.h"
#include "report/table.js.h"
#include "report/timeline.js.h"
#include "report/words.js.h"

namespace tutti::tools {
namespace {

void put_in(std::string& page, std::string_view mark, const std::string& text) {
  page.replace(page.find(mark), mark.size(), text);
}

/// In this order: each uses what stands before it, but for functions.
std::vector<const char*> scripts_of(PageKind kind) {
  using namespace embedded;
  if (kind == PageKind::kComparison) {
    return {report_words_js, report_table_js, report_compare_js};
  }
  return {report_words_js,   report_table_js,   report_timeline_js, report_details_js,
          report_search_js,  report_measure_js, report_input_js,    report_devices_js,
          report_kernels_js, report_graph_js,   report_begin_js};
}

}  // namespace

std::string page_of(PageKind kind, const std::string& data) {
  std::string script = "\"use strict\";\n(() => {\n";
  for (const char* part : scripts_of(kind)) script += part;
  script += "})();\n";
  std::string page = embedded::report_frame_html;
  // The data last: nothing of theirs may be taken for a mark.
  put_in(page, "@BODY@",
         kind == PageKind::kReport ? embedded::report_page_html : embedded::report_compare_html);
  put_in(page, "@STYLE@", embedded::report_page_css);
  put_in(page, "@SCRIPT@", script);
  put_in(page, "@DATA@", printable_json(data, "<"));
  return page;
}

}  // namespace tutti::tools
