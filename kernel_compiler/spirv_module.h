// SPDX-License-Identifier: Apache-2.0
// What a program in SPIR-V says of its kernels: names, arguments and what it needs of a device; and
// the values of its specialization constants. What kernels do is not looked at, so they stay whole.
// No LLVM, no OpenCL run time. Values; reading trusts nothing. Source: SPIR-V Specification 1.6,
// "Binary Form", and OpenCL SPIR-V Environment Specification 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

class SpirvModule {
 public:
  /// CL_INVALID_VALUE: it is no SPIR-V, or cut short.
  static Result<SpirvModule> read(std::span<const std::byte> il);

  /// Bytes of the value of a specialization constant; absent: there is none of this id.
  std::optional<uint32_t> constant_size(uint32_t spec_id) const;
  /// Gives the constant, which exists, a value of that size in place of its default.
  void specialize(uint32_t spec_id, std::span<const std::byte> value);

  /// The module with the values that were given, in the host's byte order.
  std::string text() const;
  /// Its kernels, none of them analysed, as they are when built with these options.
  scheduler::ProgramSummary summary(const std::string& options) const;

 private:
  struct Instruction {
    uint32_t opcode = 0;
    size_t at = 0;     // its first word
    size_t words = 0;  // with that one
  };
  std::span<const uint32_t> operands(const Instruction& instruction) const {
    return std::span(words_).subspan(instruction.at + 1, instruction.words - 1);
  }
  const Instruction* constant_of(uint32_t spec_id) const;

  std::vector<uint32_t> words_;
  std::vector<Instruction> instructions_;
};

}  // namespace tutti::kernel_compiler
