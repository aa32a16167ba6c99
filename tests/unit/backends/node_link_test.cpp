// SPDX-License-Identifier: Apache-2.0
// A helper's connection to the server of a node: what is passed on, who may use it, and what is
// told when the server goes.
#include "backends/process/node_link.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "temporary_folder.h"

namespace tutti::backends::process {
namespace {

using ::testing::HasSubstr;

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor connected(uint16_t port) {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(port);
  if (connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return {};
  return made;
}

std::string words(const Descriptor& from, size_t size) {
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count = read(from.get(), text.data() + done, size - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return text;
}

void say(const Descriptor& to, const std::string& text) {
  EXPECT_EQ(write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

/// Listens at two ports that follow each other, as PoCL's server does.
class Listeners {
 public:
  Listeners() {
    for (int trial = 0; trial < 100; ++trial) {
      first_ = listening(0);
      sockaddr_in address{};
      socklen_t size = sizeof address;
      getsockname(first_.get(), reinterpret_cast<sockaddr*>(&address), &size);
      port = ntohs(address.sin_port);
      second_ = listening(static_cast<uint16_t>(port + 1));
      if (second_) return;
    }
  }
  Descriptor accept_first() const { return Descriptor(accept(first_.get(), nullptr, nullptr)); }
  Descriptor accept_second() const { return Descriptor(accept(second_.get(), nullptr, nullptr)); }
  void close() {
    first_ = Descriptor();
    second_ = Descriptor();
  }

  uint16_t port = 0;

 private:
  static Descriptor listening(uint16_t port) {
    Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(made.get(), 4) != 0) {
      return {};
    }
    return made;
  }
  Descriptor first_, second_;
};

class NodeLinkTest : public ::testing::Test {
 protected:
  /// Whoever loses the link stays there, as a helper ends there.
  NodeLink::Lost lost() {
    return [told = told_](const std::string& why) {
      static_cast<void>(told->has_lost(why));
      for (;;) pause();
    };
  }
  std::string why() const { return told_->first.get_future().get(); }
  Node node(uint16_t port) const {
    Node made;
    made.host = "127.0.0.1";
    made.port = port;
    made.insecure = true;
    return made;
  }
  static uint16_t client_port(const NodeLink& link) {
    const std::string address = link.client_address();
    return static_cast<uint16_t>(std::stoul(address.substr(address.find(':') + 1)));
  }

 private:
  struct Told {
    std::promise<std::string> first;
    std::atomic<bool> done{false};
    bool has_lost(const std::string& why) {
      const bool is_first = !done.exchange(true);
      if (is_first) first.set_value(why);
      return is_first;
    }
  };
  std::shared_ptr<Told> told_ = std::make_shared<Told>();
};

TEST_F(NodeLinkTest, PassesOnAndTellsOfTheEnd) {
  Listeners listeners;
  const auto link = NodeLink::open(node(listeners.port), lost());
  ASSERT_TRUE(link.has_value()) << link.error().message;
  EXPECT_FALSE((*link)->in_use());
  const Descriptor commands = listeners.accept_first(), data = listeners.accept_second();
  const uint16_t port = client_port(**link);
  const Descriptor client = connected(port);
  say(client, "question");
  EXPECT_EQ(words(commands, 8), "question");
  say(commands, "answer");
  EXPECT_EQ(words(client, 6), "answer");
  const Descriptor more = connected(static_cast<uint16_t>(port + 1));
  say(data, std::string(100'000, 'x'));
  EXPECT_EQ(words(more, 100'000), std::string(100'000, 'x'));
  EXPECT_TRUE((*link)->in_use());
  // The client never hears of it.
  shutdown(data.get(), SHUT_RDWR);
  EXPECT_THAT(why(), HasSubstr("has lost its server (it has closed the connection)"));
  std::byte none{};
  EXPECT_LT(recv(more.get(), &none, sizeof none, MSG_DONTWAIT), 0);
  EXPECT_LT(recv(client.get(), &none, sizeof none, MSG_DONTWAIT), 0);
}

TEST_F(NodeLinkTest, OnlyForThisProcess) {
  Listeners listeners;
  const auto link = NodeLink::open(node(listeners.port), lost());
  ASSERT_TRUE(link.has_value());
  const std::string port = std::to_string(client_port(**link));
  // Another process that connects is turned away: it reads an end.
  const std::string command = "exec 3<>/dev/tcp/127.0.0.1/" + port + " && ! read -r line <&3";
  EXPECT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  const Descriptor client = connected(client_port(**link));
  const Descriptor commands = listeners.accept_first();
  say(client, "mine");
  EXPECT_EQ(words(commands, 4), "mine");
}

TEST_F(NodeLinkTest, AServerThatDoesNotAnswer) {
  Listeners listeners;
  Node slow = node(listeners.port);
  slow.wait_seconds = 1;
  const auto link = NodeLink::open(slow, lost());
  ASSERT_TRUE(link.has_value());
  const Descriptor client = connected(client_port(**link));
  say(client, "anybody?");
  EXPECT_THAT(why(), HasSubstr("it does not answer"));
}

// As PoCL's does that spins: its connections are there, and so is the server.
TEST_F(NodeLinkTest, AClientThatReadsNoMore) {
  const Listeners listeners;
  Node there = node(listeners.port);
  there.wait_seconds = 600;  // which this server needs to be asked whether it is there
  const auto link = NodeLink::open(there, lost());
  ASSERT_TRUE(link.has_value());
  const Descriptor server = listeners.accept_first(), other = listeners.accept_second();
  const Descriptor client = connected(client_port(**link));
  say(client, "hello");
  EXPECT_EQ(words(server, 5), "hello");
  // More than all buffers on the way hold.
  const std::string much(size_t{1} << 20, 'x');
  auto sending = std::async(std::launch::async, [&] {
    while (send(server.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_THAT(why(), ::testing::AnyOf(HasSubstr("takes nothing any more"), HasSubstr("let go")));
  shutdown(server.get(), SHUT_RDWR);
  sending.wait();
}

TEST_F(NodeLinkTest, ANodeThatIsOff) {
  Listeners listeners;
  listeners.close();
  const auto link = NodeLink::open(node(listeners.port), lost());
  ASSERT_FALSE(link.has_value());
  EXPECT_THAT(link.error().message, HasSubstr("refused"));
}

TEST_F(NodeLinkTest, ThroughATunnel) {
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/tunnel";
  // Says whom it would connect to, then gives back what it gets.
  std::ofstream(program) << "#!/bin/sh\nprintf '%s %s.' \"$1\" \"$2\"\nexec cat\n";
  chmod(program.c_str(), 0755);
  Node far = node(4000);
  far.host = "far.example";
  far.tunnel = program;
  const auto link = NodeLink::open(far, lost());
  ASSERT_TRUE(link.has_value()) << link.error().message;
  const uint16_t port = client_port(**link);
  const Descriptor client = connected(port), more = connected(static_cast<uint16_t>(port + 1));
  say(client, "echo");
  EXPECT_EQ(words(client, 21), "far.example 4000.echo");
  EXPECT_EQ(words(more, 17), "far.example 4001.");
}

TEST_F(NodeLinkTest, ATunnelThatEnds) {
  Node far = node(4000);
  far.tunnel = "/bin/false";
  const auto link = NodeLink::open(far, lost());
  ASSERT_TRUE(link.has_value());
  const Descriptor client = connected(client_port(**link));
  EXPECT_THAT(why(), HasSubstr("cannot reach its server"));
  far.tunnel = "/nonexistent/tunnel";
  EXPECT_FALSE(NodeLink::open(far, lost()).has_value());
}

}  // namespace
}  // namespace tutti::backends::process
