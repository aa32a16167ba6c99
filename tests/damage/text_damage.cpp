// SPDX-License-Identifier: Apache-2.0
// Damaged traces and summaries, which are JSON, and sources of kernels.
#include <nlohmann/json.hpp>

#include <sstream>

#include "world.h"

namespace tutti::damage {
namespace {

using nlohmann::json;

json odd_json(Random& random) {
  switch (random.below(9)) {
    case 0:
      return odd_number(random, 1);
    case 1:
      return -static_cast<int64_t>(odd_number(random, 1) >> 1);
    case 2:
      return 1e308 * static_cast<double>(random.below(3)) - 1e308;
    case 3:
      return odd_text(random);
    case 4:
      return nullptr;
    case 5:
      return json::array({odd_number(random, 1), "x", json::object()});
    case 6:
      return json::array();
    case 7:
      return random.one_in(2);
    default:
      return json::object({{"name", odd_text(random)}});
  }
}

/// One value somewhere below becomes another, goes, or comes.
void damage_json(Random& random, json& value) {
  if (value.is_structured() && !value.empty() && !random.one_in(6)) {
    auto at = value.begin();
    std::advance(at, static_cast<ptrdiff_t>(random.below(value.size())));
    if (random.one_in(12)) {
      value.erase(at);
    } else {
      damage_json(random, *at);
    }
  } else if (value.is_number_unsigned() && random.one_in(2)) {
    value = odd_number(random, value.get<uint64_t>());
  } else {
    value = odd_json(random);
  }
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string damaged_event(Random& random, const std::string& line) {
  json event = json::parse(line.substr(0, line.find_last_of('}') + 1), nullptr, false);
  if (event.is_discarded()) return line;
  damage_json(random, event);
  return dumped(event) + (line.ends_with(',') ? "," : "");
}

std::string damaged_trace(Random& random, const std::string& whole) {
  std::vector<std::string> lines;
  std::istringstream stream(whole);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const uint64_t kind = random.below(8);
  if (kind == 7) {
    std::string all = whole;
    damage_bytes(random, all);
    return all;
  }
  if (kind == 6) {  // nesting
    const std::string deep(100000 + random.below(200000), random.one_in(2) ? '[' : '{');
    return random.one_in(2) ? deep : "[\n" + deep;
  }
  for (uint64_t times = kind == 0 ? 30 : 3; times > 0; --times) {
    std::string& line = random.one_of(lines);
    if (kind <= 3) {
      line = damaged_event(random, line);
    } else if (kind == 4) {
      std::swap(line, random.one_of(lines));
    } else if (random.one_in(2)) {
      lines.insert(lines.begin() + static_cast<ptrdiff_t>(random.below(lines.size())), line);
    } else {
      lines.erase(lines.begin() + static_cast<ptrdiff_t>(random.below(lines.size())));
      if (lines.empty()) break;
    }
  }
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

std::string damaged_summary(Random& random, const std::string& whole) {
  json value = json::parse(whole);
  for (uint64_t times = 1 + random.below(4); times > 0; --times) damage_json(random, value);
  return dumped(value);
}

void report(Case& made) {
  const std::string trace = made.folder + "/t.json", page = made.folder + "/page.html";
  write_file(trace, damaged_trace(made.random, content_of(made.good.trace())));
  made.tutti({"report", "--text", trace});
  made.tutti({"report", "--json", trace});
  made.tutti({"report", "-o", page, trace});
  made.expect(terminal_problem(content_of(page)).empty(), "the page holds control characters");
  const std::string summary = made.folder + "/s.json";
  write_file(summary, damaged_summary(made.random, content_of(made.good.summary())));
  made.tutti({"report", "--compare", summary, made.random.one_in(2) ? trace : made.good.trace()});
}

// ---- sources ------------------------------------------------------------------------------------

const std::vector<std::string> kSources = {
    "kernel void scale(global float* out, const global float* in, float by, uint n) {\n"
    "  const size_t i = get_global_id(0);\n"
    "  if (i < n) out[i] = in[i] * by;\n"
    "}\n",
    "typedef struct { int a; float4 b[3]; } Part;\n"
    "int helper(global int* x, int k) { return x[k % 7] + (k << 2); }\n"
    "kernel void loops(global int* a, local int* l, Part part, image2d_t picture) {\n"
    "  for (int i = 0; i < part.a; ++i) {\n"
    "    l[get_local_id(0)] = helper(a, i);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    a[get_global_id(0) * 4 + get_group_id(1)] += l[0];\n"
    "  }\n"
    "  atomic_add(a, (int)read_imagef(picture, (int2)(0, 0)).x);\n"
    "}\n"};

std::string repeated(const std::string& text, uint64_t times) {
  std::string all;
  for (uint64_t i = 0; i < times; ++i) all += text;
  return all;
}

/// What is not random, but hard on compilers and terminals.
std::string hard_source(Random& random, const std::string& folder) {
  const std::string body = "kernel void k(global int* x) { x[get_global_id(0)] = 1; }\n";
  const uint64_t many = 1000 + random.below(4000);
  switch (random.below(12)) {
    case 0:
      return "#line 7 \"\x1b[31m\xc2\x9b.cl\"\n" + kSources[0] + "kernel void k(int* p) {}\n";
    case 1:
      return "#line 1 \"/dev/zero\"\n" + kSources[1];
    case 2:
      return "#line 1 \"" + folder + "/pipe\"\n#include \"pipe\"\n" + kSources[0];
    case 3:
      return "#include \"/dev/zero\"\n" + body;
    case 4:
      return "#include \"source.cl\"\n" + body;
    case 5:
      return "kernel void k(global int* x) { x[0] = " + repeated("(", many) + "1" +
             repeated(")", many) + "; }\n";
    case 6:
      return "kernel void k(global int* x) " + repeated("{", many) + repeated("}", many) + "\n";
    case 7:
      return "kernel void k(global int* x) { x[0] = 1" + repeated(" + x[1]", many) + "; }\n";
    case 8:
      return "#error \x1b[2J\x07 \xe2\x80\xae\n#warning \xff\xfe\n" + body;
    case 9:
      return "kernel void k\xe2\x80\xaex(global int* \xc2\x9b) { x[0] = \"\x1b[31m\"; }\n";
    case 10:
      return "#define A A2 A2\n#define A2 A3 A3\n#define A3 1\n" + body +
             "constant int huge[1 << 30] = {A};\n";
    default:
      return "kernel void k(global int* x) { int a[" + std::to_string(odd_number(random, 64)) +
             "]; a[x[0]] = " + std::to_string(odd_number(random, 1)) + "; x[a[1]] = 2; }\n";
  }
}

void explain(Case& made) {
  const std::string source = made.folder + "/source.cl";
  std::string text;
  if (made.random.one_in(2)) {
    text = hard_source(made.random, made.folder);
    made.tutti({"complete", "explain", "--kernel", source, ""});
  } else {
    text = kSources[made.random.below(kSources.size())];
    for (uint64_t times = 1 + made.random.below(4); times > 0; --times) {
      damage_bytes(made.random, text);
    }
  }
  write_file(source, text);
  make_pipe(made.folder + "/pipe");
  std::vector<std::string> words = {"explain", source};
  if (made.random.one_in(3)) words.emplace_back("--json");
  if (made.random.one_in(4)) words.insert(words.end(), {"--global", "64,4", "--arg", "n=9"});
  made.tutti(words);
}

}  // namespace

const Subject kReport{"report", 40, report};
const Subject kExplain{"explain", 30, explain};

}  // namespace tutti::damage
