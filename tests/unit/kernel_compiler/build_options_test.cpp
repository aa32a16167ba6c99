// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/build_options.h"

#include <gtest/gtest.h>

namespace tutti::kernel_compiler {
namespace {

using Words = std::vector<std::string>;

TEST(SplitOptions, GroupsAsAShellDoes) {
  EXPECT_EQ(split_options(""), Words());
  EXPECT_EQ(split_options("  -DA=1\t-w \n"), (Words{"-DA=1", "-w"}));
  EXPECT_EQ(split_options(R"(-D "A=x y" -I "a b/c")"), (Words{"-D", "A=x y", "-I", "a b/c"}));
  EXPECT_EQ(split_options(R"(-DA="x y"z)"), (Words{"-DA=x yz"}));
  EXPECT_EQ(split_options(R"(-DS=\"text\")"), (Words{R"(-DS="text")"}));
  EXPECT_EQ(split_options(R"("-DS=\"a b\"")"), (Words{R"(-DS="a b")"}));
  EXPECT_EQ(split_options(R"(-I a\ b)"), (Words{"-I", "a b"}));
  EXPECT_EQ(split_options(R"('-DA=1 2')"), (Words{"-DA=1 2"}));
  EXPECT_EQ(split_options("-DC='a'"), (Words{"-DC='a'"}));
  EXPECT_EQ(split_options("\"\""), (Words{""}));
  EXPECT_EQ(split_options("-DA=\"open end"), (Words{"-DA=open end"}));
}

TEST(BuildOptions, KeepsTheOrderOfMacros) {
  const auto options = parse_build_options("-DA -D B=2 -UA -D C=a=b -U B");
  const std::vector<MacroOption> expected = {
      {"A", false}, {"B=2", false}, {"A", true}, {"C=a=b", false}, {"B", true}};
  EXPECT_EQ(options.macros, expected);
  EXPECT_TRUE(options.errors.empty());
  EXPECT_EQ(options.vendor_options, "");
}

TEST(BuildOptions, CutsDefinitionsAtTheEndOfTheLine) {
  const auto options = parse_build_options("-D \"A=1\n2\"");
  ASSERT_EQ(options.macros.size(), 1u);
  EXPECT_EQ(options.macros[0].text, "A=1");
}

TEST(BuildOptions, HandsOnWhatConcernsVendors) {
  const auto options = parse_build_options(
      "-DX -cl-fast-relaxed-math -cl-std=CL1.2 -w -Werror -g -cl-kernel-arg-info -I inc "
      "-cl-mad-enable");
  EXPECT_TRUE(options.errors.empty());
  EXPECT_EQ(options.vendor_options,
            "-cl-fast-relaxed-math -cl-std=CL1.2 -w -cl-kernel-arg-info -cl-mad-enable");
  EXPECT_EQ(options.language, 120u);
  EXPECT_TRUE(options.no_warnings);
  EXPECT_TRUE(options.warnings_are_errors);
  EXPECT_TRUE(options.fast_relaxed_math);
  EXPECT_TRUE(options.argument_info);
  EXPECT_FALSE(parse_build_options("-cl-mad-enable").argument_info);
  EXPECT_FALSE(options.uniform_groups);
  EXPECT_TRUE(parse_build_options("-cl-uniform-work-group-size").uniform_groups);
  EXPECT_FALSE(options.single_precision_constants);
  EXPECT_EQ(options.include_folders, Words{"inc"});
}

TEST(BuildOptions, NamesWhatItDoesNotKnow) {
  for (const char* bad : {"-cl-no-such-thing", "-fwrong", "word", "-cl-std=CL9.9", "-cl-std=", "-D",
                          "-I", "-D 1A=2", "-x spir", "-O3"}) {
    const auto options = parse_build_options(bad);
    ASSERT_EQ(options.errors.size(), 1u) << bad;
  }
  EXPECT_NE(parse_build_options("-cl-no-such-thing").errors[0].find("-cl-no-such-thing"),
            std::string::npos);
}

TEST(BuildOptions, IgnoresVendorsOwnWithAWarning) {
  const auto options = parse_build_options("-cl-nv-maxrregcount=32 -cl-intel-256-GRF -cl-amd-x");
  EXPECT_TRUE(options.errors.empty());
  EXPECT_EQ(options.warnings.size(), 3u);
  EXPECT_EQ(options.vendor_options, "");
}

TEST(LinkOptions, AllOfThem) {
  const LinkOptions none = parse_link_options("");
  EXPECT_FALSE(none.library || none.link_options_allowed);
  EXPECT_TRUE(none.errors.empty());
  const LinkOptions options = parse_link_options(
      " -create-library -enable-link-options -cl-denorms-are-zero -cl-no-signed-zeroes "
      "-cl-no-subgroup-ifp -cl-finite-math-only");
  EXPECT_TRUE(options.library && options.link_options_allowed);
  EXPECT_EQ(options.vendor_options,
            "-cl-denorms-are-zero -cl-no-signed-zeros -cl-finite-math-only");
  EXPECT_TRUE(options.errors.empty());
}

TEST(LinkOptions, Errors) {
  EXPECT_FALSE(parse_link_options("-enable-link-options").errors.empty());
  EXPECT_FALSE(parse_link_options("-DX=1").errors.empty());
  EXPECT_FALSE(parse_link_options("-cl-std=CL1.2").errors.empty());
}

}  // namespace
}  // namespace tutti::kernel_compiler
