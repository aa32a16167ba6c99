// SPDX-License-Identifier: Apache-2.0
// A device's context is lost, and the device comes back. What was lost is told, and whoever writes
// it anew has right results from then on, whoever computes.
#include <chrono>
#include <stdexcept>

#include "world.h"

namespace tutti::faults {

void comes_back(World& w) {
  constexpr size_t kItems = 64 * 37;
  constexpr int kRounds = 8;  // without an error, once it is back
  constexpr auto kLimit = std::chrono::seconds(40);
  const auto began = std::chrono::steady_clock::now();
  Numbers x = noise(kItems);
  const Numbers in = noise(kItems, 2);
  const cl_mem memory = w.buffer_of(x), from = w.buffer_of(in), to = w.buffer(64);
  const cl_kernel in_place = w.kernel("in_place"), count = w.kernel("count");
  w.set(in_place, 0, memory);
  w.set(count, 0, from);
  w.set(count, 1, to);
  const auto write = [&w](cl_mem buffer, const Numbers& numbers) {
    w.call("clEnqueueWriteBuffer",
           clEnqueueWriteBuffer(w.queue(), buffer, CL_TRUE, 0, numbers.size() * sizeof(cl_uint),
                                numbers.data(), 0, nullptr, w.hold()));
  };
  for (int rounds = 0; rounds < kRounds;) {
    // An exception that nobody catches: this is a failure, whatever was told.
    if (std::chrono::steady_clock::now() - began > kLimit) {
      throw std::runtime_error("the device does not come back");
    }
    const bool lost = w.told();
    w.begin_anew();
    if (lost) {
      x = noise(kItems, 3);
      write(memory, x);
      write(from, in);
    }
    Numbers counts(16, 0);
    write(to, counts);
    w.launch(in_place, kItems);
    for (cl_uint& value : x) value = value * 3 + 1;
    w.launch(count, kItems);
    for (const cl_uint value : in) ++counts[value % 16];
    w.read(memory, x);
    w.read(to, counts);
    const bool back = w.launches_after_loss && w.launches_after_loss() > 0;
    rounds = back && !w.told() ? rounds + 1 : 0;
  }
}

}  // namespace tutti::faults
