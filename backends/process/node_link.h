// SPDX-License-Identifier: Apache-2.0
// The connection of a helper that drives a device of another host (a node) to its server. PoCL's
// client is given a place in this process to connect to; what it and the server send each other is
// passed on from here, directly or by way of a tunnel. So the helper hears first when the server
// has gone, and ends before the client can take what was under way there for done, as it does.
//
// Made once, in a helper, and used until that ends. Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/nodes.h"
#include "base/result.h"
#include "base/safe_file.h"
#include "base/spawn_settings.h"
#include "base/thread_annotations.h"

namespace tutti::backends::process {

class NodeLink {
 public:
  /// What a link has come to. It must not return.
  using Lost = std::function<void(const std::string& why)>;

  /// Connects to the server, for no longer than the node waits, and waits for the client. An error
  /// says why the server cannot be reached.
  static Result<NodeLink*> open(const Node& node, Lost lost);

  /// Where the client shall connect to, as POCL_REMOTE0_PARAMETERS has it.
  std::string client_address() const;
  /// The client has done so, and the server has answered it.
  bool in_use() const { return accepted_.load() == kConnections && received_ns_.load() != 0; }

 private:
  // Commands, and what is large: the server has a port for each, which follow each other.
  static constexpr uint32_t kConnections = 2;

  NodeLink(Node node, Lost lost) : node_(std::move(node)), lost_(std::move(lost)) {}
  Status listen_for_client();
  void start();
  void in_thread(std::function<void()> call);
  /// An open connection to the server's port with this number. With a tunnel its own process tells
  /// later whether there is one.
  Result<Descriptor> connect_to_server(uint32_t number);
  Result<Descriptor> start_tunnel(uint32_t number) TUTTI_EXCLUDES(mutex_);
  void reap_tunnels() TUTTI_EXCLUDES(mutex_);
  /// Waits for the client's connection with this number, and passes on until the process ends.
  void serve_client(uint32_t number);
  /// Until the process ends. `greets`: its first words are those to keep.
  void pass_on(int from, int to, bool to_server, bool greets);
  /// Ends the helper when the server says nothing, and does not answer somebody new either.
  void watch();
  bool answers_anew() TUTTI_EXCLUDES(mutex_);
  void keep_greeting(const std::byte* data, size_t size) TUTTI_EXCLUDES(mutex_);

  const Node node_;
  const Lost lost_;
  uint16_t port_ = 0;
  Descriptor listening_[kConnections], server_[kConnections];
  std::atomic<uint32_t> accepted_{0};
  std::atomic<uint64_t> sent_ns_{0}, received_ns_{0};  // when something was last passed on
  Mutex mutex_;
  std::vector<pid_t> tunnels_ TUTTI_GUARDED_BY(mutex_);
  const std::vector<std::string> environment_ = copy_of_environment();  // of what it starts
  // What the client has said first: whoever says it to the server is answered.
  std::vector<std::byte> greeting_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::backends::process
