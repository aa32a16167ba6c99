// SPDX-License-Identifier: Apache-2.0
#include "kernels/bfs.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr cl_uint kUnreached = 0xffffffffU;

class Bfs final : public Benchmark {
 public:
  explicit Bfs(std::size_t size)
      : n_(size), source_(static_cast<cl_uint>(size / 3)), first_edge_{0}, found_(size) {
    Random random(10);
    const auto n = static_cast<std::uint32_t>(n_);
    // No edge leads to the last eighth of the vertices: they are never reached.
    const std::uint32_t reachable = n - n / 8;
    for (std::uint32_t v = 0; v < n; ++v) {
      // A chain, so that every other vertex is reached, and up to three edges to anywhere.
      target_.push_back((v + 1) % reachable);
      for (std::uint32_t edges = random.below(4); edges > 0; --edges) {
        target_.push_back(random.below(reachable));
      }
      first_edge_.push_back(static_cast<cl_uint>(target_.size()));
    }
    make_reference();
  }

  void set_up(const Session& session, const Program& program) override {
    device_first_edge_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, first_edge_.size());
    device_target_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, target_.size());
    device_level_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, n_);
    device_frontier_ = DeviceArray<cl_uchar>(session, CL_MEM_READ_WRITE, n_);
    device_next_ = DeviceArray<cl_uchar>(session, CL_MEM_READ_WRITE, n_);
    device_reached_ = DeviceArray<cl_uchar>(session, CL_MEM_READ_WRITE, n_);
    device_any_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, 1);
    const auto n = static_cast<cl_uint>(n_);
    start_ = make_kernel(program, "bfs_start");
    set_args(start_, device_level_, device_frontier_, device_next_, device_reached_, source_, n);
    expand_ = make_kernel(program, "bfs_expand");
    set_args(expand_, device_first_edge_, device_target_, device_frontier_, device_next_,
             device_reached_, n);
    advance_ = make_kernel(program, "bfs_advance");
  }
  void clear(const Session& session) override { device_level_.fill(session, kPoison); }
  void upload(const Session& session) override {
    device_first_edge_.write(session, first_edge_);
    device_target_.write(session, target_);
  }
  /// Waits after every level: only the devices know whether it was the last.
  void launch(const Session& session) override {
    enqueue(session, start_, range());
    cl_uint any = 1;
    for (cl_uint depth = 1; any != 0; ++depth) {
      device_any_.fill(session, 0);
      enqueue(session, expand_, range());
      set_args(advance_, device_level_, device_frontier_, device_next_, device_reached_,
               device_any_, depth, static_cast<cl_uint>(n_));
      enqueue(session, advance_, range());
      device_any_.read(session, {&any, 1});
      session.finish();
      if (depth > n_) throw ClError("breadth-first search: more levels than vertices");
    }
  }
  void download(const Session& session) override { device_level_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {}; }
  NdRange range() const override { return {{round_up(n_, kLocal)}, {kLocal}}; }

 private:
  /// With a queue of vertices, one after the other.
  void make_reference() {
    expected_.assign(n_, kUnreached);
    expected_[source_] = 0;
    std::vector<cl_uint> queue = {source_};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const cl_uint v = queue[i];
      for (cl_uint edge = first_edge_[v]; edge < first_edge_[v + 1]; ++edge) {
        const cl_uint other = target_[edge];
        if (expected_[other] != kUnreached) continue;
        expected_[other] = expected_[v] + 1;
        queue.push_back(other);
      }
    }
  }

  std::size_t n_;
  cl_uint source_;
  std::vector<cl_uint> first_edge_;
  std::vector<cl_uint> target_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_first_edge_;
  DeviceArray<cl_uint> device_target_;
  DeviceArray<cl_uint> device_level_;
  DeviceArray<cl_uchar> device_frontier_;
  DeviceArray<cl_uchar> device_next_;
  DeviceArray<cl_uchar> device_reached_;
  DeviceArray<cl_uint> device_any_;
  Kernel start_;
  Kernel expand_;
  Kernel advance_;
};

}  // namespace

Entry entry_bfs() {
  return {"bfs",
          "breadth-first search with a frontier of flags, one level after the other (1-D)",
          "vertices; each has one to four edges",
          "equal",
          200003,
          embedded::kernels_bfs_cl,
          [](std::size_t size) { return std::make_unique<Bfs>(size); }};
}

}  // namespace tutti::bench
