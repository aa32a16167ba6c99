// SPDX-License-Identifier: Apache-2.0
#include "array_benchmark.h"

namespace tutti::bench {

HostArray::HostArray(ArrayBenchmark& owner) { owner.arrays_.push_back(this); }

void ArrayBenchmark::set_up(const Session& session, const Program& program) {
  create_lane(session);
  prepare(program, 0);
}

Verdict ArrayBenchmark::verify(std::size_t) { return sum_of(&HostArray::compare); }

Verdict ArrayBenchmark::verify_kept() const { return sum_of(&HostArray::compare_kept); }

Verdict ArrayBenchmark::sum_of(Verdict (HostArray::*compare)() const) const {
  Verdict all;
  for (const HostArray* array : arrays_) {
    const Verdict one = (array->*compare)();
    all.checked += one.checked;
    if (one.wrong != 0 && all.wrong == 0) all.first_wrong = one.first_wrong;
    all.wrong += one.wrong;
  }
  return all;
}

void ArrayBenchmark::keep() const {
  for (HostArray* array : arrays_) array->keep();
}

void ArrayBenchmark::create_lane(const Session& session) const {
  for (HostArray* array : arrays_) array->create(session);
}

void ArrayBenchmark::clear_lane(const Session& session, std::size_t lane) const {
  for (const HostArray* array : arrays_) array->clear(session, lane);
}

void ArrayBenchmark::upload_lane(const Session& session, std::size_t lane, const Part* part) const {
  for (const HostArray* array : arrays_) array->upload(session, lane, part);
}

void ArrayBenchmark::download_lane(const Session& session, std::size_t lane,
                                   const Part* part) const {
  for (HostArray* array : arrays_) array->download(session, lane, part);
}

Verdict RepeatedBenchmark::verify(std::size_t launches) {
  if (launches < expected_) {
    restart();
    expected_ = 0;
  }
  for (; expected_ < launches; ++expected_) advance();
  return ArrayBenchmark::verify(launches);
}

void KernelBenchmark::prepare(const Program& program, std::size_t lane) {
  kernels_.push_back(make(program, lane));
}

bool KernelBenchmark::divisible() const {
  return std::all_of(arrays().begin(), arrays().end(),
                     [](const HostArray* array) { return array->divisible(); });
}

void KernelBenchmark::open_lane(const Session& session, const Program& program, std::size_t lane) {
  create_lane(session);
  prepare(program, lane);
}

void KernelBenchmark::close_lane() {
  kernels_.pop_back();
  for (HostArray* array : arrays()) array->release();
}

void KernelBenchmark::launch_part(const Session& session, std::size_t lane,
                                  const Part& part) const {
  NdRange range = this->range();
  range.offset.assign(range.global.size(), 0);
  range.offset.back() = part.first * range.local.back();
  range.global.back() = part.groups * range.local.back();
  enqueue(session, kernels_[lane], range);
}

Elements elements_of(const Part* part, std::size_t per_group, std::size_t count) {
  if (part == nullptr || per_group == 0) return {0, count};
  const std::size_t first = std::min(part->first * per_group, count);
  const std::size_t end = std::min((part->first + part->groups) * per_group, count);
  return {first, end - first};
}

}  // namespace tutti::bench
