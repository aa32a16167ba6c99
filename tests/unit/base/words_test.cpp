// SPDX-License-Identifier: Apache-2.0
// Names that are nearly right, text in lines and for terminals, files that are not overwritten, and
// what the system says in words.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/nearest.h"
#include "base/output_file.h"
#include "base/paragraph.h"
#include "base/pci_link.h"
#include "base/printable.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Nearest, TheDistanceIsTheFewestMistakes) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("Static", "static"), 0u);
  EXPECT_EQ(edit_distance("statik", "static"), 1u);
  EXPECT_EQ(edit_distance("sttaic", "static"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // no letter is moved twice
}

TEST(Nearest, NamesWhatIsNear) {
  const std::vector<std::string> known = {"run", "devices", "doctor", "record", "report", "replay"};
  EXPECT_THAT(nearest("device", known), ElementsAre("devices"));
  EXPECT_THAT(nearest("dev", known), ElementsAre("devices"));
  EXPECT_THAT(nearest("reprot", known), ElementsAre("report"));
  EXPECT_THAT(nearest("zebra", known), IsEmpty());
  EXPECT_THAT(nearest("x", known), IsEmpty());
  EXPECT_THAT(nearest("", known), IsEmpty());
  EXPECT_THAT(nearest(std::string(1 << 20, 'x'), known), IsEmpty());  // nobody waits for that
  EXPECT_EQ(did_you_mean("device", known), "; did you mean devices?");
  EXPECT_EQ(did_you_mean("recort", {"record", "report"}), "; did you mean record or report?");
  EXPECT_EQ(did_you_mean("zebra", known), ";");
}

TEST(Paragraph, BreaksAtWords) {
  EXPECT_EQ(paragraph("  ", "one two three", 4, 10), "  one two\n    three\n");
  EXPECT_EQ(paragraph("head  ", "one two", 6, 80), "head  one two\n");
  EXPECT_EQ(paragraph("", "", 0, 80), "\n");
  EXPECT_EQ(paragraph("  ", "averyveryverylongword two", 4, 10),
            "  averyveryverylongword\n    two\n");
  EXPECT_EQ(paragraph("  ", "über größe", 2, 12), "  über größe\n");  // characters count, not bytes
}

TEST(Paragraph, LongWordsMayBeBroken) {
  EXPECT_EQ(paragraph("a ", "bb /very/long/path end", 2, 10, LongWords::kBreak),
            "a bb\n  /very/lo\n  ng/path\n  end\n");
  EXPECT_EQ(paragraph("0123456789", "abc", 2, 10, LongWords::kBreak), "0123456789\n  abc\n");
  EXPECT_EQ(paragraph("", "abcdef", 0, 3, LongWords::kBreak), "abc\ndef\n");
}

TEST(Paragraph, CutsToColumns) {
  EXPECT_EQ(cut("größe", 5), "größe");
  EXPECT_EQ(cut("größe", 4), "grö…");
  EXPECT_EQ(cut("größe", 1), "…");
  EXPECT_EQ(cut("größe", 0), "");
  EXPECT_EQ(fitted("größe", 3), "gr…");
  EXPECT_EQ(fitted("ö", 3), "ö  ");
}

TEST(Paragraph, ToneMarksTakeNoColumn) {
  const std::string text = "\xef\xb7\x90two\xef\xb7\x9f";
  EXPECT_EQ(text_columns(text), 3u);
  EXPECT_EQ(padded(text, 5), text + "  ");
  EXPECT_EQ(cut(text, 3), text);
  EXPECT_EQ(paragraph("one ", text, 2, 7), "one " + text + "\n");
}

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("größe 1"), "größe 1");
  EXPECT_EQ(printable("a\x1b[2J\nb\tc\x7f"), "a?[2J?b?c?");
  EXPECT_EQ(printable("a\nb\tc\r", "\n\t"), "a\nb\tc?");
  EXPECT_EQ(printable("\xc2\x9b"), "?");          // CSI of C1
  EXPECT_EQ(printable("\xe2\x80\xae x"), "? x");  // text from right to left
  EXPECT_EQ(printable("\x9b\xff\xc3"), "???");    // no UTF-8
}

TEST(Printable, JsonHidesNothingAndMeansTheSame) {
  EXPECT_EQ(printable_json("{\n\"ä\": 1\n}"), "{\n\"ä\": 1\n}");
  EXPECT_EQ(printable_json("\"\xc2\x9b\x7f\xe2\x80\xae\xef\xbb\xbf<\"", "<"),
            "\"\\u009b\\u007f\\u202e\\ufeff\\u003c\"");
}

TEST(PciLink, AsTheSystemTells) {
  const TemporaryFolder folder;
  const std::string address = "0000:3b:00.0";
  EXPECT_FALSE(pci_link(address, folder.path()));
  folder.write(address + "/current_link_speed", "16.0 GT/s PCIe\n");
  folder.write(address + "/current_link_width", "8\n");
  const auto link = pci_link(address, folder.path());
  ASSERT_TRUE(link);
  EXPECT_EQ(link->speed, "16.0 GT/s PCIe");
  EXPECT_EQ(link->lanes, 8u);
  EXPECT_FALSE(pci_link("", folder.path()));
  EXPECT_FALSE(pci_link("../0000:3b:00.0", folder.path()));
  folder.write(address + "/current_link_width", "255\n");
  EXPECT_FALSE(pci_link(address, folder.path()));
  folder.write(address + "/current_link_width", "8\n");
  folder.write(address + "/current_link_speed", "Unknown\n");
  EXPECT_FALSE(pci_link(address, folder.path()));
}

TEST(OutputFile, IsNotAWordThatFollowsByMistake) {
  EXPECT_EQ(output_name_problem("t.json", false), "");
  EXPECT_EQ(output_name_problem("./-t.json", false), "");
  EXPECT_EQ(output_name_problem("-", true), "");
  for (const char* word : {"--", "--text", "-o", "-"}) {
    EXPECT_THAT(output_name_problem(word, false), HasSubstr(word)) << word;
  }
  EXPECT_THAT(output_name_problem("--", true), HasSubstr("./--"));
}

TEST(OutputFile, IsNotWhatIsRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x"), other = folder.write("other", "x");
  std::filesystem::create_symlink(file, folder / "link");
  std::filesystem::create_hard_link(file, folder / "hard");
  EXPECT_EQ(overwrites_input(file, {other, folder / "missing", ""}), "");
  EXPECT_EQ(overwrites_input(folder / "missing", {folder / "missing"}), "");
  EXPECT_EQ(overwrites_input("/dev/null", {"/dev/null"}), "");
  for (const char* name : {"file", "link", "hard"}) {
    EXPECT_THAT(overwrites_input(folder / name, {other, file}), HasSubstr("overwritten")) << name;
    EXPECT_THAT(overwrites_input(file, {folder / name}), HasSubstr("overwritten")) << name;
  }
}

TEST(OutputFile, HoldsWhatWasWrittenThereBefore) {
  const TemporaryFolder folder;
  using enum Written;
  EXPECT_FALSE(holds_something_else(folder / "missing", {kTrace}));
  EXPECT_FALSE(holds_something_else(folder.write("empty", " \n"), {kTrace}));
  EXPECT_FALSE(holds_something_else("/dev/null", {kTrace}));
  EXPECT_FALSE(holds_something_else(folder.path(), {kTrace}));
  const std::pair<Written, std::string> ours[] = {
      {kTrace, "\n["},
      {kTrace, R"([{"ph":"M","pid":2,"tid":0,"name":"tutti_trace_lost","args":{"events":0}},)"},
      {kSummary, "{\n \"devices\": [\n  {\n   \"bytes_to_device\": 0"},
      {kSummary, R"({"devices": [], "kernels")"},
      {kReportPage, "<!DOCTYPE html>\n<!-- tutti report -->\n<html>"},
      {kReportJson, "{\n \"program\": \"x\""},
      {kReportText, "app, process 7: 12.0 ms traced, 2 launches"}};
  for (const auto& [kind, text] : ours) {
    const std::string file = folder.write("ours", text);
    for (const Written other : {kTrace, kSummary, kReportPage, kReportJson, kReportText}) {
      EXPECT_EQ(holds_something_else(file, {other}), other != kind) << text;
    }
    EXPECT_FALSE(
        holds_something_else(file, {kTrace, kSummary, kReportPage, kReportJson, kReportText}));
  }
  for (const std::string& text :
       {std::string("x["), std::string("\0[", 2), std::string("[1, 2]"), std::string("{}"),
        std::string(R"({"devices": 3})"), std::string("<!DOCTYPE html>\n<html lang=\"en\">")}) {
    EXPECT_TRUE(holds_something_else(folder.write("theirs", text),
                                     {kTrace, kSummary, kReportPage, kReportJson, kReportText}))
        << text;
  }
  EXPECT_THAT(overwrites_other(folder / "theirs", {kTrace}), HasSubstr("theirs exists and is"));
  EXPECT_EQ(overwrites_other(folder / "missing", {kTrace}), "");
}

}  // namespace
}  // namespace tutti
