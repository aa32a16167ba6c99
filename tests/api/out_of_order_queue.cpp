// SPDX-License-Identifier: Apache-2.0
//
// Commands of an out-of-order queue, ordered by their wait lists alone.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class OutOfOrderQueue : public KernelTest {
 protected:
  void SetUp() override {
    if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    queue_ = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  }
};

TEST_F(OutOfOrderQueue, ChainByEvents) {
  const Kernel step = kernel("times_plus");
  const Buffer data = make_buffer_of(std::vector<cl_uint>(6400, 1));
  const size_t global = 6400;
  const size_t local = 64;
  cl_uint expected = 1;
  Event last;
  for (cl_uint i = 1; i <= 50; ++i) {
    set_args(step, data, cl_uint{5}, i);
    Event next;
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(
        queue_, step, 1, nullptr, &global, &local, last.get() == nullptr ? 0 : 1,
        last.get() == nullptr ? nullptr : last.list(), next.out()));
    last = std::move(next);
    expected = expected * 5 + i;
  }
  std::vector<cl_uint> seen(6400);
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(queue_, data, CL_TRUE, 0, 25600, seen.data(), 1, last.list(), nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_uint>(6400, expected), seen));
}

TEST_F(OutOfOrderQueue, Diamond) {
  // source -> (left, right) -> joined
  const Kernel copy = kernel("copy_ints");
  const Kernel add = kernel("add_scalar");
  const std::vector<cl_int> data = noise_of<cl_int>(6400, 1);
  const Buffer source = make_buffer(25600);
  const Buffer left = make_buffer(25600);
  const Buffer right = make_buffer(25600);
  const size_t global = 6400;
  const size_t local = 64;
  Event written;
  Event copied_left;
  Event copied_right;
  Event added_left;
  Event added_right;
  ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, source, CL_FALSE, 0, 25600, data.data(), 0, nullptr,
                                      written.out()));
  auto enqueue = [&](cl_kernel which, const Event& after, Event* event) {
    return clEnqueueNDRangeKernel(queue_, which, 1, nullptr, &global, &local, 1, after.list(),
                                  event->out());
  };
  set_args(copy, source, left);
  ASSERT_SUCCESS(enqueue(copy, written, &copied_left));
  set_args(copy, source, right);
  ASSERT_SUCCESS(enqueue(copy, written, &copied_right));
  set_args(add, left, cl_int{1000});
  ASSERT_SUCCESS(enqueue(add, copied_left, &added_left));
  set_args(add, right, cl_int{2000});
  ASSERT_SUCCESS(enqueue(add, copied_right, &added_right));
  const cl_event both[] = {added_left, added_right};
  Event joined;
  ASSERT_SUCCESS(clEnqueueCopyBuffer(queue_, left, right, 0, 0, 12800, 2, both, joined.out()));
  std::vector<cl_int> seen(6400);
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, right, CL_TRUE, 0, 25600, seen.data(), 1,
                                     joined.list(), nullptr));
  std::vector<cl_int> expected(6400);
  for (size_t i = 0; i < 6400; ++i) {
    expected[i] = static_cast<cl_int>(static_cast<cl_uint>(data[i]) + (i < 3200 ? 1000u : 2000u));
  }
  EXPECT_TRUE(same_elements(expected, seen));
}

TEST_F(OutOfOrderQueue, IndependentCommandsOvertakeHeldOnes) {
  const Event gate = make_user_event();
  const Kernel write = kernel("write_one");
  const Buffer held = make_buffer_of(std::vector<cl_int>(1, 0));
  const Buffer free = make_buffer_of(std::vector<cl_int>(1, 0));
  const size_t one = 1;
  Event done;
  set_args(write, held, cl_int{1});
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, write, 1, nullptr, &one, &one, 1, gate.list(), nullptr));
  set_args(write, free, cl_int{2});
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, write, 1, nullptr, &one, &one, 0, nullptr, done.out()));
  // Would never end if the first one stood in the way.
  ASSERT_SUCCESS(clWaitForEvents(1, done.list()));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(read_all<cl_int>(held, 1)[0], 1);
  EXPECT_EQ(read_all<cl_int>(free, 1)[0], 2);
}

TEST_F(OutOfOrderQueue, ManyWritersOfDisjointParts) {
  // Nothing orders these commands; each touches bytes of its own in one buffer.
  const std::vector<uint8_t> data = noise(64 * 1021, 3);
  const Buffer buffer = make_buffer(data.size());
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, i * 1021, 1021,
                                        data.data() + i * 1021, 0, nullptr, nullptr));
  }
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(OutOfOrderQueue, HeldWriterDoesNotBlockAnotherOfTheSameBuffer) {
  // A data edge between unordered commands would deadlock with the user event here.
  const Event gate = make_user_event();
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(128, 0));
  const std::vector<cl_int> ones(64, 1);
  const std::vector<cl_int> twos(64, 2);
  Event second;
  ASSERT_SUCCESS(
      clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, 256, ones.data(), 1, gate.list(), nullptr));
  ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 256, 256, twos.data(), 0, nullptr,
                                      second.out()));
  ASSERT_SUCCESS(clWaitForEvents(1, second.list()));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clFinish(queue_));
  std::vector<cl_int> expected(128, 1);
  std::fill(expected.begin() + 64, expected.end(), 2);
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer, 128)));
}

}  // namespace
}  // namespace tutti::api_tests
