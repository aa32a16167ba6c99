// SPDX-License-Identifier: Apache-2.0
// `tutti report` on traces written by hand: the numbers that it must find, and what it says of
// traces that are damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "shell.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two devices, one split launch of 100 slices, 1000 work-items: device 0 did 60 slices in 6 ms,
// device 1 40 slices in 8 ms, the launch took 10 ms. So s = 100 and 50 items per ms, the ideal is
// 1000/150 = 6.67 ms, device 0 alone would have needed 10 ms. And one launch that stays whole.
const std::string kEvents[] = {
    R"({"ph":"M","pid":2,"tid":0,"name":"tutti_trace","args":{"version":1,"program":"app","process":7}})",
    R"({"ph":"M","pid":2,"tid":0,"name":"tutti_device","args":{"device":0,"row":10,"name":"Fast","platform":"P","shares_host_memory":true}})",
    R"({"ph":"M","pid":2,"tid":0,"name":"tutti_device","args":{"device":1,"row":11,"name":"Slow","platform":"P","shares_host_memory":false}})",
    R"({"ph":"M","pid":10,"tid":2,"name":"thread_name","args":{"name":"queue 1"}})",
    R"({"ph":"X","pid":2,"tid":1,"cat":"decision","name":"split k","ts":1000.000,"dur":10.000,"args":{"command":1,"kernel":"k","split":true,"mode":"disjoint","reason":"apart","dimension":0,"slices":100,"items":1000,"global":[1000],"local":[10],"candidates":[0,1]}})",
    R"({"ph":"X","pid":10,"tid":2,"cat":"package","name":"k","ts":1000.000,"dur":4000.000,"args":{"command":1,"kernel":"k","device":0,"first":0,"count":50}})",
    R"({"ph":"X","pid":10,"tid":2,"cat":"package","name":"k","ts":5000.000,"dur":2000.000,"args":{"command":1,"kernel":"k","device":0,"first":90,"count":10}})",
    R"({"ph":"X","pid":11,"tid":2,"cat":"package","name":"k","ts":1000.000,"dur":8000.000,"args":{"command":1,"kernel":"k","device":1,"first":50,"count":40}})",
    R"({"ph":"X","pid":11,"tid":1,"cat":"transfer","name":"to_device","ts":1000.000,"dur":1.000,"args":{"device":1,"direction":"to_device","bytes":2048,"why":"used by a kernel","command":1,"kernel":"k","argument":"a<b"}})",
    R"({"ph":"b","pid":2,"tid":0,"cat":"launch","name":"k","id":1,"ts":1000.000,"args":{"command":1,"kernel":"k","failed":false}})",
    R"({"ph":"e","pid":2,"tid":0,"cat":"launch","name":"k","id":1,"ts":11000.000})",
    R"({"ph":"X","pid":2,"tid":1,"cat":"decision","name":"whole w","ts":12000.000,"dur":1.000,"args":{"command":2,"kernel":"w","split":false,"mode":"whole","reason":"too short </script>","device":0,"items":10,"global":[10],"candidates":[0,1]}})",
    R"({"ph":"X","pid":10,"tid":2,"cat":"kernel","name":"w","ts":12000.000,"dur":1000.000,"args":{"command":2,"kernel":"w","device":0,"items":10}})",
};

std::string trace_text(bool complete = true) {
  std::string text = "[\n";
  for (const std::string& event : kEvents) {
    if (text.size() > 2) text += ",\n";
    text += event;
  }
  return complete ? text + "\n]\n" : text;
}

class ReportTest : public ::testing::Test {
 protected:
  Outcome report(const std::string& options) {
    return shell(std::string(TUTTI_TEST_TOOL) + " report " + options);
  }
  /// Of a trace with that content, as text.
  Outcome report_of(const std::string& content) {
    return report("--text " + folder_.write("t.json", content));
  }
  std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TemporaryFolder folder_;
};

TEST_F(ReportTest, TellsTheNumbers) {
  const Outcome outcome = report_of(trace_text());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(
      outcome.output,
      AllOf(StartsWith("app, process 7: 12.0 ms traced, 2 launches of 2 kernels, 1 split\n"),
            HasSubstr("k: 1 launch, 1 split, 10.0 ms in all"), HasSubstr("1 x disjoint: apart"),
            HasSubstr("split launches took 10.0 ms; ideal 6.67 ms: efficiency 0.67"),
            HasSubstr("the best single device, 0 Fast, would have needed 10.0 ms: 1 times as long"),
            HasSubstr("0 Fast: 60.0 % of the work-items, 2 packages of 10 to 50 slices, 100 k"),
            HasSubstr("1 Slow: 40.0 % of the work-items, 1 package of 40 to 40 slices, 50.0 k")));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("2.00 KiB to 1 Slow: used by a kernel, argument 'a<b' (1 transfer"),
                    HasSubstr("w: 1 launch, 0 split, 1.00 ms in all"),
                    HasSubstr("1 x whole: too short </script>"), Not(HasSubstr("breaks off"))));
}

TEST_F(ReportTest, SaysWhatWonAndWhatLost) {
  // Of the split launch device 0 alone would have needed what it took. v lost: once it ran on
  // device 1, and on device 0 it was twice as fast.
  std::string content = trace_text(false);
  const auto whole = [&content](int command, int device, int begin, int length) {
    content += fmt::format(
        R"(,
{{"ph":"X","pid":2,"tid":1,"cat":"decision","name":"whole v","ts":{0},"dur":1,"args":{{"command":{1},"kernel":"v","split":false,"mode":"whole","reason":"r","device":{2},"items":10,"global":[10],"candidates":[0,1]}}}},
{{"ph":"X","pid":1{2},"tid":2,"cat":"kernel","name":"v","ts":{0},"dur":{3},"args":{{"command":{1},"kernel":"v","device":{2},"items":10}}}})",
        begin, command, device, length);
  };
  whole(5, 0, 20000, 1000);
  whole(6, 1, 22000, 2000);
  const Outcome outcome = report_of(content + "\n]\n");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("; 1 times as fast as the best single device\n    1 x disjoint"),
                    // 1 ms by 1 ms, and 1 ms by 2 ms.
                    HasSubstr("; 0.667 times as fast as the best single device: lost\n"),
                    HasSubstr("71.4 % of the kernels' time, 43.5 % of the whole time")));
}

TEST_F(ReportTest, ShowsTheMemoryOfDevices) {
  EXPECT_THAT(report_of(trace_text()).output, Not(HasSubstr("memory: at most")));
  EXPECT_EQ(
      nlohmann::json::parse(
          report("--json " + folder_.write("t.json", trace_text())).output)["devices"][1]["memory"],
      nullptr);
  std::string content = trace_text(false);
  // Nothing for the first half of the 12 ms, then 1 KiB, 4 KiB, and 2 KiB in the end; not in order.
  for (const auto& [ms, bytes] : {std::pair{7, 1024}, {11, 2048}, {9, 4096}}) {
    content += fmt::format(
        R"(,
{{"ph":"C","pid":11,"tid":0,"name":"memory","ts":{}000.000,"args":{{"bytes":{}}}}})",
        ms, bytes);
  }
  const auto event = [&content](const char* what, int ms, int bytes) {
    content += fmt::format(
        R"(,
{{"ph":"X","pid":11,"tid":900001,"cat":"memory","name":"{}","ts":{}000.000,"dur":5.000,"args":{{"device":1,"bytes":{}}}}})",
        what, ms, bytes);
  };
  event("eviction", 10, 2048);
  event("shard", 8, 512);
  event("shard", 8, 512);
  event("something else", 8, 512);
  // Of no device that the trace names.
  content += R"(,
{"ph":"C","pid":99,"tid":0,"name":"memory","ts":2000.000,"args":{"bytes":77}})";
  const std::string trace = folder_.write("t.json", content + "\n]\n");
  const Outcome text = report("--text " + trace);
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_THAT(
      text.output,
      AllOf(
          HasSubstr("    memory: at most 4.00 KiB; 1 eviction, 2.00 KiB; 2 shards made or changed, "
                    "1.00 KiB\n      |    "),
          HasSubstr("▂▂▂████"), HasSubstr("▄▄▄|\n")));
  const auto devices = nlohmann::json::parse(report("--json " + trace).output)["devices"];
  EXPECT_EQ(devices[0]["memory"], nullptr);
  const auto& memory = devices[1]["memory"];
  EXPECT_EQ(memory["peak"], 4096);
  EXPECT_EQ(memory["evictions"], 1);
  EXPECT_EQ(memory["evicted_bytes"], 2048);
  EXPECT_EQ(memory["shard_changes"], 2);
  EXPECT_EQ(memory["shard_bytes"], 1024);
  EXPECT_EQ(memory["eviction_times"], nlohmann::json::parse("[9000000]"));
  EXPECT_EQ(memory["bytes"], nlohmann::json::parse("[0,0,6000000,1024,8000000,4096,10000000,2048,"
                                                   "12000000,2048]"));
}

TEST_F(ReportTest, ManyPointsOfMemoryBecomeFewWithThePeak) {
  std::string content = trace_text(false);
  for (int i = 0; i < 5000; ++i) {
    content += fmt::format(
        R"(,
{{"ph":"C","pid":11,"tid":0,"name":"memory","ts":{}.000,"args":{{"bytes":{}}}}})",
        2000 + i, i == 1234 ? 9999 : i % 7);
    content += fmt::format(
        R"(,
{{"ph":"X","pid":11,"tid":900001,"cat":"memory","name":"eviction","ts":{}.000,"dur":0.100,"args":{{"device":1,"bytes":1}}}})",
        2000 + i);
  }
  const Outcome outcome = report("--json " + folder_.write("t.json", content + "\n]\n"));
  const auto memory = nlohmann::json::parse(outcome.output)["devices"][1]["memory"];
  EXPECT_EQ(memory["peak"], 9999);
  EXPECT_EQ(memory["evictions"], 5000);
  EXPECT_LT(memory["bytes"].size(), 2100u);
  EXPECT_LT(memory["eviction_times"].size(), 1100u);
  uint64_t most = 0;
  for (size_t i = 1; i < memory["bytes"].size(); i += 2) {
    most = std::max(most, memory["bytes"][i].get<uint64_t>());
  }
  EXPECT_EQ(most, 9999u);
}

TEST_F(ReportTest, CountsLostEvents) {
  EXPECT_THAT(report_of(trace_text()).output, HasSubstr("\n0 events lost while tracing\n"));
  std::string content = trace_text();
  content.insert(
      2, R"({"ph":"M","pid":2,"tid":0,"name":"tutti_trace_lost","args":{"events":17      }},)"
         "\n");
  EXPECT_THAT(report_of(content).output, HasSubstr("\n17 events lost while tracing\n"));
  const Outcome page = report(folder_.write("lost.json", content));
  EXPECT_THAT(page.output, HasSubstr("17 events of"));
  EXPECT_THAT(text_of(folder_ / "lost.html"), HasSubstr(R"("lost":17)"));
}

TEST_F(ReportTest, ComparesTwoRuns) {
  const std::string a = folder_.write("a.json", trace_text());
  std::string slower = trace_text();
  const auto put = [&slower](const std::string& before, const std::string& after) {
    for (size_t at = slower.find(before); at != std::string::npos; at = slower.find(before)) {
      slower.replace(at, before.size(), after);
    }
  };
  put(R"("name":"w","ts":12000.000,"dur":1000.000)", R"("name":"w","ts":12000.000,"dur":1500.000)");
  put(R"("kernel":"k")", R"("kernel":"other")");
  const std::string b = folder_.write("b.json", slower);
  const Outcome text = report("--compare " + a + " " + b);
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_THAT(
      text.output,
      AllOf(ContainsRegex("w +1.00 ms +1.50 ms +1.500 +1.00 ms +1.50 ms +1.500 +0/1 +0/1  slower"),
            ContainsRegex("k +10.0 ms +- +- .* 1/1 +-  in A only"),
            ContainsRegex("other .* in B only"), ContainsRegex("in both +1.00 ms +1.50 ms")));
  const Outcome json = report("--json --compare " + a + " " + b);
  const auto content = nlohmann::json::parse(json.output);
  EXPECT_EQ(content["kernels"].size(), 3u);
  for (const auto& kernel : content["kernels"]) {
    if (kernel["name"] != "w") continue;
    EXPECT_DOUBLE_EQ(kernel["ratio"].get<double>(), 1.5);
    EXPECT_EQ(kernel["verdict"], "slower");
    EXPECT_EQ(kernel["a"]["launches"], 1);
  }
  const Outcome page = report("-o " + (folder_ / "c.html") + " --compare " + a + " " + b);
  EXPECT_EQ(page.code, 0) << page.output;
  EXPECT_THAT(text_of(folder_ / "c.html"),
              AllOf(HasSubstr("Two runs side by side"), HasSubstr(R"("each_ratio":1.5)")));
}

TEST_F(ReportTest, ComparesSummariesToo) {
  const auto summary = [&](const char* name, const std::string& seconds) {
    return folder_.write(name, R"({"devices":[],"kernels":[{"name":"w","launches":4,"split":2,)" +
                                   seconds + R"("mode":"whole","reason":""}]})");
  };
  const std::string a = summary("a.json", R"("seconds":2.0,)");
  const std::string b = summary("b.json", R"("seconds":1.0,)");
  EXPECT_THAT(report("--compare " + a + " " + b).output,
              ContainsRegex("w +2.00 s +1.00 s +0.500 +500 ms +250 ms +0.500 +2/4 +2/4  faster"));
  EXPECT_THAT(report("--compare " + a + " " + summary("c.json", "")).output,
              ContainsRegex("w +2.00 s +- +- "));
  for (const char* damaged : {"{}", R"({"devices":0,"kernels":[1]})", "{"}) {
    EXPECT_EQ(report("--compare " + a + " " + folder_.write("d.json", damaged)).code, 1);
  }
  EXPECT_EQ(report("").code, 2);
}

// What a damaged trace says of waiting makes no circle and nothing that is not there.
TEST_F(ReportTest, WaitsOfADamagedTrace) {
  std::string content = trace_text(false);
  for (const char* args :
       {R"("command":1,"queue":1,"what":"kernel","named":[2,1,9,0],"enqueued_ns":5)",
        R"("command":2,"queue":1,"what":"kernel","order":[1,1],"named":"x","enqueued_ns":7)",
        R"("command":0,"queue":1)", R"("command":2,"data":[1])"}) {
    content += std::string(",\n") + R"({"ph":"M","pid":2,"tid":0,"name":"tutti_command","args":{)" +
               args + "}}";
  }
  const Outcome outcome = report("--json " + folder_.write("t.json", content + "\n]\n"));
  EXPECT_EQ(outcome.code, 0);
  const auto commands = nlohmann::json::parse(outcome.output)["commands"];
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_TRUE(commands[0]["waited_for"].empty());
  ASSERT_EQ(commands[1]["waited_for"].size(), 1u);
  EXPECT_EQ(commands[1]["waited_for"][0]["why"], "order");
}

TEST_F(ReportTest, ThePageIsOneFileBesideTheTrace) {
  const std::string trace = folder_.write("sub/my.trace.json", trace_text());
  const Outcome outcome = report(trace);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, folder_ / "sub/my.trace.html" + std::string("\n"));
  const std::string page = text_of(folder_ / "sub/my.trace.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr(R"("efficiency":0.6666)"),
                          HasSubstr(R"(too short \u003c/script>)"), Not(HasSubstr("@DATA@"))))
      << "what kernels are called must not end the script";
  EXPECT_EQ(report("-o " + (folder_ / "other.html") + " " + trace).code, 0);
  EXPECT_EQ(text_of(folder_ / "other.html"), page);
  EXPECT_EQ(report("-o - " + trace).output, page);
}

TEST_F(ReportTest, TheTraceIsNotOverwritten) {
  const std::string trace = folder_.write("t.json", trace_text());
  const std::string link = folder_ / "link.json", hard = folder_ / "hard.json";
  std::filesystem::create_symlink(trace, link);
  std::filesystem::create_hard_link(trace, hard);
  const std::string page = folder_.write("page.html", trace_text());  // its report's own name
  for (const std::string& words :
       {"-o " + trace + " " + trace, "-o " + link + " " + trace, "-o " + trace + " " + hard,
        "-o " + link + " " + hard, "--text -o " + link + " " + trace, page}) {
    const Outcome outcome = report(words);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_THAT(outcome.output, HasSubstr("would be overwritten")) << words;
  }
  EXPECT_EQ(text_of(trace), trace_text());
  EXPECT_EQ(text_of(page), trace_text());
  for (const std::string& words : {"-o --text " + trace, "-o -x " + trace, "-o -- " + trace}) {
    EXPECT_EQ(report(words).code, 2) << words;
  }
}

TEST_F(ReportTest, AcceptsATraceThatIsCutAnywhere) {
  const Outcome uncut = report_of(trace_text(false));
  EXPECT_EQ(uncut.code, 0);
  EXPECT_THAT(uncut.output, AllOf(HasSubstr("The trace breaks off"), HasSubstr("1 x whole")));
  const std::string text = trace_text();
  const size_t first = text.find('\n', 2);
  for (size_t cut = first; cut < text.size() - 3; cut += 41) {
    const Outcome outcome = report_of(text.substr(0, cut));
    EXPECT_EQ(outcome.code, 0) << cut << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("The trace breaks off")) << cut;
  }
  // In the middle of the split launch: it has not ended.
  const Outcome middle = report_of(text.substr(0, text.find(R"({"ph":"b")")));
  EXPECT_THAT(middle.output, HasSubstr("1 had not ended when the trace stops"));
}

TEST_F(ReportTest, AcceptsWhatAnotherProgramHasStored) {
  std::string text = trace_text();
  std::erase(text, '\n');
  EXPECT_THAT(report_of(R"({"traceEvents":)" + text + "}").output, HasSubstr("efficiency 0.67"));
  EXPECT_THAT(report_of(text).output, HasSubstr("efficiency 0.67"));
}

TEST_F(ReportTest, NothingRan) {
  const Outcome outcome = report_of("[\n" + kEvents[0] + "\n]\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("none was launched"));
  EXPECT_EQ(report(folder_ / "t.json").code, 0);
}

TEST_F(ReportTest, SaysWhatIsWrong) {
  const auto expect_failure = [this](const std::string& content, const std::string& message) {
    const Outcome outcome = report_of(content);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, AllOf(StartsWith("tutti report: " + (folder_ / "t.json") + ": "),
                                      HasSubstr(message)));
  };
  expect_failure("", "it is empty: the application ended before anything was traced");
  expect_failure("hello\nworld\n", "it is not JSON");
  expect_failure("{\"a\": 1}", "it is JSON, but no trace");
  expect_failure("[1, 2]", "it is JSON, but no trace");
  expect_failure("[]", "there is nothing of Tutti's in it");
  expect_failure("[\n{\"ph\":\"X\"}\n]\n", "there is nothing of Tutti's in it");
  std::string damaged = trace_text();
  damaged.replace(damaged.find("\"cat\":\"decision\""), 5, "\x01\x02\x03\x04\x05");
  expect_failure(damaged, "line 6 is damaged");
  expect_failure(trace_text() + trace_text(), "comes after the end of the trace");

  EXPECT_THAT(report("/no/such.json").output, HasSubstr("/no/such.json: No such file"));
  EXPECT_THAT(report(folder_.path()).output, HasSubstr("it is a folder"));
  EXPECT_EQ(report("").code, 2);
}

TEST_F(ReportTest, SaysWhenThePageCannotBeWritten) {
  const std::string trace = folder_.write("t.json", trace_text());
  const Outcome full = report("-o /dev/full " + trace);
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.output, HasSubstr("tutti report: /dev/full: No space left on device"));
  const Outcome missing = report("-o /no/such/page.html " + trace);
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.output, HasSubstr("/no/such/page.html: No such file or directory"));
  EXPECT_EQ(report("--text " + trace + " > /dev/full").code, 1);
}

TEST_F(ReportTest, OnlyAReportIsOverwritten) {
  const std::string trace = folder_.write("t.json", trace_text());
  for (const char* kind : {"", "--json ", "--text "}) {
    const std::string output = folder_ / "out";
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = report(kind + ("-o " + output) + " " + trace);
      EXPECT_EQ(outcome.code, 0) << outcome.output;
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (const char* kind : {"--json ", "--text ", ""}) {
      EXPECT_EQ(report(kind + ("-o " + (folder_ / "c")) + " --compare " + trace + " " + trace).code,
                0);
    }
  }
  const std::string page = folder_.write("t.html", "<!DOCTYPE html>\n<p>My own</p>\n");
  for (const std::string& options : {trace, "-o " + page + " --text " + trace,
                                     "-o " + page + " --compare " + trace + " " + trace}) {
    const Outcome outcome = report(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.output, HasSubstr(page + " exists and is nothing that Tutti has written"));
  }
  EXPECT_THAT(text_of(page), HasSubstr("My own"));
}

// Numbers of another version, or of an enemy, must not crash it.
TEST_F(ReportTest, StandsStrangeValues) {
  for (const char* args :
       {R"({"command":-1})", R"({"command":"x","device":1e300,"bytes":18446744073709551615})",
        R"({"first":18446744073709551615,"count":18446744073709551615,"command":1})", R"([])",
        R"({"kernel":[],"direction":7,"why":null,"candidates":[{}],"global":"x"})"}) {
    std::string text = "[\n" + kEvents[0] + ",\n" + kEvents[4];
    for (const char* category :
         {"api", "host", "decision", "package", "kernel", "transfer", "merge"}) {
      for (const char* times : {R"("ts":-5,"dur":1e40)", R"("ts":"x")", R"("ts":1e15,"dur":3)"}) {
        text += std::string(",\n{\"ph\":\"X\",\"pid\":99999999999,\"cat\":\"") + category +
                "\",\"name\":3," + times + ",\"args\":" + args + "}";
      }
    }
    const Outcome outcome = report_of(text + "\n]\n");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(report(folder_ / "t.json").code, 0);
  }
}

}  // namespace
}  // namespace tutti
