// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/variant_helpers.h"

#include "kernel_compiler/builtin_names.h"

namespace tutti::kernel_compiler {
namespace {

// Unused static functions would warn, plain ones would clash when programs are linked.
std::string helper_head(uint32_t language) {
  return language >= 120 ? "static size_t __tutti_" : "size_t __tutti_";
}

/// The function's answer for dimension d, which may be any number known at run time, from its
/// answers for constant ones. Those are asked without branches: where LLVM may choose between them
/// by control flow, it makes one load from a table of addresses, which PoCL cannot resolve
/// ("undefined symbol: _num_groups_y": 3.1 and 6.0 end the process, 8.0-pre runs nothing, which
/// clFinish does not tell). Sizes of dimensions that a launch does not have are 1; PoCL until 6.0
/// and Oclgrind say 0 to numbers above 2.
std::string answer_for(const std::string& name, int64_t otherwise) {
  std::string text;
  for (const char* d : {"0", "1", "2"}) {
    text += (text.empty() ? "" : "|") + ('(' + name + '(' + d + ")&-(size_t)(d==" + d + "u))");
  }
  return otherwise == 0 ? text : text + "|(size_t)(d>2u)";
}

}  // namespace

std::optional<int64_t> default_answer(const std::string& name) {
  if (name == "get_enqueued_local_size") return 1;
  const auto leaf = work_item_leaf(name);
  return leaf ? std::optional(leaf->default_value) : std::nullopt;
}

std::string guards(const std::set<std::string>& used, uint32_t language) {
  std::string text;
  for (const std::string& name : used) {
    text += helper_head(language) + "any_" + name + "(uint d){return " +
            answer_for(name, default_answer(name).value_or(0)) + ";}\n";
  }
  return text;
}

std::string prelude(const std::set<std::string>& used, uint32_t language) {
  const std::string head = helper_head(language);
  std::string text;
  const auto table = [&](const std::string& name, const char* x, const char* y, const char* z,
                         const char* otherwise, const std::string& added_to = {}) {
    if (used.contains(name)) {
      text += head + name + "(uint d,ulong16 nd){return " + added_to + "(size_t)(d==0u?nd." + x +
              ":d==1u?nd." + y + ":d==2u?nd." + z + ':' + otherwise + "ul);}\n";
    }
  };
  table("get_group_id", "s0", "s1", "s2", "0", '(' + answer_for("get_group_id", 0) + ")+");
  table("get_num_groups", "s3", "s4", "s5", "1");
  table("get_global_size", "s6", "s7", "s8", "1");
  table("get_global_offset", "s9", "sa", "sb", "0");
  if (used.contains("get_global_linear_id")) {
    text += head +
            "get_global_linear_id(ulong16 nd)"
            "{return ((get_global_id(2)-(size_t)nd.sb)*(size_t)nd.s7"
            "+(get_global_id(1)-(size_t)nd.sa))*(size_t)nd.s6"
            "+(get_global_id(0)-(size_t)nd.s9);}\n";
  }
  return text;
}

std::string panel_helper(uint32_t language) {
  return helper_head(language) +
         "at(ulong at,ulong before,ulong pitch,ulong width,ulong inverse)"
         "{at-=before;const ulong row=mul_hi(at,inverse);return row*width+(at-row*pitch);}\n";
}

}  // namespace tutti::kernel_compiler
