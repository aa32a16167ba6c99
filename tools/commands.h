// SPDX-License-Identifier: Apache-2.0
// The commands of `tutti`. Each takes its parsed options and returns the exit code; called once,
// from the main thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// Exit codes of our own; otherwise `run` gives the application's.
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kSetUpBroken = 125;  // as env(1): we failed, not the application
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

/// Variables of the driver that the command line sets; an empty value leaves the environment's.
using Settings = std::map<std::string, std::string>;
/// Puts them into this process's environment.
void set_environment(const Settings& settings);

struct RunOptions {
  Settings settings;
  std::vector<std::string> command;
};
/// Replaces this process by the application, so that it sees Tutti alone; returns on failure only:
/// also where a balancer or a device is named that does not exist, or a file would be overwritten.
int run(const RunOptions& options);

struct ExplainOptions {
  std::vector<std::string> files;          // "-": standard input
  std::vector<std::string> build_options;  // words, as clBuildProgram's
  std::vector<std::string> kernels;        // empty: all
  std::string global, local, offset;       // "4096,16"; empty: assumed
  std::vector<std::string> arguments;      // NAME=VALUE
  bool json = false;
  bool brief = false;  // one line per kernel
};
/// Prints what Tutti does with the kernels of files: how they are split, or why not.
int explain(const ExplainOptions& options);

/// Takes the options of OpenCL's compiler (-DX, -I folder, -cl-std=…) out of the command line's
/// words: ours begin with two dashes.
std::vector<std::string> take_build_options(std::vector<std::string>& arguments);

struct ReportOptions {
  std::vector<std::string> compare;  // two traces or summaries; else none
  bool json = false;
  std::string trace;   // the file that TUTTI_TRACE named
  std::string output;  // empty: the trace's name with .html, beside it; "-": stdout
  bool text = false;   // for a terminal, and to stdout when no output is named
};
/// Makes a report of a trace, or of two side by side. 1 when the trace cannot be read or the report
/// not written.
int report(const ReportOptions& options);

struct TopOptions {
  bool once = false;    // prints what one interval tells, and ends
  bool json = false;    // the same as JSON
  double interval = 1;  // seconds
};
/// Shows what running processes do with their devices, again and again until `q` is pressed; where
/// there is no terminal, once.
int top(const TopOptions& options);

struct SimulateOptions {
  std::string scenario;  // a TOML file; empty: none. What is given below wins over it
  std::string devices;   // "8", or "2,4,8": equal ones, one scenario for each number
  std::string balancers;
  std::string load;
  std::optional<uint64_t> slices, min_package, in_flight, runs, seed;
  std::optional<double> rate, startup, floor, transfer, noise, spread, error;
  std::optional<double> busy_watts, idle_watts;
  std::string objective;
  std::vector<std::string> failures;  // DEVICE@SECONDS
  bool json = false;
};
/// Prints what balancers make of simulated devices; needs no device.
int simulate(const SimulateOptions& options);

struct DevicesOptions {
  bool json = false;
  bool measure = false;
};
/// Prints the vendor drivers and devices, those used and those not.
int devices(const DevicesOptions& options);

struct ConfigOptions {
  bool json = false;
  bool markdown = false;  // docs/options.md
  bool toml = false;      // a configuration file with every key, commented out
};
/// Prints every option, its value and where that came from.
int config(const ConfigOptions& options);

/// Prints what keeps applications from finding the Tutti device, or devices from taking part, and
/// what helps. 0 when they find it, else 1.
int doctor(bool json);

struct ModelOptions {
  bool clear = false;
  bool json = false;
};
/// Prints what is remembered of kernels' speeds, or forgets it.
int model(const ModelOptions& options);

struct RecordShowOptions {
  std::string folder;
  std::optional<uint64_t> source;  // the number of a program whose source is wanted
  bool sources = false;            // list the programs that have one
};
struct RecordOptions {
  std::string folder;  // empty: APP.record beside the working folder's files, the first that is new
  std::vector<std::string> command;
};
/// Runs an application as run() does, and records its calls; never into a folder that holds a
/// record already. Returns on failure only.
int record_run(const RecordOptions& options);
/// Prints a record (TUTTI_RECORD) as readable calls.
int record_show(const RecordShowOptions& options);

struct ReplayOptions {
  std::string folder;
  Settings settings;
  double tolerance = 0;
  bool json = false;
};
/// Runs a record without the application, and compares what it had read.
int replay(const ReplayOptions& options);

}  // namespace tutti::tools
