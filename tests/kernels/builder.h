// SPDX-License-Identifier: Apache-2.0
// Puts a random kernel together: launch, arguments, expressions, and where buffers come to lie.
// What it makes has one value for every byte, whatever the order of work-items: each element is
// written by at most one of them, or only by atomics whose order does not matter; and what is read
// is written by nobody, or by the reader alone.
#pragma once

#include <string>
#include <vector>

#include "choices.h"
#include "kernel_case.h"
#include "offer.h"

namespace tutti::kernel_fuzz {

constexpr uint32_t kMostLaunches = 2;   // of one case
constexpr uint64_t kLargeItems = 2048;  // kWorthSplittingItems of scheduler/plan/planner.cpp

struct Type {
  const char* name;
  uint32_t size;
};

/// An index expression: the values that it takes are below `count`.
struct Index {
  std::string text;
  uint64_t count = 1;
};

/// A part of a buffer that a piece of the kernel has for itself.
struct Region {
  std::string buffer;  // the argument's name
  std::string base;    // its first element, as text
  std::string at(const std::string& index) const {
    return buffer + " + (" + base + " + " + index + ")";
  }
};

class Builder {
 public:
  Builder(Choices& choices, const Offer& offered, bool large)
      : offer(offered), large_(large), choices_(choices) {}

  uint32_t pick(uint32_t below) { return choices_.pick(below); }
  bool chance(uint32_t percent) { return choices_.chance(percent); }
  template <typename T, size_t n>
  const T& one_of(const T (&list)[n]) {
    return list[pick(static_cast<uint32_t>(n))];
  }

  void choose_launch();
  KernelCase finish();

  const Offer offer;

  // ---- the launch
  uint32_t dims = 1;
  std::array<uint64_t, 3> global = {1, 1, 1};
  std::array<uint64_t, 3> local = {1, 1, 1};
  std::array<uint64_t, 3> offset = {0, 0, 0};
  bool local_given = true;
  uint64_t items() const { return global[0] * global[1] * global[2]; }
  uint64_t group_items() const { return local[0] * local[1] * local[2]; }
  uint64_t groups(uint32_t d) const { return global[d] / local[d]; }

  // ---- text
  /// A name that the program has but once; `$` in it becomes the kernel's number.
  std::string fresh(const std::string& stem) { return stem + std::to_string(names_++); }
  void function(const std::string& text) { functions_ += text; }
  void line(const std::string& text) { body_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void open(const std::string& text) { line(text + " {"), ++depth_; }
  void close() { --depth_, line("}"); }

  // ---- arguments
  /// The value as a literal or through a scalar argument of any width, also a wrapping sum of two.
  std::string number(uint64_t value);
  std::string scalar(const char* type, uint32_t size, uint64_t value);
  /// Elements that nobody writes. `pattern`: their values (offset and count are filled in), else
  /// random.
  Region input(const Type& type, uint64_t count, const Pattern* pattern = nullptr);
  /// Elements for the caller alone, initially random or as `pattern` says.
  Region output(const Type& type, uint64_t count, const Pattern* pattern = nullptr);
  /// An argument whose elements are structures with pointers, or pointers, in shared memory. Each
  /// of `links` is a pointer: where it lies in the region, in bytes, and where to.
  struct Pointer {
    uint64_t offset = 0;
    size_t target = 0;  // what reached() or linked() gave
    uint64_t at = 0;    // byte of that region
  };
  Region linked(const Type& type, uint64_t count, std::vector<Pointer> links);
  /// What the last linked() made, as a target.
  size_t last_linked() const { return targets_.size() - 1; }
  /// Elements in shared memory that no argument leads to: a target for pointers.
  size_t reached(const Type& type, uint64_t count, const Pattern* pattern = nullptr);
  /// A load of element `index` (below `count`) of a constant buffer.
  std::string constant_load(const std::string& index, uint64_t count);
  /// A local memory argument or variable of uint.
  std::string local_array(uint64_t count);

  // ---- expressions
  /// A coordinate of the work-item in a dimension, from 0 or with the offset.
  Index coordinate(uint32_t d);
  /// Coordinates that together tell the work-items apart.
  std::vector<Index> coordinates();
  /// An injective map of the coordinates.
  Index linearised(std::vector<Index> coordinates);
  /// An injective map of an index: reversed, permuted, with gaps, through narrow types …
  Index mapped(Index index);
  /// Any uint.
  std::string value(int depth = 2);
  /// A condition on the work-item, the scalars, or data.
  std::string condition();
  /// More leaves for value(): local memory and the like.
  std::vector<std::string> leaves;
  /// Read elements of local memory may be used by value(): false inside of functions.
  bool language_3 = false;  // needs OpenCL C 3.0
  bool uses_group = false;  // the result depends on the work-groups: a local size must be given

 private:
  struct Buffer {
    std::string name;
    Type type;
    bool written = false;
    bool constant = false;
    uint64_t count = 0;  // elements, all regions
    std::vector<Pattern> patterns;
    std::string base_scalar;  // the scalar argument that holds the base; empty: a literal
    uint32_t root = 0;
    uint64_t base = 0;  // elements
    uint64_t origin = 0;
    uint64_t size = 0;
    bool only = false;    // nothing else is put into it
    bool shared = false;  // must be in shared memory
    std::vector<Pointer> links;
  };
  struct Target {
    size_t buffer = 0;
    uint64_t first = 0;  // element
  };
  struct Parameter {
    std::string text;
    CaseArgument argument;
    int buffer = -1;
  };

  Region region_of(Buffer& buffer, uint64_t count, const Pattern* pattern);
  Buffer& new_buffer(const Type& type, bool written, bool constant);
  std::string load(int depth);
  void move_window(Buffer& buffer, Root::Kind kind);
  void place_buffers(KernelCase& result);
  std::string placed(const std::string& text) const;

  const bool large_;
  Choices& choices_;
  std::string functions_;
  std::string body_;
  size_t depth_ = 1;
  uint32_t names_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<Target> targets_;
  std::vector<Parameter> parameters_;
};

inline constexpr Type kTypes[] = {{"uint", 4},  {"int", 4},   {"uchar", 1},
                                  {"short", 2}, {"ulong", 8}, {"ushort", 2},
                                  {"char", 1},  {"long", 8},  {"float", 4}};
inline constexpr Type kUint = {"uint", 4};

/// The uint `value` as a value of the type, without undefined conversions.
std::string converted(const Type& type, const std::string& value);
/// And back.
std::string as_uint(const Type& type, const std::string& value);

/// A random kernel, of the choices. `large`: with enough work-items for Tutti to split it of its
/// own accord, at least kLargeItems.
KernelCase make_case(Choices& choices, const Offer& offer, bool large);

}  // namespace tutti::kernel_fuzz
