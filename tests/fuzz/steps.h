// SPDX-License-Identifier: Apache-2.0
// The fuzzer's steps, in families. A new family is a file with such a function
// and its line in all_steps().
#pragma once

#include <string>
#include <vector>

#include "world.h"

namespace tutti::api_fuzz {

/// One call or a few that belong together. A step whose objects are missing does nothing.
struct Step {
  const char* name;
  uint32_t weight;  // how often, relative to the others
  void (*run)(World&);
};
using Steps = std::vector<Step>;

Steps object_steps();   // contexts, queues, sub-devices, references, queries
Steps memory_steps();   // buffers, and the commands on them
Steps program_steps();  // programs, kernels, launches
Steps image_steps();    // images and samplers, and the commands on them
Steps event_steps();    // events, callbacks, markers, waiting
Steps command_steps();  // command buffers, and updates of their commands
Steps absent_steps();   // what the driver does not offer, or not to everybody

inline Steps all_steps() {
  Steps all;
  for (const Steps& family : {object_steps(), memory_steps(), image_steps(), program_steps(),
                              event_steps(), command_steps(), absent_steps()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

/// What a kernel of the good program takes: m(emory), i(nteger), l(ocal memory).
std::string arguments_of(const ObjectRef& kernel);
/// Such that it does not leave the buffers, which have room for one element.
cl_int choose_arguments(const ObjectRef& kernel, const ObjectRef& in, const ObjectRef& out);

/// A context and a queue of it; false when there is none.
struct QueueChoice {
  ObjectRef queue;
  cl_command_queue handle = nullptr;
  bool wrong = false;
};
/// Rarely one that is none.
inline bool choose_queue(World& world, QueueChoice& choice) {
  choice.queue = world.any(Kind::kQueue);
  if (!choice.queue) return false;
  choice.handle = choice.queue->as<cl_command_queue>();
  choice.wrong = world.random.one_in(60);
  if (choice.wrong) choice.handle = world.wrong<cl_command_queue>(Kind::kQueue);
  return true;
}

}  // namespace tutti::api_fuzz
