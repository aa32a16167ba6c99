// SPDX-License-Identifier: Apache-2.0
#include "backends/process/node_link.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/helper_message.h"
#include "base/keep_forever.h"
#include "base/own_thread.h"
#include "base/spawn_settings.h"

namespace tutti::backends::process {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// After so long without a word it is asked whether the server is there; then after twice that, …
constexpr uint64_t kQuietNs = 5 * kSecond, kMostQuietNs = 60 * kSecond;
// A host that has gone tells nobody, nor does a client that spins and reads no more (PoCL's, by a
// race of its own): the system finds out after so long.
constexpr int kUserTimeoutMs = 10'000, kKeepIdle = 3, kKeepInterval = 2, kKeepCount = 3;
constexpr size_t kBlock = size_t{256} << 10;
// What the client says first is its length, four bytes, and so many bytes more.
constexpr size_t kMostGreeting = 4096;

std::string why(int error) { return std::strerror(error); }

std::string client_failed(int error) {
  return fmt::format("has a driver that takes nothing any more ({})", why(error));
}

template <typename T>
void set_option(int socket, int level, int name, T value) {
  // A socket without it is slower, or found dead later.
  static_cast<void>(setsockopt(socket, level, name, &value, sizeof value));
}

void set_options(int socket, bool to_server) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  if (!to_server) return;
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
}

/// Until it can be read or written, or now_ns() is `until_ns`.
bool await_file(int file, short events, uint64_t until_ns) {
  for (;;) {
    const uint64_t now = now_ns();
    if (now >= until_ns) return false;
    pollfd entry{file, events, 0};
    const int left = static_cast<int>(std::min<uint64_t>((until_ns - now) / 1'000'000 + 1, 60'000));
    const int ready = poll(&entry, 1, left);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<Descriptor> connect_one(const addrinfo& to, uint64_t until_ns) {
  Descriptor made(socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!made) return fail(CL_DEVICE_NOT_AVAILABLE, why(errno));
  set_options(made.get(), true);
  if (connect(made.get(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return fail(CL_DEVICE_NOT_AVAILABLE, why(errno));
    if (!await_file(made.get(), POLLOUT, until_ns)) {
      return fail(CL_DEVICE_NOT_AVAILABLE, "it does not answer");
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return fail(CL_DEVICE_NOT_AVAILABLE, why(error));
  }
  if (fcntl(made.get(), F_SETFL, 0) != 0) return fail(CL_DEVICE_NOT_AVAILABLE, why(errno));
  return made;
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Result<Descriptor> listen_at(uint16_t port) {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  const sockaddr_in address = loopback(port);
  if (!made || bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(made.get(), 4) != 0) {
    return fail(CL_OUT_OF_RESOURCES, why(errno));
  }
  return made;
}

bool same_place(const sockaddr_in& a, const sockaddr_in& b) {
  return a.sin_family == b.sin_family && a.sin_port == b.sin_port &&
         a.sin_addr.s_addr == b.sin_addr.s_addr;
}

/// Whether a socket of this process is the other end. The place listens where every process of the
/// machine can connect to, and what the server offers is for this one's user alone.
bool is_from_here(int accepted) {
  sockaddr_in other{};
  socklen_t size = sizeof other;
  if (getpeername(accepted, reinterpret_cast<sockaddr*>(&other), &size) != 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir("/proc/self/fd"), &closedir);
  if (!files) return false;
  while (const dirent* entry = readdir(files.get())) {
    sockaddr_in one{};
    size = sizeof one;
    const int number = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (getsockname(number, reinterpret_cast<sockaddr*>(&one), &size) == 0 &&
        same_place(one, other)) {
      return true;
    }
  }
  return false;
}

/// 0: an end, or an error, which errno tells.
size_t receive(int from, std::byte* to, size_t most) {
  for (;;) {
    const ssize_t count = recv(from, to, most, 0);
    if (count >= 0) {
      errno = 0;
      return static_cast<size_t>(count);
    }
    if (errno != EINTR) return 0;
  }
}

}  // namespace

Result<NodeLink*> NodeLink::open(const Node& node, Lost lost) {
  // Its threads use it until the process ends.
  NodeLink* const link =
      keep_forever(std::unique_ptr<NodeLink>(new NodeLink(node, std::move(lost))));
  for (uint32_t i = 0; i < kConnections; ++i) {
    TUTTI_ASSIGN(link->server_[i], link->connect_to_server(i));
  }
  TUTTI_TRY(link->listen_for_client());
  link->start();
  return link;
}

std::string NodeLink::client_address() const {
  return fmt::format("127.0.0.1:{}/{}", port_, node_.device);
}

Result<Descriptor> NodeLink::connect_to_server(uint32_t number) {
  if (!node_.tunnel.empty()) return start_tunnel(number);
  const uint64_t until_ns = now_ns() + node_.wait_seconds * kSecond;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(node_.port + number);
  const int code = getaddrinfo(node_.host.c_str(), port.c_str(), &wanted, &found);
  if (code != 0) return fail(CL_DEVICE_NOT_AVAILABLE, gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, &freeaddrinfo);
  Result<Descriptor> made = fail(CL_DEVICE_NOT_AVAILABLE, "it has no address");
  for (const addrinfo* to = found; to != nullptr && !made; to = to->ai_next) {
    made = connect_one(*to, until_ns);
  }
  return made;
}

Result<Descriptor> NodeLink::start_tunnel(uint32_t number) {
  const std::string port = std::to_string(node_.port + number);
  std::vector<std::string> words{node_.tunnel, node_.host, port};
  if (node_.tunnel == "ssh") {
    // Nobody is there to be asked for a password, or whether a key is right.
    words = {"ssh", "-T",
             "-o",  "BatchMode=yes",
             "-o",  "ServerAliveInterval=3",
             "-o",  "ServerAliveCountMax=3",
             "-o",  fmt::format("ConnectTimeout={}", node_.wait_seconds),
             "-W",  "127.0.0.1:" + port,
             "--",  node_.host};
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(CL_OUT_OF_RESOURCES, why(errno));
  }
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(settings.actions(), theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(settings.actions(), theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(settings.actions(), STDERR_FILENO + 1);
  std::vector<std::string> variables = environment_;
  const std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  pid_t pid = -1;
  // It ends with this process: that is the end of its input.
  const int error = posix_spawnp(&pid, words.front().c_str(), settings.actions(),
                                 settings.attributes(), arguments.data(), environment.data());
  if (error != 0) return fail(CL_DEVICE_NOT_AVAILABLE, words.front() + ": " + why(error));
  const MutexLock lock(mutex_);
  tunnels_.push_back(pid);
  return ours;
}

Status NodeLink::listen_for_client() {
  // Any port, and the one behind it, which somebody else may have.
  constexpr int kTrials = 100;
  for (int i = 0; i < kTrials; ++i) {
    TUTTI_ASSIGN(listening_[0], listen_at(0));
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(listening_[0].get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return fail(CL_OUT_OF_RESOURCES, why(errno));
    }
    port_ = ntohs(address.sin_port);
    if (port_ == UINT16_MAX) continue;
    if (auto next = listen_at(static_cast<uint16_t>(port_ + 1))) {
      listening_[1] = std::move(*next);
      return {};
    }
  }
  return fail(CL_OUT_OF_RESOURCES, "there are no two free ports that follow each other");
}

void NodeLink::in_thread(std::function<void()> call) {
  const Status started = guarded([&] {
    start_unseen_thread([call = std::move(call)] {
      pthread_setname_np(pthread_self(), "tutti-node");
      call();
    });
  });
  if (!started) lost_("has no thread for its server");
}

void NodeLink::start() {
  for (uint32_t i = 0; i < kConnections; ++i) in_thread([this, i] { serve_client(i); });
  in_thread([this] { watch(); });
}

void NodeLink::serve_client(uint32_t number) {
  int client = -1;
  while (client < 0) {
    client = accept4(listening_[number].get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0 && !is_from_here(client)) client = (close(client), -1);
  }
  listening_[number] = Descriptor();
  set_options(client, false);
  const int server = server_[number].get();
  accepted_.fetch_add(1);  // before anybody can be answered
  in_thread([this, client, server] { pass_on(server, client, false, false); });
  pass_on(client, server, true, number == 0);
}

void NodeLink::pass_on(int from, int to, bool to_server, bool greets) {
  std::vector<std::byte> block(kBlock);
  for (;;) {
    const size_t count = receive(from, block.data(), block.size());
    if (count == 0) {
      const int error = errno;
      if (to_server) lost_(error == 0 ? "has let go of its server" : client_failed(error));
      const std::string how = error == 0 ? "it has closed the connection" : why(error);
      lost_(received_ns_.load() == 0 ? fmt::format("cannot reach its server ({})", how)
                                     : fmt::format("has lost its server ({})", how));
    }
    if (greets) keep_greeting(block.data(), count);
    (to_server ? sent_ns_ : received_ns_).store(now_ns());
    if (!send_bytes(to, block.data(), count)) {
      const int error = errno;
      lost_(to_server ? fmt::format("has lost its server ({})", why(error)) : client_failed(error));
    }
  }
}

void NodeLink::keep_greeting(const std::byte* data, size_t size) {
  const MutexLock lock(mutex_);
  uint32_t length = 0;
  const auto whole = [&]() TUTTI_REQUIRES(mutex_) {
    if (greeting_.size() < sizeof length) return sizeof length;
    std::memcpy(&length, greeting_.data(), sizeof length);
    return std::min(sizeof length + length, kMostGreeting);
  };
  while (size > 0 && greeting_.size() < whole()) {
    const size_t part = std::min(size, whole() - greeting_.size());
    greeting_.insert(greeting_.end(), data, data + part);
    data += part;
    size -= part;
  }
}

bool NodeLink::answers_anew() {
  std::vector<std::byte> greeting;
  {
    const MutexLock lock(mutex_);
    greeting = greeting_;
  }
  const auto made = connect_to_server(0);
  std::byte answer{};
  return made && send_bytes(made->get(), greeting.data(), greeting.size()) &&
         await_file(made->get(), POLLIN, now_ns() + node_.wait_seconds * kSecond) &&
         receive(made->get(), &answer, sizeof answer) != 0;
}

void NodeLink::watch() {
  const uint64_t wait_ns = node_.wait_seconds * kSecond;
  uint64_t heard_ns = 0, asked_ns = 0, interval_ns = kQuietNs;
  for (;;) {
    poll(nullptr, 0, 500);
    reap_tunnels();
    const uint64_t sent = sent_ns_.load(), received = received_ns_.load(), now = now_ns();
    if (sent == 0) continue;
    if (received == 0) {
      if (now > sent + wait_ns) lost_("cannot reach its server (it does not answer)");
      continue;
    }
    if (const uint64_t last = std::max(sent, received); last != heard_ns) {
      heard_ns = last;
      interval_ns = kQuietNs;
    }
    if (now < std::max(heard_ns, asked_ns) + interval_ns) continue;
    if (!answers_anew() && std::max(sent_ns_.load(), received_ns_.load()) == heard_ns) {
      lost_("has lost its server (it answers no more)");
    }
    asked_ns = now_ns();
    interval_ns = std::min(2 * interval_ns, kMostQuietNs);
  }
}

void NodeLink::reap_tunnels() {
  const MutexLock lock(mutex_);
  std::erase_if(tunnels_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace tutti::backends::process
