// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <array>

namespace tutti::bench {
namespace {

/// `once`, kLaunches times with 1, 2, …, and then a finish.
template <typename Once>
void in_a_row(Side& side, Once once) {
  for (cl_uint i = 1; i <= kLaunches; ++i) once(side, i);
  side.finish();
}

/// Launches that all wait for one user event, whose status is then set.
template <cl_uint kCount>
void behind_user_event(Side& side) {
  const cl_event event = side.make_user_event();
  for (cl_uint i = 0; i < kCount; ++i) side.launch(nullptr, &event);
  side.complete(event);
  side.finish();
  side.release(event);
}

const Row kRows[] = {
    {"enqueue_finish",
     [](Side& side) {
       side.launch();
       side.finish();
     }},
    {"enqueue_read_4_bytes",
     [](Side& side) {
       side.launch();
       side.read_counter();
     }},
    {"search_step", [](Side& side) { side.search(1); }},
    {"launch_1000_finish",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint) { s.launch(); }); }},
    {"launch_1000_numbers",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add(i); }); }},
    {"launch_1000_kernels",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint i) {
         if (i % 2 == 0) {
           s.launch();
         } else {
           s.add(1);
         }
       });
     }},
    {"launch_1000_ping_pong",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.step(i % 2 == 0); }); }},
    {"launch_1000_buffers",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint i) {
         s.choose(i % 2);
         s.launch();
       });
     }},
    {"launch_1000_events",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint) {
         cl_event event = nullptr;
         s.launch(&event);
         s.release(event);
       });
     }},
    {"launch_1000_chained",
     [](Side& side) {
       cl_event last = nullptr;
       in_a_row(side, [&last](Side& s, cl_uint) {
         cl_event event = nullptr;
         s.launch(&event, last ? &last : nullptr);
         if (last != nullptr) s.release(last);
         last = event;
       });
       side.release(last);
     }},
    {"launch_1000_markers",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint) { s.launch_and_mark(); }); }},
    {"launch_1000_callbacks",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint) { s.launch_and_call_back(); });
       side.wait_for_callbacks(kLaunches);
     }},
    {"launch_1000_barriers",
     [](Side& side) {
       for (cl_uint i = 0; i < kLaunches; ++i) side.launch_and_barrier();
       side.finish_unordered();
     }},
    {"launch_1000_two_queues",
     [](Side& side) {
       std::array<cl_event, kLaunches> events{};
       for (cl_uint i = 0; i < kLaunches; ++i) {
         side.launch_on(i % 2 != 0, &events[i], i == 0 ? nullptr : &events[i - 1]);
       }
       side.finish();
       side.finish_second();
       for (cl_event event : events) side.release(event);
     }},
    {"launch_1000_user_event", behind_user_event<kLaunches>, 0, true},
    {"launch_100000_user_event", behind_user_event<100 * kLaunches>, 1, true},
    {"launch_wait_times", [](Side& side) { side.launch_and_read_times(); }},
    {"launch_1000_writes",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from(i); }); }},
    {"launch_1000_blocking_writes",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_at_once(i); }); }},
    {"launch_1000_maps",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_mapped(i); }); }},
    {"launch_1000_copies",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_copied(1 + i % 2); }); }},
    {"launch_1000_fills",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_filled(i); }); }},
    {"launch_1000_new_buffers",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_new(i); }); }},
    // A thousand commands each, twenty at a time.
    {"twenty_commands",
     [](Side& side) {
       for (cl_uint i = 0; i < kLaunches / kTwenty; ++i) side.enqueue_twenty();
       side.finish();
     }},
    {"twenty_commands_event",
     [](Side& side) {
       for (cl_uint i = 0; i < kLaunches / kTwenty; ++i) {
         cl_event event = nullptr;
         side.enqueue_twenty(&event);
         side.wait_and_release(event);
       }
     }},
    {"twenty_recorded",
     [](Side& side) {
       for (cl_uint i = 0; i < kLaunches / kTwenty; ++i) side.replay_twenty();
       side.finish();
     },
     0, false, true},
    {"twenty_recorded_event",
     [](Side& side) {
       for (cl_uint i = 0; i < kLaunches / kTwenty; ++i) {
         cl_event event = nullptr;
         side.replay_twenty(&event);
         side.wait_and_release(event);
       }
     },
     0, false, true},
    {"read_64_bytes", [](Side& side) { side.read(); }},
    {"write_64_bytes", [](Side& side) { side.write(); }},
};

}  // namespace

std::span<const Row> rows() { return kRows; }

}  // namespace tutti::bench
