// SPDX-License-Identifier: Apache-2.0
// What a helper says, as the driver reads it.
#include "base/helper_service.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "base/safe_file.h"

namespace tutti {
namespace {

/// Serves in a process of its own, at the other end of a socket.
class ServiceProcess {
 public:
  explicit ServiceProcess(const std::function<HelperStart()>& start) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      dup2(ends[1], kHelperSocket);
      if (ends[1] != kHelperSocket) close(ends[1]);
      serve_driver({}, start);
    }
    socket_ = Descriptor(ends[0]);
    close(ends[1]);
  }
  ~ServiceProcess() {
    socket_ = Descriptor();
    waitpid(pid_, nullptr, 0);
  }
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  /// What it says next; nothing where it has ended.
  std::optional<HelperMessage> next() const {
    return receive_helper_message(socket_.get(), UINT64_MAX);
  }

 private:
  Descriptor socket_;
  pid_t pid_ = -1;
};

// As the threads of a node's connections, which all find that the server has gone.
TEST(HelperService, EndsWithOneWordOfManyThreads) {
  constexpr int kThreads = 8;
  constexpr size_t kBytes = size_t{1} << 20;  // more than a socket takes at once
  const ServiceProcess service([] {
    std::barrier all(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&all, i] {
        const std::string why(kBytes, static_cast<char>('a' + i));
        all.arrive_and_wait();
        end_service(why);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return HelperStart{};
  });
  const auto said = service.next();
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->kind, HelperMessageKind::kTransient);
  EXPECT_EQ(said->text, std::string(kBytes, said->text.empty() ? ' ' : said->text[0]));
  EXPECT_FALSE(service.next().has_value());
}

TEST(HelperService, FinishesItsAnswerBeforeAThreadEndsIt) {
  constexpr size_t kBytes = size_t{4} << 20;
  const ServiceProcess service([] {
    // Most likely while the greeting is sent, which the socket does not take at once.
    std::thread([] { end_service("has lost its server"); }).detach();
    return HelperStart{{HelperMessageKind::kAnswer, std::string(kBytes, 'x')},
                       [](std::string_view) { return HelperMessage{}; },
                       true};
  });
  auto said = service.next();
  ASSERT_TRUE(said.has_value());
  if (said->kind == HelperMessageKind::kAnswer) {
    EXPECT_EQ(said->text.size(), kBytes);
    said = service.next();
    ASSERT_TRUE(said.has_value());
  }
  EXPECT_EQ(said->text, "has lost its server");
}

}  // namespace
}  // namespace tutti
