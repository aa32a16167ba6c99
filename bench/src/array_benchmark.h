// SPDX-License-Identifier: Apache-2.0
// What most benchmarks share: arrays of which each has a host's and a device's side, and one
// kernel. A benchmark derives from ArrayBenchmark, or from KernelBenchmark when a launch is one
// kernel, and has Input, Output and Scratch as members. Ownership: arrays belong to the benchmark
// whose member they are and are listed in it. Not thread-safe, but for lanes: a lane is one
// device's copy of all arrays and the kernel; once open, each lane may be driven by a thread of its
// own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "verify.h"

namespace tutti::bench {

/// Consecutive work-groups along the range's last dimension.
struct Part {
  std::size_t first = 0;
  std::size_t groups = 0;
};

class ArrayBenchmark;

/// One array of a benchmark.
class HostArray {
 public:
  explicit HostArray(ArrayBenchmark& owner);
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  virtual ~HostArray() = default;

  virtual void create(const Session& session) = 0;  ///< in one lane more
  virtual void release() = 0;                       ///< the last lane's
  virtual void clear(const Session&, std::size_t) const {}
  virtual void upload(const Session&, std::size_t, const Part*) const {}
  virtual void download(const Session&, std::size_t, const Part*) {}
  virtual Verdict compare() const { return {}; }
  /// What was downloaded last is what is expected, to the bit.
  virtual void keep() {}
  virtual Verdict compare_kept() const { return {}; }
  /// Whether parts of the range can be computed apart, as far as this array is concerned.
  virtual bool divisible() const { return true; }
};

class ArrayBenchmark : public Benchmark {
 public:
  void set_up(const Session& session, const Program& program) override;
  void clear(const Session& session) override { clear_lane(session, 0); }
  void upload(const Session& session) override { upload_lane(session, 0, nullptr); }
  void download(const Session& session) override { download_lane(session, 0, nullptr); }
  /// Each output must be equal to what it expects; others override.
  Verdict verify(std::size_t launches) override;
  /// The reference by another device: what it computed.
  void keep() const;
  Verdict verify_kept() const;

 protected:
  /// Makes the kernels and sets the arguments, for the arrays' side in this lane.
  virtual void prepare(const Program& program, std::size_t lane) = 0;

  void clear_lane(const Session& session, std::size_t lane) const;
  /// What `part` needs; all without one.
  void upload_lane(const Session& session, std::size_t lane, const Part* part) const;
  /// What `part` writes; all without one.
  void download_lane(const Session& session, std::size_t lane, const Part* part) const;
  void create_lane(const Session& session) const;
  const std::vector<HostArray*>& arrays() const { return arrays_; }

 private:
  friend class HostArray;
  Verdict sum_of(Verdict (HostArray::*compare)() const) const;

  std::vector<HostArray*> arrays_;
};

/// A launch is one kernel. It can be divided by hand when every output has a number of elements per
/// work-group of the last dimension, and the kernel knows its place by get_global_id alone.
class KernelBenchmark : public ArrayBenchmark {
 public:
  void launch(const Session& session) override { enqueue(session, kernels_.front(), range()); }

  // Division by hand over several devices, a lane each.
  bool divisible() const;
  std::size_t groups() const { return range().global.back() / range().local.back(); }
  void open_lane(const Session& session, const Program& program, std::size_t lane);
  /// The last one.
  void close_lane();
  void clear_part(const Session& session, std::size_t lane) const { clear_lane(session, lane); }
  void upload_part(const Session& session, std::size_t lane, const Part& part) const {
    upload_lane(session, lane, &part);
  }
  void launch_part(const Session& session, std::size_t lane, const Part& part) const;
  void download_part(const Session& session, std::size_t lane, const Part& part) const {
    download_lane(session, lane, &part);
  }

 protected:
  virtual Kernel make(const Program& program, std::size_t lane) const = 0;
  void prepare(const Program& program, std::size_t lane) final;

 private:
  std::vector<Kernel> kernels_;  // one per lane
};

/// Every launch goes on with what the one before has left.
class RepeatedBenchmark : public ArrayBenchmark {
 public:
  Verdict verify(std::size_t launches) final;

 protected:
  /// What is expected becomes as it is before the first launch.
  virtual void restart() = 0;
  /// What is expected goes on by one launch.
  virtual void advance() = 0;

 private:
  std::size_t expected_ = SIZE_MAX;  // launches
};

/// The elements of `part` in an array of `count` that has `per_group` elements for each work-group;
/// the last group may be short. {0, count} where there is no part or no such number.
struct Elements {
  std::size_t first = 0;
  std::size_t count = 0;
};
Elements elements_of(const Part* part, std::size_t per_group, std::size_t count);

/// A device's side of an array, in every lane.
template <typename T>
class DeviceSide : public HostArray {
 public:
  using HostArray::HostArray;
  const DeviceArray<T>& device(std::size_t lane = 0) const { return device_[lane]; }
  void release() override { device_.pop_back(); }

 protected:
  std::deque<DeviceArray<T>> device_;
};

/// Written by the host before every checked launch. `per_group`: the elements that one work-group
/// of the last dimension reads, where these are apart; 0: any may be read.
template <typename T>
class Input final : public DeviceSide<T> {
 public:
  explicit Input(ArrayBenchmark& owner, std::size_t per_group = 0)
      : DeviceSide<T>(owner), per_group_(per_group) {}

  std::vector<T> host;

  void create(const Session& session) override {
    this->device_.emplace_back(session, CL_MEM_READ_ONLY, host.size());
  }
  void upload(const Session& session, std::size_t lane, const Part* part) const override {
    const Elements elements = elements_of(part, per_group_, host.size());
    this->device(lane).write(session, std::span(host).subspan(elements.first, elements.count),
                             elements.first);
  }

 private:
  std::size_t per_group_;
};

/// Poisoned before every checked launch, and compared with what is expected. `per_group`: the
/// elements that one work-group of the last dimension writes, and nobody else; 0: not so.
template <typename T>
class Output final : public DeviceSide<T> {
 public:
  explicit Output(ArrayBenchmark& owner, std::size_t per_group = 0)
      : DeviceSide<T>(owner), per_group_(per_group) {}

  std::vector<T> expected;
  std::vector<T> found;

  void expect(std::vector<T> values) {
    expected = std::move(values);
    found.resize(expected.size());
  }
  /// As many elements, whose expected values come later or from elsewhere.
  void resize(std::size_t elements) { found.resize(elements); }
  /// The device's side has this many elements, of which the first are compared.
  void pad(std::size_t elements) { padded_ = elements; }

  void create(const Session& session) override {
    this->device_.emplace_back(session, CL_MEM_READ_WRITE, std::max(padded_, found.size()));
  }
  void clear(const Session& session, std::size_t lane) const override {
    this->device(lane).fill(session, kPoison);
  }
  void download(const Session& session, std::size_t lane, const Part* part) override {
    const Elements elements = elements_of(part, per_group_, found.size());
    if (elements.count == 0) return;
    this->device(lane).read(session, std::span(found).subspan(elements.first, elements.count),
                            elements.first);
  }
  Verdict compare() const override { return verify_equal<T>(found, expected); }
  void keep() override { kept_ = found; }
  Verdict compare_kept() const override { return verify_equal<T>(found, kept_); }
  bool divisible() const override { return per_group_ != 0; }

 private:
  std::size_t per_group_;
  std::size_t padded_ = 0;
  std::vector<T> kept_;
};

/// Written by the host before every checked launch, changed in place, and compared with what is
/// expected.
template <typename T>
class InOut final : public DeviceSide<T> {
 public:
  using DeviceSide<T>::DeviceSide;

  std::vector<T> host;
  std::vector<T> expected;

  void create(const Session& session) override {
    this->device_.emplace_back(session, CL_MEM_READ_WRITE, host.size());
    found_.resize(host.size());
  }
  void upload(const Session& session, std::size_t lane, const Part*) const override {
    this->device(lane).write(session, std::span(host));
  }
  void download(const Session& session, std::size_t lane, const Part*) override {
    this->device(lane).read(session, std::span(found_));
  }
  Verdict compare() const override { return verify_equal<T>(found_, expected); }
  bool divisible() const override { return false; }

 private:
  std::vector<T> found_;
};

/// Known to the device only; poisoned before every checked launch.
template <typename T>
class Scratch final : public DeviceSide<T> {
 public:
  Scratch(ArrayBenchmark& owner, std::size_t elements) : DeviceSide<T>(owner), size_(elements) {}

  void create(const Session& session) override {
    this->device_.emplace_back(session, CL_MEM_READ_WRITE, size_);
  }
  void clear(const Session& session, std::size_t lane) const override {
    this->device(lane).fill(session, kPoison);
  }
  bool divisible() const override { return false; }

 private:
  std::size_t size_;
};

}  // namespace tutti::bench
