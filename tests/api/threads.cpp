// SPDX-License-Identifier: Apache-2.0
//
// Eight threads at once, over shared and own objects.
#include <thread>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kThreads = 8;
constexpr size_t kCount = 64 * 64;
constexpr int kRounds = 30;

class Threads : public KernelTest {
 protected:
  template <typename Function>
  static void run(Function function, size_t count = kThreads) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; ++t) threads.emplace_back(function, t);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(Threads, OwnQueuesAndKernels) {
  run([&](size_t t) {
    const Queue queue = make_queue();
    const Kernel step = kernel("times_plus");
    const Buffer data = make_buffer_of(std::vector<cl_uint>(kCount, static_cast<cl_uint>(t)));
    auto expected = static_cast<cl_uint>(t);
    const size_t local = 64;
    for (cl_uint i = 0; i < kRounds; ++i) {
      set_args(step, data, cl_uint{7}, i);
      EXPECT_SUCCESS(
          clEnqueueNDRangeKernel(queue, step, 1, nullptr, &kCount, &local, 0, nullptr, nullptr));
      expected = expected * 7 + i;
      if (i % 5 == 0) {
        EXPECT_SUCCESS(clFinish(queue));
      }
    }
    std::vector<cl_uint> seen(kCount);
    EXPECT_SUCCESS(
        clEnqueueReadBuffer(queue, data, CL_TRUE, 0, kCount * 4, seen.data(), 0, nullptr, nullptr));
    EXPECT_TRUE(same_elements(std::vector<cl_uint>(kCount, expected), seen));
  });
}

TEST_F(Threads, OneQueueSharedByAll) {
  run([&](size_t t) {
    const Kernel step = kernel("times_plus");
    const Buffer data = make_buffer_of(std::vector<cl_uint>(kCount, 1));
    cl_uint expected = 1;
    const size_t local = 64;
    for (cl_uint i = 0; i < kRounds; ++i) {
      set_args(step, data, static_cast<cl_uint>(t + 2), i);
      Event event;
      EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue_, step, 1, nullptr, &kCount, &local, 0, nullptr,
                                            event.out()));
      EXPECT_SUCCESS(clWaitForEvents(1, event.list()));
      expected = expected * static_cast<cl_uint>(t + 2) + i;
    }
    EXPECT_TRUE(
        same_elements(std::vector<cl_uint>(kCount, expected), read_all<cl_uint>(data, kCount)));
  });
}

TEST_F(Threads, ClonesOfOneKernel) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 function";
  // A kernel object is the one object that threads may not share while they set arguments:
  // each takes a clone.
  const Kernel original = kernel("add_scalar");
  const Buffer shared = make_buffer_of(std::vector<cl_int>(kThreads * 64, 0));
  set_args(original, shared, cl_int{0});
  run([&](size_t t) {
    cl_int code = CL_SUCCESS;
    const Kernel mine(clCloneKernel(original, &code));
    EXPECT_SUCCESS(code);
    const size_t offset = 64 * t;
    const size_t global = 64;
    const size_t local = 64;
    const Queue queue = make_queue();
    // Disjoint parts of one buffer, at the same time
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_SUCCESS(set_arg(mine, 1, static_cast<cl_int>(t + 1)));
      EXPECT_SUCCESS(
          clEnqueueNDRangeKernel(queue, mine, 1, &offset, &global, &local, 0, nullptr, nullptr));
    }
    EXPECT_SUCCESS(clFinish(queue));
  });
  const std::vector<cl_int> seen = read_all<cl_int>(shared, kThreads * 64);
  for (size_t i = 0; i < seen.size(); ++i) {
    ASSERT_EQ(seen[i], kRounds * static_cast<cl_int>(i / 64 + 1)) << i;
  }
}

TEST_F(Threads, TransfersOfDisjointParts) {
  constexpr size_t kPart = 10007;
  const std::vector<uint8_t> data = noise(kPart * kThreads, 1);
  const Buffer buffer = make_buffer(data.size());
  run([&](size_t t) {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, t * kPart, kPart,
                                          data.data() + t * kPart, 0, nullptr, nullptr));
      std::vector<uint8_t> seen(kPart);
      EXPECT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, t * kPart, kPart, seen.data(), 0,
                                         nullptr, nullptr));
      EXPECT_EQ(std::memcmp(seen.data(), data.data() + t * kPart, kPart), 0);
    }
  });
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(Threads, CreateAndReleaseEverything) {
  run([&](size_t t) {
    for (int i = 0; i < 10; ++i) {
      const Context context = make_context();
      cl_int code = CL_SUCCESS;
      const Queue queue(clCreateCommandQueue(context, device_, 0, &code));
      EXPECT_SUCCESS(code);
      const Buffer buffer(clCreateBuffer(context, 0, 4096, nullptr, &code));
      EXPECT_SUCCESS(code);
      const auto value = static_cast<cl_int>(t);
      EXPECT_SUCCESS(clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 4096, 0, nullptr, nullptr));
      std::vector<cl_int> seen(1024);
      EXPECT_SUCCESS(
          clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4096, seen.data(), 0, nullptr, nullptr));
      EXPECT_TRUE(same_elements(std::vector<cl_int>(1024, value), seen));
    }
  });
}

TEST_F(Threads, ReferenceCounting) {
  const Buffer buffer = make_buffer(64);
  run([&](size_t) {
    for (int i = 0; i < 10000; ++i) {
      EXPECT_SUCCESS(clRetainMemObject(buffer));
      EXPECT_SUCCESS(clReleaseMemObject(buffer));
    }
  });
  EXPECT_EQ(reference_count(buffer.get(), CL_MEM_REFERENCE_COUNT), 1u);
}

TEST_F(Threads, HandedFromOneToTheNext) {
  // Thread t waits for thread t-1 by events alone; every command is enqueued at once.
  const Buffer data = make_buffer_of(std::vector<cl_uint>(kCount, 1));
  std::vector<Event> gates;
  for (size_t t = 0; t <= kThreads; ++t) gates.push_back(make_user_event());
  run([&](size_t t) {
    const Queue queue = make_queue();
    const Kernel step = kernel("times_plus");
    set_args(step, data, cl_uint{3}, static_cast<cl_uint>(t));
    const size_t local = 64;
    Event event;
    EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue, step, 1, nullptr, &kCount, &local, 1,
                                          gates[t].list(), event.out()));
    EXPECT_SUCCESS(clFlush(queue));
    if (t == 0) {
      EXPECT_SUCCESS(clSetUserEventStatus(gates[0], CL_COMPLETE));
    }
    EXPECT_SUCCESS(clWaitForEvents(1, event.list()));
    EXPECT_SUCCESS(clSetUserEventStatus(gates[t + 1], CL_COMPLETE));
  });
  cl_uint expected = 1;
  for (cl_uint t = 0; t < kThreads; ++t) expected = expected * 3 + t;
  EXPECT_TRUE(
      same_elements(std::vector<cl_uint>(kCount, expected), read_all<cl_uint>(data, kCount)));
}

TEST_F(Threads, BuildsAtOnce) {
  run(
      [&](size_t t) {
        const std::string source =
            "kernel void k(global int* o) { o[0] = " + std::to_string(t + 50) + "; }";
        const Program program = build(source);
        const Kernel own = make_kernel(program, "k");
        const Queue queue = make_queue();
        const Buffer out = make_buffer(4);
        set_args(own, out);
        const size_t one = 1;
        EXPECT_SUCCESS(
            clEnqueueNDRangeKernel(queue, own, 1, nullptr, &one, &one, 0, nullptr, nullptr));
        cl_int seen = 0;
        EXPECT_SUCCESS(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 4, &seen, 0, nullptr, nullptr));
        EXPECT_EQ(seen, static_cast<cl_int>(t + 50));
      },
      4);
}

}  // namespace
}  // namespace tutti::api_tests
