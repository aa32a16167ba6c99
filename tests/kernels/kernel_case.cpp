// SPDX-License-Identifier: Apache-2.0
#include "kernel_case.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>
#include <stdexcept>

namespace tutti::kernel_fuzz {
namespace {

// LD, ST: a load, a store through a pointer; AT: the pointer of an atomic; LDC: a load of element i
// of a constant buffer at byte `origin` of root `r`; VLD, VST: vloadn, vstoren; STC: a store to
// component c, the i-th, of a vector; GET, PUT: asynchronous copies to and from local memory.
// GLD, GST, GAT: LD, ST, AT of pointers that may be to other memory, too.
// FN_P and FN_A: what functions with accesses hand on. Pointers are evaluated twice.
constexpr const char* kCommon = R"(typedef struct { uint a; short b[2]; uchar c[4]; } Packed;
typedef struct { uchar a; uint b; short c; } Holes;
typedef struct { Packed inner[2]; } Nested;
typedef struct Node { global struct Node* next; global uint* data; uint value; uint count; } Node;
typedef struct { global uint* to; } Slot;
)";

constexpr const char* kPlain = R"(#define LD(p) (*(p))
#define ST(p, v) (*(p) = (v))
#define AT(p) (p)
#define LDC(r, origin, p, i) ((p)[i])
#define GLD(p) (*(p))
#define GST(p, v) (*(p) = (v))
#define GAT(p) (p)
#define VLD(n, i, p) vload##n(i, p)
#define VST(n, v, i, p) vstore##n(v, i, p)
#define STC(p, c, i, v) ((*(p)).c = (v))
#define GET(to, from, n) async_work_group_copy(to, from, n, 0)
#define PUT(to, from, n) async_work_group_copy(to, from, n, 0)
#define FN_P
#define FN_A
#define KERNEL_P
#define KERNEL_INIT(s0, s1, s2, s3, s4, s5)
)";

// The shadow holds, root after root, a plane for reads, one for stores and one for atomics. Where a
// byte lies is found by its address, so aliases and selected pointers need no care. All writers of
// a byte of the shadow write 1.
constexpr const char* kTwin = R"(typedef struct {
  global uchar* shadow; global uchar* root[6]; uint size[6]; int on;
} Mark;
__attribute__((noinline)) void mark_at(const Mark* m, uint r, ulong at, uint n, uint plane) {
  if (!m->on) return;
  ulong begin = 0;
  for (uint i = 0; i < r; ++i) begin += 3 * (ulong)m->size[i];
  for (uint i = 0; i < n; ++i) m->shadow[begin + plane * (ulong)m->size[r] + at + i] = 1;
}
__attribute__((noinline)) void mark(const Mark* m, global const void* p, uint n, uint plane) {
  for (uint r = 0; r < 6; ++r) {
    ulong at = (ulong)(global const uchar*)p - (ulong)m->root[r];
    if (at < m->size[r]) { mark_at(m, r, at, n, plane); return; }
  }
}
#if __OPENCL_C_VERSION__ >= 300 && defined(__opencl_c_generic_address_space)
void mark_generic(const Mark* m, const volatile void* p, uint n, uint plane) {
  global const volatile void* g = to_global(p);
  if (g) mark(m, (global const void*)g, n, plane);
}
#endif
#define MARK(p, plane) mark(m_, (global const void*)(p), sizeof(*(p)), plane)
#define GMARK(p, plane) mark_generic(m_, p, sizeof(*(p)), plane)
#define MARKN(p, n, plane) mark(m_, (global const void*)(p), (n) * sizeof(*(p)), plane)
#define LD(p) (MARK(p, 0), *(p))
#define ST(p, v) (MARK(p, 1), *(p) = (v))
#define AT(p) (MARK(p, 2), (p))
#define GLD(p) (GMARK(p, 0), *(p))
#define GST(p, v) (GMARK(p, 1), *(p) = (v))
#define GAT(p) (GMARK(p, 2), (p))
#define LDC(r, origin, p, i) (mark_at(m_, r, (origin) + (ulong)(i) * sizeof(*(p)), sizeof(*(p)), 0), (p)[i])
#define VLD(n, i, p) (MARKN((p) + (n) * (i), n, 0), vload##n(i, p))
#define VST(n, v, i, p) (MARKN((p) + (n) * (i), n, 1), vstore##n(v, i, p))
#define STC(p, c, i, v) (mark(m_, (global const uchar*)(p) + (i) * sizeof((*(p)).c), sizeof((*(p)).c), 1), (*(p)).c = (v))
#define GET(to, from, n) (MARKN(from, n, 0), async_work_group_copy(to, from, n, 0))
#define PUT(to, from, n) (MARKN(to, n, 1), async_work_group_copy(to, from, n, 0))
#define FN_P , const Mark* m_
#define FN_A , m_
#define KERNEL_P , global uchar* s_, global uchar* r0_, global uchar* r1_, global uchar* r2_, \
  global uchar* r3_, global uchar* r4_, global uchar* r5_, uint d_, ulong lo_, ulong hi_
#define KERNEL_INIT(s0, s1, s2, s3, s4, s5) \
  Mark mark_ = {s_, {r0_, r1_, r2_, r3_, r4_, r5_}, {s0, s1, s2, s3, s4, s5}, 0}; \
  { ulong g_ = select(select((ulong)get_group_id(2), (ulong)get_group_id(1), (ulong)(d_ == 1)), \
                      (ulong)get_group_id(0), (ulong)(d_ == 0)); \
    mark_.on = g_ >= lo_ && g_ < hi_; } \
  const Mark* m_ = &mark_;
)";

std::string hex(const Bytes& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace

std::string prelude(bool twin, bool atomics64) {
  std::string text;
  if (atomics64) {
    text +=
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
  }
  return text + kCommon + (twin ? kTwin : kPlain);
}

std::string language_option(uint32_t language) { return language == 300 ? " -cl-std=CL3.0" : ""; }

Bytes Root::contents() const {
  Bytes bytes(size);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 8);
  for (const Pattern& pattern : patterns) {
    for (uint64_t i = 0; i < pattern.count; ++i) {
      const uint64_t value = (i * pattern.multiplier + pattern.addend) % pattern.modulo;
      const uint64_t at = pattern.offset + i * pattern.width;
      if (at + pattern.width > size) throw std::runtime_error("a pattern exceeds its buffer");
      std::memcpy(&bytes[at], &value, pattern.width);
    }
  }
  for (const Link& link : links) {
    if (link.offset + 8 > size) throw std::runtime_error("a link exceeds its buffer");
    const uint64_t symbol = pointer_symbol(link.root, link.at);
    std::memcpy(&bytes[link.offset], &symbol, 8);
  }
  return bytes;
}

std::vector<Bytes> KernelCase::contents() const {
  std::vector<Bytes> result;
  for (const Root& root : roots) result.push_back(root.contents());
  return result;
}

bool KernelCase::has_unwritten() const {
  return std::any_of(roots.begin(), roots.end(), [](const Root& root) { return root.unwritten; });
}

bool KernelCase::has_shared() const {
  return std::any_of(roots.begin(), roots.end(), [](const Root& root) { return root.shared(); });
}

std::string KernelCase::text(uint64_t number) const {
  std::string result;
  for (const char c : source) {
    if (c == '$') {
      result += std::to_string(number);
    } else {
      result += c;
    }
  }
  return result;
}

std::string to_text(const KernelCase& kernel) {
  std::ostringstream out;
  const auto three = [&](const char* name, const std::array<uint64_t, 3>& values) {
    out << name << ' ' << values[0] << ' ' << values[1] << ' ' << values[2] << '\n';
  };
  if (kernel.language != 0) out << "language " << kernel.language << '\n';
  out << "dims " << kernel.dims << '\n';
  three("global", kernel.global);
  three("local", kernel.local);
  three("offset", kernel.offset);
  out << "repeat " << kernel.repeat << '\n';
  for (const Root& root : kernel.roots) {
    static constexpr const char* kKinds[] = {"", " shared", " shared_both"};
    out << "root " << root.size << ' ' << root.seed << (root.unwritten ? " unwritten" : "")
        << kKinds[static_cast<size_t>(root.kind)] << '\n';
    for (const Link& l : root.links) {
      out << "link " << l.offset << ' ' << l.root << ' ' << l.at << '\n';
    }
    for (const Pattern& p : root.patterns) {
      out << "pattern " << p.offset << ' ' << p.width << ' ' << p.count << ' ' << p.multiplier
          << ' ' << p.addend << ' ' << p.modulo << '\n';
    }
  }
  for (const CaseArgument& argument : kernel.arguments) {
    switch (argument.kind) {
      case CaseArgument::Kind::kBuffer:
        out << "buffer " << argument.root << ' ' << argument.origin << ' ' << argument.size << '\n';
        break;
      case CaseArgument::Kind::kScalar:
        out << "scalar " << hex(argument.scalar) << '\n';
        break;
      case CaseArgument::Kind::kLocal:
        out << "local_memory " << argument.size << '\n';
        break;
    }
  }
  out << "source\n" << kernel.source;
  return out.str();
}

KernelCase from_text(const std::string& text) {
  KernelCase kernel;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto three = [&](std::array<uint64_t, 3>& values) {
      words >> values[0] >> values[1] >> values[2];
    };
    if (name == "source") {
      kernel.source.assign(std::istreambuf_iterator<char>(in), {});
      break;
    }
    if (name.empty() || name[0] == '#') continue;
    if (name == "language") {
      words >> kernel.language;
    } else if (name == "dims") {
      words >> kernel.dims;
    } else if (name == "global") {
      three(kernel.global);
    } else if (name == "local") {
      three(kernel.local);
    } else if (name == "offset") {
      three(kernel.offset);
    } else if (name == "repeat") {
      words >> kernel.repeat;
    } else if (name == "root") {
      Root root;
      words >> root.size >> root.seed;
      for (std::string more; !words.eof() && words >> more;) {
        root.unwritten |= more == "unwritten";
        if (more == "shared") root.kind = Root::Kind::kShared;
        if (more == "shared_both") root.kind = Root::Kind::kSharedBoth;
      }
      kernel.roots.push_back(root);
    } else if (name == "pattern" && !kernel.roots.empty()) {
      Pattern p;
      words >> p.offset >> p.width >> p.count >> p.multiplier >> p.addend >> p.modulo;
      kernel.roots.back().patterns.push_back(p);
    } else if (name == "link" && !kernel.roots.empty()) {
      Link l;
      words >> l.offset >> l.root >> l.at;
      kernel.roots.back().links.push_back(l);
    } else if (name == "buffer") {
      CaseArgument argument;
      argument.kind = CaseArgument::Kind::kBuffer;
      words >> argument.root >> argument.origin >> argument.size;
      kernel.arguments.push_back(argument);
    } else if (name == "scalar") {
      CaseArgument argument;
      std::string data;
      words >> data;
      argument.scalar = from_hex(data);
      kernel.arguments.push_back(argument);
    } else if (name == "local_memory") {
      CaseArgument argument;
      argument.kind = CaseArgument::Kind::kLocal;
      words >> argument.size;
      kernel.arguments.push_back(argument);
    } else {
      throw std::runtime_error("not understood: " + line);
    }
    if (words.fail()) throw std::runtime_error("incomplete: " + line);
  }
  for (const CaseArgument& argument : kernel.arguments) {
    if (argument.kind == CaseArgument::Kind::kBuffer && argument.root >= kernel.roots.size()) {
      throw std::runtime_error("a buffer without its root");
    }
  }
  for (const Root& root : kernel.roots) {
    for (const Link& link : root.links) {
      if (link.root >= kernel.roots.size() || !root.shared() || !kernel.roots[link.root].shared()) {
        throw std::runtime_error("a link that is not between shared roots");
      }
    }
  }
  if (kernel.source.empty() || kernel.dims < 1 || kernel.dims > 3) {
    throw std::runtime_error("no source, or no dimensions");
  }
  return kernel;
}

}  // namespace tutti::kernel_fuzz
