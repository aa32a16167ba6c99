// SPDX-License-Identifier: Apache-2.0
//
// A small module in SPIR-V, word by word: what `clang -target spirv64` makes of
//
//   constant uint amount = 1;  // specialization constant 7
//   kernel void scale_add(global uint* data, uint times) {
//     data[get_global_id(0)] += times * amount;
//   }
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tutti::spirv_words {

inline constexpr uint32_t kAmountId = 7;

class Words {
 public:
  Words() : words_{0x07230203, 0x00010000, 0, 64, 0} {}  // SPIR-V 1.0, ids below 64
  Words& add(uint32_t opcode, std::initializer_list<uint32_t> operands) {
    words_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    words_.insert(words_.end(), operands);
    return *this;
  }
  /// `text` stands between the operands.
  Words& add(uint32_t opcode, std::initializer_list<uint32_t> before, const std::string& text,
             std::initializer_list<uint32_t> after = {}) {
    std::vector<uint32_t> literal(text.size() / 4 + 1);
    for (size_t i = 0; i < text.size(); ++i) {
      literal[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << 8 * (i % 4);
    }
    words_.push_back(
        static_cast<uint32_t>(before.size() + literal.size() + after.size() + 1) << 16 | opcode);
    words_.insert(words_.end(), before);
    words_.insert(words_.end(), literal.begin(), literal.end());
    words_.insert(words_.end(), after);
    return *this;
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

inline std::vector<uint32_t> scale_add() {
  enum Id : uint32_t {
    kVoid = 1,
    kUint,
    kUlong,
    kThree,
    kInput,
    kPointer,
    kFunctionType,
    kGlobalId,
    kAmount,
    kKernel,
    kData,
    kTimes,
    kLabel,
    kIds,
    kItem,
    kPlace,
    kOld,
    kStep,
    kNew
  };
  return Words()
      .add(17, {4})
      .add(17, {6})
      .add(17, {11})                                    // Addresses, Kernel, Int64
      .add(14, {2, 2})                                  // Physical64, OpenCL
      .add(15, {6, kKernel}, "scale_add", {kGlobalId})  // entry point
      .add(5, {kData}, "data")
      .add(5, {kTimes}, "times")  // names
      .add(71, {kGlobalId, 11, 28})
      .add(71, {kGlobalId, 22})          // GlobalInvocationId, Constant
      .add(71, {kAmount, 1, kAmountId})  // SpecId
      .add(19, {kVoid})
      .add(21, {kUint, 32, 0})
      .add(21, {kUlong, 64, 0})
      .add(23, {kThree, kUlong, 3})
      .add(32, {kInput, 1, kThree})
      .add(32, {kPointer, 5, kUint})
      .add(33, {kFunctionType, kVoid, kPointer, kUint})
      .add(50, {kUint, kAmount, 1})  // the constant
      .add(59, {kInput, kGlobalId, 1})
      .add(54, {kVoid, kKernel, 0, kFunctionType})
      .add(55, {kPointer, kData})
      .add(55, {kUint, kTimes})
      .add(248, {kLabel})
      .add(61, {kThree, kIds, kGlobalId, 2, 32})
      .add(81, {kUlong, kItem, kIds, 0})
      .add(70, {kPointer, kPlace, kData, kItem})
      .add(61, {kUint, kOld, kPlace, 2, 4})
      .add(132, {kUint, kStep, kTimes, kAmount})
      .add(128, {kUint, kNew, kOld, kStep})
      .add(62, {kPlace, kNew, 2, 4})
      .add(253, {})
      .add(56, {})
      .words();
}

}  // namespace tutti::spirv_words
