// SPDX-License-Identifier: Apache-2.0
#include "kernels/aho.cl.h"

#include <map>
#include <string_view>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 256;
constexpr std::size_t kWords = 200;
constexpr std::size_t kShortest = 2;
constexpr std::size_t kLongest = 40;
constexpr std::size_t kAlphabet = 256;

class Aho final : public KernelBenchmark {
 public:
  explicit Aho(std::size_t size) {
    Random random(17);
    make_words(random);
    make_text(random, size);
    make_tree();
    make_reference();
  }

  Work work() const override { return {1e-9 * static_cast<double>(text_.host.size()), "GB"}; }
  NdRange range() const override { return {{round_up(text_.host.size(), kLocal)}, {kLocal}}; }

 private:
  /// Different words of four letters, some of which begin like others.
  void make_words(Random& random) {
    std::map<std::string, bool> known;
    while (words_.size() < kWords) {
      std::string word;
      if (!words_.empty() && random.below(3) == 0) {
        const std::string& other = words_[random.below(static_cast<std::uint32_t>(words_.size()))];
        word = other.substr(0, other.size() / 2);
      }
      const std::size_t length = kShortest + random.below(kLongest - kShortest);
      while (word.size() < length) word += letter(random);
      if (known.emplace(word, true).second) words_.push_back(std::move(word));
    }
  }

  /// Random letters; towards the end of the text, words come more often.
  void make_text(Random& random, std::size_t size) {
    std::vector<cl_uchar>& text = text_.host;
    while (text.size() < size) {
      if (random.below(static_cast<std::uint32_t>(size)) < text.size()) {
        const std::string& word = words_[random.below(kWords)];
        text.insert(text.end(), word.begin(), word.end());
      } else {
        for (int i = 0; i < 16; ++i) text.push_back(static_cast<cl_uchar>(letter(random)));
      }
    }
    text.resize(size);
  }

  static char letter(Random& random) { return "acgt"[random.below(4)]; }

  void make_tree() {
    next_.host.assign(kAlphabet, 0);
    word_.host.assign(1, 0);
    for (std::size_t number = 0; number < words_.size(); ++number) {
      std::size_t state = 0;
      for (const char c : words_[number]) {
        const std::size_t entry = state * kAlphabet + static_cast<unsigned char>(c);
        if (next_.host[entry] == 0) {
          next_.host[entry] = static_cast<cl_uint>(word_.host.size());
          word_.host.push_back(0);
          next_.host.resize(next_.host.size() + kAlphabet, 0);
        }
        state = next_.host[entry];
      }
      word_.host[state] = static_cast<cl_uint>(number + 1);
    }
  }

  /// Word by word with the library's search; shorter words first, so that longer ones win.
  void make_reference() {
    const std::string_view text(reinterpret_cast<const char*>(text_.host.data()),
                                text_.host.size());
    std::vector<std::size_t> order(words_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return words_[a].size() < words_[b].size(); });
    std::vector<cl_uint> expected(text.size(), 0);
    for (const std::size_t number : order) {
      for (std::size_t at = text.find(words_[number]); at != std::string_view::npos;
           at = text.find(words_[number], at + 1)) {
        expected[at] = static_cast<cl_uint>(number + 1);
      }
    }
    found_.expect(std::move(expected));
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "aho");
    set_args(kernel, text_.device(lane), next_.device(lane), word_.device(lane),
             found_.device(lane), static_cast<cl_uint>(text_.host.size()));
    return kernel;
  }

  std::vector<std::string> words_;
  Input<cl_uchar> text_{*this};
  Input<cl_uint> next_{*this};
  Input<cl_uint> word_{*this};
  Output<cl_uint> found_{*this, kLocal};
};

}  // namespace

Entry entry_aho() {
  return {"aho",
          "200 words searched in a text, a thread per byte, irregular work (1-D)",
          "bytes of text",
          "equal",
          4000037,
          embedded::kernels_aho_cl,
          [](std::size_t size) { return std::make_unique<Aho>(size); }};
}

}  // namespace tutti::bench
