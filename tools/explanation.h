// SPDX-License-Identifier: Apache-2.0
// What Tutti would do with one launch of one kernel, as plain data for people and programs: the
// scheduler's verdict, and what each slice reads and writes. Value types, no ownership beyond their
// own strings. Nothing is decided here: verdict and ranges are the scheduler's own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/access/access_eval.h"
#include "tools/launch_choice.h"

namespace tutti::tools {

/// What one slice does, compared with its neighbours.
struct SliceUse {
  enum class Pattern : uint8_t {
    kSame,       // each slice that takes part: the same bytes
    kRegular,    // each slice: `bytes` bytes, `apart` bytes after its predecessor's
    kIrregular,  // at most `bytes` bytes, no more is known
  };
  Pattern pattern = Pattern::kIrregular;
  uint64_t bytes = 0;
  int64_t apart = 0;  // kRegular only
  bool all = true;    // every slice takes part, as far as was looked
};

/// One way in which the kernel's text touches an argument.
struct Touch {
  std::string offset;  // as expression_text(); empty: unknown or too long
  uint32_t size = 0;   // bytes; 0: unknown
  uint32_t line = 0;
  bool operator==(const Touch&) const = default;
};

/// What the launch reads of an argument, or what it writes.
struct Direction {
  bool used = false;
  bool whole_buffer = false;    // what part is not known before the launch: all of it
  scheduler::ByteRange launch;  // bounds of what the whole launch touches
  std::optional<SliceUse> slice;
  uint64_t period = 0;      // writes: what `slice` says repeats every so many bytes; 0: it does not
  bool every_byte = false;  // writes: all of a slice's range is certainly overwritten
  std::vector<Touch> touches;
};

struct ArgumentExplanation {
  scheduler::Argument declared;
  ChosenValue value;
  Direction read;
  Direction written;
  std::vector<std::string> atomics;  // operations on it, without repetition
  bool atomic_results_used = false;  // by at least one of them
  bool only_atomics = false;         // nothing else reads or writes it
  scheduler::MergeMode merge = scheduler::MergeMode::kDisjoint;  // of its writes, in a split
};

struct KernelExplanation {
  std::string name;
  std::string file;  // that `line` counts in; empty: the file given
  scheduler::Verdict verdict;
  bool split = false;
  std::string unprofitable;  // why a first launch would run whole all the same; empty: it would not
  bool analysed = true;      // false: kept whole before all its accesses were looked at
  bool needs_rewrite = false;
  scheduler::LaunchShape shape;
  bool global_given = false;
  bool local_given = false;
  // The slices that the arguments' descriptions speak of: of the split, or of the outermost
  // dimension that has several groups.
  uint32_t slice_dimension = 0;
  uint64_t slices = 1;
  uint64_t slice_items = 1;
  std::vector<ArgumentExplanation> arguments;
};

KernelExplanation explain(const scheduler::KernelSummary& kernel, const ChosenLaunch& launch);

}  // namespace tutti::tools
