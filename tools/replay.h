// SPDX-License-Identifier: Apache-2.0
// Runs a record's calls on a driver, without the application: an ordinary OpenCL client. All calls
// come from one thread, in the order in which commands were enqueued and waits ended. What the
// application had read is read again and compared. Used by one thread, once.
#pragma once

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/reader.h"
#include "tools/replay_waits.h"

namespace tutti::tools {

struct ReplayResult {
  uint64_t calls = 0;        // replayed
  uint64_t passed_over = 0;  // queries, calls that had failed, and what cannot be replayed
  uint64_t compared = 0, equal = 0, within_tolerance = 0;
  uint64_t unknown = 0;  // reads whose recorded data are missing
  struct Difference {
    uint64_t call = 0;  // as `tutti record show` numbers them
    std::string text;
    uint64_t offset = 0, size = 0;  // of the first differing byte; of the data
  };
  std::vector<Difference> differences;
  struct OtherCode {
    uint64_t call = 0;
    std::string text;
    cl_int recorded = 0, replayed = 0;
  };
  std::vector<OtherCode> other_codes;
  struct Kernel {
    uint64_t launches = 0;
    uint64_t recorded_ns = 0, replayed_ns = 0;  // of launches whose time is known on both sides
  };
  std::map<std::string, Kernel> kernels;
  std::vector<std::string> notes;
  std::vector<std::string> failures;  // calls that could not be made: missing or damaged content
  uint64_t recorded_ns = 0, replayed_ns = 0;
};

struct ReplayFrame;

class Replay {
 public:
  /// `tolerance`: relative, of data that differ, taken as 32-bit floats; 0: bytes must be equal.
  /// `at` is the call that is being made, as `tutti record show` numbers them.
  Replay(record::Record& record, cl_platform_id platform, double tolerance,
         std::atomic<uint64_t>& at);
  ~Replay();
  ReplayResult run();

 private:
  friend struct ReplayFrame;
  struct InFlight;
  struct Mapping;

  void step(size_t index, bool wait_later);
  void make(ReplayFrame& frame, record::Call& call, bool creates);
  void issue(ReplayFrame& frame, record::Call& call);
  size_t pixel_of(const record::Call& call) const;
  void prepare_read(ReplayFrame& frame, record::Call& call);
  void finish_map(ReplayFrame& frame, const record::Call& call, void* pointer);
  void unmap(ReplayFrame& frame, record::Call& call);
  void create_objects(ReplayFrame& frame, record::Call& call);
  void create_program(ReplayFrame& frame, const record::Call& call);
  void after(std::unique_ptr<ReplayFrame> frame, bool wait_later);
  void settle(bool wait);
  void finish();
  void end_user_events(const ReplayWaits::UserEvents& events, size_t index);
  void end_user_event(uint64_t event);
  void complete(InFlight& command);
  void compare(const InFlight& command, const std::vector<std::byte>& found);
  void* live(record::Object object) const;
  void set_live(record::Object object, void* handle);
  void note(const std::string& text);

  record::Record& record_;
  const cl_platform_id platform_;
  const cl_icd_dispatch& cl_;
  const double tolerance_;
  std::atomic<uint64_t>& at_;
  uint64_t most_bytes_ = 0;  // that the device takes at once
  ReplayResult result_;
  cl_device_id device_ = nullptr;
  std::unordered_map<uint64_t, void*> objects_;
  std::unordered_map<uint64_t, uint64_t> references_;  // that the record's calls hold
  std::unordered_map<uint64_t, std::string> kernel_names_;
  std::unordered_map<uint64_t, Mapping> mappings_;  // by the begins of the calls that mapped
  std::deque<InFlight> in_flight_;
  std::unordered_map<uint64_t, cl_event> blocked_;  // of blocking calls that others overtook
  ReplayWaits waits_;
  std::vector<std::vector<std::byte>> kept_;  // memory of CL_MEM_USE_HOST_PTR
};

}  // namespace tutti::tools
