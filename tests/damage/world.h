// SPDX-License-Identifier: Apache-2.0
// What damage is done to, and where: the good files that the client left, the folder of a case, and
// how its commands are checked. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "damage.h"
#include "tool_run.h"

namespace tutti::damage {

/// What the client has left, all in one folder.
struct GoodFiles {
  std::string folder;
  std::string record() const { return folder + "/record"; }
  std::string record_with_programs() const { return folder + "/record-with-programs"; }
  std::string trace() const { return folder + "/trace.json"; }
  std::string summary() const { return folder + "/summary.json"; }
  std::string cache() const { return folder + "/cache"; }
};

std::string content_of(const std::string& path);
void write_file(const std::string& path, const std::string& content);
void make_pipe(const std::string& path);
/// Of a folder, in order.
std::vector<std::string> files_of(const std::string& folder);

class Case {
 public:
  Case(const GoodFiles& the_good, std::string tool, std::string self, std::string the_folder,
       uint64_t seed, uint64_t the_number)
      : good(the_good),
        folder(std::move(the_folder)),
        random(seed * 1000003 + the_number),
        number(the_number),
        tool_(std::move(tool)),
        self_(std::move(self)) {}

  const GoodFiles& good;
  const std::string folder;  // empty at first
  Random random;
  const uint64_t number;

  /// Runs `tutti` with these words; what is wrong with how it ended is noted. What it printed.
  std::string tutti(const std::vector<std::string>& words, const Variables& variables = {});
  /// Runs the client, which must end well: what is kept on disk is no reason to fail. `right`: its
  /// results as well.
  void client(const Variables& variables, bool right);
  /// Runs this program with these words.
  void self(const std::vector<std::string>& words);
  void expect(bool condition, const std::string& what);
  const std::string& problems() const { return problems_; }

 private:
  void note(const std::vector<std::string>& words, const std::string& problem,
            const std::string& output);

  const std::string tool_, self_;
  std::string problems_;
};

/// What is damaged, and who reads it.
struct Subject {
  const char* name;
  uint64_t cases;  // of a short run
  void (*run)(Case&);
};
extern const Subject kShow, kReplay, kReport, kExplain, kModel, kPrograms, kVerdicts, kFiles;

/// An ordinary OpenCL program that uses much of the interface; its exit code. `programs`: compiles
/// and links several, which takes long.
int run_client(bool programs);
/// Reads the compiler's answer in a file, and evaluates its summaries for some launches.
int evaluate_answer(const std::string& file);

}  // namespace tutti::damage
