// SPDX-License-Identifier: Apache-2.0
#include "base/live_counters.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <type_traits>

#include "base/keep_forever.h"
#include "base/log.h"
#include "base/thread_annotations.h"

namespace tutti::live {
namespace {

struct File {
  Header header;
  std::array<Device, kMostDevices> devices;
  std::array<Kernel, kMostKernels> kernels;
};
struct BoardFile {
  Header header;
  std::array<Device, kMostDevices> devices;
};
static_assert(sizeof(Header) == 256 && sizeof(Device) == 272 && sizeof(Kernel) == 120,
              "another layout is another version");

std::atomic<File*> the_file{nullptr};
std::atomic<BoardFile*> the_board{nullptr};  // null: it is the_file
Mutex adding;                                // records
// Of the files; constant once there are any.
NeverDestroyed<std::string> path, board_path;

template <size_t kSize>
void put_text(std::array<char, kSize>& to, std::string_view text) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::copy_n(text.data(), size, to.data());
  to[size] = '\0';
}

template <size_t kSize>
std::string_view text_of(const std::array<char, kSize>& text) {
  return {text.data(), strnlen(text.data(), kSize)};
}

/// Null, with the reason in `why`.
template <typename Content>
Content* make_file(const SharedFolder& folder, const std::string& name, mode_t mode,
                   std::string& why) {
  folder.remove(name);  // of the program that this process was before exec()
  const auto made = make_private_file(name, 0, folder.descriptor());
  if (!made) {
    why = made.error().message;
    return nullptr;
  }
  // All of it is there, or a write to it would kill the application when the disk is full.
  void* memory = MAP_FAILED;
  if (const int failed = posix_fallocate(made->get(), 0, sizeof(Content)); failed != 0) {
    why = std::strerror(failed);
  } else if (fchmod(made->get(), mode) != 0) {
    why = std::strerror(errno);
  } else {
    memory = mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED, made->get(), 0);
    if (memory == MAP_FAILED) why = std::strerror(errno);
  }
  if (memory == MAP_FAILED) {
    folder.remove(name);
    return nullptr;
  }
  return new (memory) Content;
}

/// From now on readers believe it.
void complete(Header& header) {
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = kMagic;
}

void describe(Header& header, uint64_t ticks) {
  header.header_bytes = sizeof(Header);
  header.device_bytes = sizeof(Device);
  header.device_records = kMostDevices;
  header.kernel_bytes = sizeof(Kernel);
  header.process = getpid();
  header.start_ticks = ticks;
  header.pid_namespace = pid_namespace();
}

void start_on(const Board& board, const std::string& name, uint64_t ticks) {
  std::string why;
  BoardFile* made = nullptr;
  if (const auto opened = SharedFolder::open(board.folder)) {
    remove_stale(*opened);
    made = make_file<BoardFile>(*opened, name, 0644, why);
    *board_path = opened->path() + "/" + name;
  } else {
    why = opened.error().message;
  }
  if (!made) {
    board_path->clear();
    log(LogLevel::kInfo, "other users' processes will not see this one: {}: {}", board.folder, why);
    return;
  }
  describe(made->header, ticks);
  complete(made->header);
  the_board.store(made, std::memory_order_release);
}

std::string program() {
  std::error_code error;
  const auto read = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("application") : read.filename().string();
}

/// The first `count` records are in use. Null: none of them is the device's.
Device* find_device(File& file, uint32_t count, uint32_t index) {
  const auto end = file.devices.begin() + count;
  const auto found = std::find_if(file.devices.begin(), end,
                                  [index](const Device& known) { return known.index == index; });
  return found == end ? nullptr : &*found;
}

}  // namespace

std::string folder(const std::string& cache_folder) {
  if (getauxval(AT_SECURE)) return {};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  if (const char* own = getenv("XDG_RUNTIME_DIR"); own && own[0] == '/') {
    return std::string(own) + "/tutti";
  }
  return cache_folder.empty() ? std::string() : cache_folder + "/top";
}

std::string file_name(int process, uint64_t start_ticks) {
  return fmt::format("{}-{}", process, start_ticks);
}

FileOwner owner_of(std::string_view file_name) {
  FileOwner owner;
  const char* const end = file_name.data() + file_name.size();
  const auto first = std::from_chars(file_name.data(), end, owner.process);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return {};
  const auto second = std::from_chars(first.ptr + 1, end, owner.start_ticks);
  return second.ec == std::errc() && second.ptr == end ? owner : FileOwner();
}

bool FileOwner::alive() const {
  return start_ticks != 0 && live::start_ticks(process) == start_ticks;
}

Board board_for(const std::string& of_machine, const std::string& own) {
  if (of_machine == kUserBoard) return {own, false, false, {}};
  const auto opened = SharedFolder::open(of_machine);
  if (opened) return {of_machine, true, false, {}};
  const Error& error = opened.error();
  return {own, false, error.code == CL_INVALID_OPERATION, error.message};
}

void start(const std::string& folder, const Board& board) {
  MutexLock lock(adding);
  if (folder.empty() || the_file.load(std::memory_order_relaxed)) return;
  std::string why;
  const auto opened = OwnFolder::open(folder, OwnFolder::Missing::kIsMade);
  File* made = nullptr;
  const uint64_t ticks = start_ticks(getpid());
  const std::string name = file_name(getpid(), ticks);
  if (opened) {
    remove_stale(*opened);
    made = make_file<File>(*opened, name, 0600, why);
    *path = folder + "/" + name;
  } else {
    why = opened.error().message;
  }
  if (!made) {
    log(LogLevel::kInfo, "tutti top will not see this process: {}: {}", folder, why);
    return;
  }
  Header& header = made->header;
  describe(header, ticks);
  header.kernel_records = kMostKernels;
  header.published_ns = now_ns();
  put_text(header.program, program());
  complete(header);
  if (board.of_machine) start_on(board, name, ticks);
  the_file.store(made, std::memory_order_release);
}

void remove_stale(const SharedFolder& folder) {
  constexpr size_t kMost = 4096;  // entries to be looked at
  for (const std::string& name : folder.names(kMost)) {
    const FileOwner owner = owner_of(name);
    if (owner.start_ticks == 0) continue;
    const auto file = folder.open_anybodys(name, kMostFileBytes);
    struct stat status {};
    if (!file || fstat(file->get(), &status) != 0 || status.st_uid != geteuid()) continue;
    if (owner.alive()) continue;
    // Of another namespace of process numbers (a container) nothing can be said.
    alignas(Header) std::array<char, sizeof(Header)> bytes{};
    const bool whole = pread(file->get(), bytes.data(), bytes.size(), 0) == sizeof(Header);
    uint64_t space = 0;
    std::memcpy(&space, bytes.data() + offsetof(Header, pid_namespace), sizeof space);
    if (!whole || space == pid_namespace()) folder.remove(name);
  }
}

void stop() {
  MutexLock lock(adding);
  for (std::string* file : {&*path, &*board_path}) {
    if (!file->empty()) unlink(file->c_str());
    file->clear();
  }
}

Header* process() {
  File* file = the_file.load(std::memory_order_acquire);
  return file ? &file->header : nullptr;
}

Device* device(const DeviceInfo& info) {
  File* file = the_file.load(std::memory_order_acquire);
  if (!file) return nullptr;
  MutexLock lock(adding);
  const uint32_t count = file->header.devices.load(std::memory_order_relaxed);
  if (Device* known = find_device(*file, count, info.index)) return known;
  if (count == kMostDevices) return nullptr;
  Device& made = file->devices[count];
  made.index = info.index;
  made.type = info.type;
  put_text(made.name, info.name);
  put_text(made.platform, info.platform);
  put_text(made.vendor, info.vendor);
  put_text(made.pci_address, info.pci_address);
  if (BoardFile* board = the_board.load(std::memory_order_acquire)) {
    Device& shown = board->devices[count];
    shown.index = made.index;
    shown.name = made.name;
    shown.platform = made.platform;
    shown.pci_address = made.pci_address;
    board->header.devices.store(count + 1, std::memory_order_release);
  }
  file->header.devices.store(count + 1, std::memory_order_release);
  return &made;
}

Device* on_board(Device* device) {
  BoardFile* board = the_board.load(std::memory_order_acquire);
  if (!board || !device) return device;
  return &board->devices[static_cast<size_t>(
      device - the_file.load(std::memory_order_acquire)->devices.data())];
}

void begin_busy(Device& device) {
  device.busy.begin();
  if (Device* shown = on_board(&device); shown != &device) device.busy.show_in(shown->busy);
}

void end_busy(Device& device) {
  device.busy.end();
  if (Device* shown = on_board(&device); shown != &device) device.busy.show_in(shown->busy);
}

void set_lost(uint32_t index, bool lost) {
  File* file = the_file.load(std::memory_order_acquire);
  if (!file) return;
  const uint32_t count = file->header.devices.load(std::memory_order_acquire);
  if (Device* known = find_device(*file, count, index)) {
    known->lost.store(lost ? 1 : 0, std::memory_order_relaxed);
  }
}

Kernel* kernel(const Device* device, std::string_view name) {
  File* file = the_file.load(std::memory_order_acquire);
  if (!file || !device) return nullptr;
  const auto number = static_cast<uint32_t>(device - file->devices.data());
  name = name.substr(0, sizeof(Kernel::name) - 1);
  MutexLock lock(adding);
  const uint32_t count = file->header.kernels.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    Kernel& known = file->kernels[i];
    if (known.device == number && text_of(known.name) == name) return &known;
  }
  if (count == kMostKernels) return nullptr;
  Kernel& made = file->kernels[count];
  made.device = number;
  put_text(made.name, name);
  file->header.kernels.store(count + 1, std::memory_order_release);
  return &made;
}

uint32_t number_of(const Kernel* kernel) {
  const File* file = the_file.load(std::memory_order_acquire);
  return file && kernel ? static_cast<uint32_t>(kernel - file->kernels.data()) + 1 : 0;
}

uint64_t start_ticks(int process) {
  const std::string text = first_line_of(fmt::format("/proc/{}/stat", process));
  // The second field is the program's name in brackets, which may hold anything; this is the 22nd.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const char* at = text.data() + name_end + 1;
  const char* const end = text.data() + text.size();
  for (int field = 2; field < 21 && at < end; ++field) {
    at = std::find(at + 1, end, ' ');
  }
  uint64_t ticks = 0;
  if (at < end) std::from_chars(at + 1, end, ticks);
  return ticks;
}

uint64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace tutti::live
