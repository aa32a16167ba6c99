// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/spirv_module.h"

#include <CL/cl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "kernel_compiler/build_options.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;
using scheduler::KernelSummary;

constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr size_t kMostDecorations = 64;  // of one object, by groups

// Of the specification's tables, what is looked at.
enum Op : uint32_t {
  kOpName = 5,
  kOpMemoryModel = 14,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeVoid = 19,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeImage = 25,
  kOpTypeSampler = 26,
  kOpTypeArray = 28,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpTypeQueue = 37,
  kOpTypePipe = 38,
  kOpConstant = 43,
  kOpSpecConstantTrue = 48,
  kOpSpecConstantFalse = 49,
  kOpSpecConstant = 50,
  kOpFunction = 54,
  kOpFunctionParameter = 55,
  kOpFunctionEnd = 56,
  kOpVariable = 59,
  kOpDecorate = 71,
  kOpGroupDecorate = 74,
  kOpExecutionModeId = 331,
};
enum Decoration : uint32_t { kSpecId = 1, kPacked = 10, kConstant = 22, kFuncParamAttr = 38 };

bool is_type(uint32_t opcode) { return opcode >= kOpTypeVoid && opcode <= kOpTypePipe; }

/// So many operands are looked at without a question.
size_t least_operands(uint32_t opcode) {
  switch (opcode) {
    case kOpCapability:
      return 1;
    case kOpEntryPoint:
    case kOpVariable:
    case kOpConstant:
    case kOpSpecConstant:
      return 3;
    case kOpFunctionEnd:
      return 0;
    default:
      return is_type(opcode) ? 1 : 2;
  }
}

constexpr uint32_t kPhysical32 = 1;   // an addressing model
constexpr uint32_t kByVal = 2;        // a function parameter attribute
constexpr uint32_t kKernelModel = 6;  // an execution model
constexpr uint32_t kLocalSize = 17;   // execution modes
constexpr uint32_t kLocalSizeId = 38;
enum Storage : uint32_t {
  kUniformConstant = 0,
  kWorkgroup = 4,
  kCrossWorkgroup = 5,
  kFunction = 7
};

/// What devices call a capability that not all have; null: it is none of those.
const char* feature_of(uint32_t capability) {
  switch (capability) {
    case 9:
      return "cl_khr_fp16";
    case 10:
      return "cl_khr_fp64";
    case 12:
      return "cl_khr_int64_base_atomics";
    case 13:  // ImageBasic
      return "__opencl_c_images";
    case 14:  // ImageReadWrite
      return "__opencl_c_read_write_images";
    case 17:
      return "__opencl_c_pipes";
    case 19:
      return "__opencl_c_device_enqueue";
    case 38:  // GenericPointer
      return "__opencl_c_generic_address_space";
    case 58:  // SubgroupDispatch
      return "__opencl_c_subgroups";
    default:
      return nullptr;
  }
}

/// A literal string, which ends with a null byte in the last of its words; and how many these are.
std::pair<std::string, size_t> literal(std::span<const uint32_t> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      const auto byte = static_cast<char>(words[i] >> shift & 0xff);
      if (byte == '\0') return {std::move(text), i + 1};
      text += byte;
    }
  }
  return {std::move(text), words.size()};
}

const char* access_of(uint32_t qualifier) {
  constexpr const char* kNames[] = {"read_only", "write_only", "read_write"};
  return qualifier < std::size(kNames) ? kNames[qualifier] : "";
}

/// "image2d_array_t", as far as sampling, depth and colours make no difference to the host.
std::string image_name(uint32_t dimension, bool array) {
  constexpr uint32_t kBuffer = 5;
  const std::string base = dimension == 0         ? "image1d"
                           : dimension == 1       ? "image2d"
                           : dimension == 2       ? "image3d"
                           : dimension == kBuffer ? "image1d_buffer"
                                                  : "image";
  return base + (array ? "_array_t" : "_t");
}

/// Types, constants and decorations of a module, by the ids of what they are about.
struct Declarations {
  struct Layout {
    uint64_t size = 0;
    uint64_t alignment = 1;
  };
  // Bytes: no argument is as large.
  static constexpr uint64_t kLargest = uint64_t{1} << 20;
  static Layout limited(const Layout& layout) { return layout.size > kLargest ? Layout{} : layout; }
  struct Entry {
    Layout layout;  // of a type's values
    uint32_t opcode = 0;
    std::span<const uint32_t> operands;  // of types without the result's id
  };
  std::map<uint32_t, Entry> entries;
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, std::vector<std::span<const uint32_t>>> decorations;
  uint32_t address_bytes = 8;

  const Entry* find(uint32_t id) const {
    const auto found = entries.find(id);
    return found == entries.end() ? nullptr : &found->second;
  }
  bool has(uint32_t id, uint32_t decoration) const {
    return any(id, [decoration](auto words) { return words[0] == decoration; });
  }
  bool by_value(uint32_t id) const {
    return any(id, [](auto words) {
      return words.size() > 1 && words[0] == kFuncParamAttr && words[1] == kByVal;
    });
  }
  uint64_t number(uint32_t id) const {
    const Entry* entry = find(id);
    if (!entry || is_type(entry->opcode) || entry->operands.size() < 3) return 0;
    const uint64_t low = entry->operands[2];
    return entry->operands.size() > 3 ? low | uint64_t{entry->operands[3]} << 32 : low;
  }

  /// As OpenCL C lays values of a type out, whose parts are declared before it; size 0: not known.
  Layout layout_of(uint32_t type, uint32_t opcode, std::span<const uint32_t> operands) const {
    const auto part = [&](size_t index) {
      const Entry* entry = index < operands.size() ? find(operands[index]) : nullptr;
      return entry ? entry->layout : Layout{};
    };
    switch (opcode) {
      case kOpTypeInt:
      case kOpTypeFloat: {
        const uint64_t bytes = operands.empty() ? 0 : operands[0] / 8;
        return {bytes, std::max<uint64_t>(bytes, 1)};
      }
      case kOpTypeVector: {
        const uint64_t count = operands.size() < 2 ? 0 : operands[1] == 3 ? 4 : operands[1];
        return limited({part(0).size * std::min<uint64_t>(count, kLargest),
                        std::max<uint64_t>(part(0).size * std::min<uint64_t>(count, 16), 1)});
      }
      case kOpTypePointer:
        return {address_bytes, address_bytes};
      case kOpTypeArray: {
        const uint64_t count = operands.size() < 2 ? 0 : number(operands[1]);
        return limited({part(0).size * std::min(count, kLargest), part(0).alignment});
      }
      case kOpTypeStruct: {
        Layout sum;
        const bool packed = has(type, kPacked);
        for (size_t i = 0; i < operands.size(); ++i) {
          const uint64_t alignment = packed ? 1 : part(i).alignment;
          sum.size = (sum.size + alignment - 1) / alignment * alignment + part(i).size;
          sum.alignment = std::max(sum.alignment, alignment);
        }
        sum.size = (sum.size + sum.alignment - 1) / sum.alignment * sum.alignment;
        return limited(sum);
      }
      default:
        return {};
    }
  }

 private:
  template <typename Is>
  bool any(uint32_t id, Is&& is) const {
    const auto found = decorations.find(id);
    return found != decorations.end() &&
           std::any_of(found->second.begin(), found->second.end(), is);
  }
};

void set_scalar(const Declarations& declared, uint32_t type, Argument& argument) {
  const auto* entry = declared.find(type);
  argument.size = entry ? static_cast<uint32_t>(entry->layout.size) : 0;
  argument.kind = argument.size > 0 ? ArgKind::kScalar : ArgKind::kOther;
}

Argument argument_of(const Declarations& declared, uint32_t type, uint32_t id) {
  Argument argument;
  argument.kind = ArgKind::kOther;
  if (const auto name = declared.names.find(id); name != declared.names.end()) {
    argument.name = name->second;
  }
  const auto* entry = declared.find(type);
  if (!entry) return argument;
  const auto operand = [&](size_t index) {
    return index < entry->operands.size() ? entry->operands[index] : ~uint32_t{0};
  };
  switch (entry->opcode) {
    case kOpTypePointer:
      switch (operand(0)) {
        case kCrossWorkgroup:
          argument.kind = ArgKind::kGlobal;
          break;
        case kUniformConstant:
          argument.kind = ArgKind::kConstant;
          break;
        case kWorkgroup:
          argument.kind = ArgKind::kLocal;
          break;
        case kFunction:
          if (declared.by_value(id)) set_scalar(declared, operand(1), argument);
          break;
        default:
          break;
      }
      break;
    case kOpTypeImage: {
      // Sampled type, dimension, depth, arrayed, multisampled, sampled, format, access.
      argument.kind = ArgKind::kImage;
      argument.type_name = image_name(operand(1), operand(3) == 1);
      argument.access = entry->operands.size() > 7 ? access_of(operand(7)) : "read_only";
      break;
    }
    case kOpTypeSampler:
      argument.kind = ArgKind::kSampler;
      break;
    case kOpTypeQueue:
      argument.kind = ArgKind::kQueue;
      break;
    case kOpTypePipe:
      argument.kind = ArgKind::kPipe;
      argument.access = access_of(operand(0));
      break;
    default:
      set_scalar(declared, type, argument);
      break;
  }
  return argument;
}

}  // namespace

Result<SpirvModule> SpirvModule::read(std::span<const std::byte> il) {
  SpirvModule module;
  module.words_.resize(il.size() / sizeof(uint32_t));
  std::memcpy(module.words_.data(), il.data(), module.words_.size() * sizeof(uint32_t));
  auto& words = module.words_;
  if (il.size() % sizeof(uint32_t) == 0 && words.size() >= kHeaderWords &&
      words[0] == __builtin_bswap32(kMagic)) {
    for (uint32_t& word : words) word = __builtin_bswap32(word);
  }
  if (il.size() % sizeof(uint32_t) != 0 || words.size() < kHeaderWords || words[0] != kMagic) {
    return fail(CL_INVALID_VALUE, "not a module in SPIR-V");
  }
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) {
      return fail(CL_INVALID_VALUE, "a module in SPIR-V that is cut short");
    }
    module.instructions_.push_back({words[at] & 0xffff, at, count});
    at += count;
  }
  return module;
}

const SpirvModule::Instruction* SpirvModule::constant_of(uint32_t spec_id) const {
  const auto decorated =
      std::find_if(instructions_.begin(), instructions_.end(), [&](const Instruction& instruction) {
        const auto words = operands(instruction);
        return instruction.opcode == kOpDecorate && words.size() >= 3 && words[1] == kSpecId &&
               words[2] == spec_id;
      });
  if (decorated == instructions_.end()) return nullptr;
  const uint32_t id = operands(*decorated)[0];
  const auto found =
      std::find_if(instructions_.begin(), instructions_.end(), [&](const Instruction& instruction) {
        const bool constant = instruction.opcode == kOpSpecConstant ||
                              instruction.opcode == kOpSpecConstantTrue ||
                              instruction.opcode == kOpSpecConstantFalse;
        const auto words = operands(instruction);
        return constant && words.size() >= 2 && words[1] == id;
      });
  return found == instructions_.end() ? nullptr : &*found;
}

std::optional<uint32_t> SpirvModule::constant_size(uint32_t spec_id) const {
  const Instruction* const constant = constant_of(spec_id);
  if (!constant) return std::nullopt;
  if (constant->opcode != kOpSpecConstant) return 1;  // "sizeof(cl_uchar)" of booleans
  const uint32_t type = operands(*constant)[0];
  for (const Instruction& instruction : instructions_) {
    const auto words = operands(instruction);
    const bool number = instruction.opcode == kOpTypeInt || instruction.opcode == kOpTypeFloat;
    if (number && words.size() >= 2 && words[0] == type) return words[1] / 8;
  }
  return std::nullopt;
}

void SpirvModule::specialize(uint32_t spec_id, std::span<const std::byte> value) {
  const Instruction* const found = constant_of(spec_id);
  if (!found) return;
  Instruction& constant = instructions_[static_cast<size_t>(found - instructions_.data())];
  if (constant.opcode != kOpSpecConstant) {
    constant.opcode = value[0] != std::byte{0} ? kOpSpecConstantTrue : kOpSpecConstantFalse;
    words_[constant.at] = (words_[constant.at] & 0xffff0000) | constant.opcode;
    return;
  }
  // Behind the type and the result. Numbers of less than a word are its low bits.
  const size_t room = (constant.words - 3) * sizeof(uint32_t);
  uint32_t* const held = words_.data() + constant.at + 3;
  std::memset(held, 0, room);
  std::memcpy(held, value.data(), std::min(room, value.size()));
}

std::string SpirvModule::text() const {
  return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(uint32_t)};
}

scheduler::ProgramSummary SpirvModule::summary(const std::string& options) const {
  const bool uniform = parse_build_options(options).uniform_groups;
  Declarations declared;
  std::vector<std::pair<uint32_t, KernelSummary>> kernels;  // by the function's id
  std::set<std::string> features{"cl_khr_il_program"};
  KernelSummary* function = nullptr;  // the kernel that is being declared
  const auto kernel_of = [&](uint32_t id) -> KernelSummary* {
    for (auto& [function_id, kernel] : kernels) {
      if (function_id == id) return &kernel;
    }
    return nullptr;
  };
  for (const Instruction& instruction : instructions_) {
    const auto words = operands(instruction);
    if (words.size() < least_operands(instruction.opcode)) continue;
    switch (instruction.opcode) {
      case kOpCapability:
        if (const char* feature = feature_of(words[0])) features.insert(feature);
        break;
      case kOpMemoryModel:
        declared.address_bytes = words[0] == kPhysical32 ? 4 : 8;
        break;
      case kOpName:
        declared.names[words[0]] = literal(words.subspan(1)).first;
        break;
      case kOpEntryPoint:
        if (words[0] != kKernelModel || kernel_of(words[1])) break;
        kernels.emplace_back(words[1], KernelSummary{});
        kernels.back().second.name = literal(words.subspan(2)).first;
        break;
      case kOpExecutionMode:
        if (KernelSummary* kernel = kernel_of(words[0]); kernel && words[1] == kLocalSize) {
          for (size_t i = 0; i < 3 && i + 2 < words.size(); ++i)
            kernel->reqd_local[i] = words[i + 2];
        }
        break;
      case kOpDecorate:
        declared.decorations[words[0]].push_back(words.subspan(1));
        break;
      case kOpGroupDecorate:
        for (const uint32_t target : words.subspan(1)) {
          const auto group = declared.decorations[words[0]];
          auto& own = declared.decorations[target];
          if (own.size() + group.size() > kMostDecorations) continue;  // a damaged module
          own.insert(own.end(), group.begin(), group.end());
        }
        break;
      case kOpVariable:
        if (words[2] == kCrossWorkgroup && !declared.has(words[1], kConstant)) {
          features.insert("__opencl_c_program_scope_global_variables");
        }
        break;
      case kOpFunction:
        function = kernel_of(words[1]);
        break;
      case kOpFunctionEnd:
        function = nullptr;
        break;
      case kOpFunctionParameter:
        if (function) function->arguments.push_back(argument_of(declared, words[0], words[1]));
        break;
      case kOpConstant:
      case kOpSpecConstant:
        declared.entries[words[1]] = {{}, instruction.opcode, words};
        break;
      default:
        if (is_type(instruction.opcode)) {
          const auto parts = words.subspan(1);
          const auto layout = declared.layout_of(words[0], instruction.opcode, parts);
          declared.entries[words[0]] = {layout, instruction.opcode, parts};
        }
        break;
    }
  }
  scheduler::ProgramSummary summary;
  for (const Instruction& instruction : instructions_) {
    const auto words = operands(instruction);
    if (instruction.opcode != kOpExecutionModeId || words.size() < 5) continue;
    // "LocalSizeId": its operands are constants, which are declared later.
    KernelSummary* const kernel = words[1] == kLocalSizeId ? kernel_of(words[0]) : nullptr;
    for (size_t i = 0; kernel && i < 3; ++i) {
      kernel->reqd_local[i] = static_cast<uint32_t>(declared.number(words[i + 2]));
    }
  }
  for (auto& [id, kernel] : kernels) {
    kernel.features.assign(features.begin(), features.end());
    kernel.whole_reason = "its program is in SPIR-V, which is not analysed";
    kernel.uses_addresses = true;  // for all that is known
    kernel.smaller_groups = !uniform;
    summary.kernels.push_back(std::move(kernel));
  }
  return summary;
}

}  // namespace tutti::kernel_compiler
