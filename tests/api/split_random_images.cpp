// SPDX-License-Identifier: Apache-2.0
//
// Random kernels over images of all shapes, which a driver may divide: each pixel of the target is
// written by one work-item (or by none), from pixels around a place in other images. Launches,
// transfers and copies follow each other on the same images; at the end every byte is compared with
// what the host computes. A failure names its seed: TUTTI_TEST_IMAGE_SEED=N runs that one alone,
// TUTTI_TEST_IMAGE_ROUNDS=N as many from seed 1 on.
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>

#include "images.h"
#include "split.h"

namespace tutti::api_tests {
namespace {

struct Shape {
  const char* type;
  cl_mem_object_type object;
  size_t coordinates;
  bool array;
};
constexpr Shape kShapes[] = {
    {"image1d_t", CL_MEM_OBJECT_IMAGE1D, 1, false},
    {"image1d_buffer_t", CL_MEM_OBJECT_IMAGE1D_BUFFER, 1, false},
    {"image1d_array_t", CL_MEM_OBJECT_IMAGE1D_ARRAY, 2, true},
    {"image2d_t", CL_MEM_OBJECT_IMAGE2D, 2, false},
    {"image2d_array_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, 3, true},
    {"image3d_t", CL_MEM_OBJECT_IMAGE3D, 3, false},
};

constexpr cl_image_format kRgba32 = {CL_RGBA, CL_UNSIGNED_INT32};
constexpr size_t kTable = 64;  // entries; no extent is longer in a dimension that uses it

using Pixel = std::array<int, 3>;
using Value = std::array<uint32_t, 4>;

struct Picture {
  const Shape* shape = nullptr;
  cl_image_format format{};
  Pixels pixels;
  Buffer buffer;  // of a 1-D image made from one
  Buffer image;

  int extent(size_t d) const { return static_cast<int>(pixels.extent[d]); }
  Value get(const Pixel& at) const {
    const uint8_t* bytes = pixels.at(static_cast<size_t>(at[0]), static_cast<size_t>(at[1]),
                                     static_cast<size_t>(at[2]));
    Value value{};
    for (size_t c = 0; c < 4; ++c) {
      if (pixels.size == 4) {
        value[c] = bytes[c];
      } else {
        std::memcpy(&value[c], bytes + 4 * c, 4);
      }
    }
    return value;
  }
  void put(const Pixel& at, const Value& value) {
    uint8_t* bytes = pixels.at(static_cast<size_t>(at[0]), static_cast<size_t>(at[1]),
                               static_cast<size_t>(at[2]));
    for (size_t c = 0; c < 4; ++c) {
      if (pixels.size == 4) {
        bytes[c] = static_cast<uint8_t>(value[c]);
      } else {
        std::memcpy(bytes + 4 * c, &value[c], 4);
      }
    }
  }
};

/// factor · (a coordinate of the target) + added, or an entry of the table for it.
struct Index {
  size_t coordinate = 0;
  int factor = 1, added = 0;
  bool table = false;
};

enum class Addressing { kNone, kEdge, kBorder, kArgument, kFloat, kNormalized };

struct Read {
  size_t picture = 0;
  Addressing addressing = Addressing::kNone;
  std::array<Index, 3> at;
};

/// How work-items are laid over the target's pixels.
enum class Layout { kGrid, kLine, kLoop, kByTable, kPairs };

struct Launch {
  size_t target = 0;
  Layout layout = Layout::kGrid;
  std::array<size_t, 3> id{0, 1, 2};  // which id counts a coordinate
  std::array<bool, 3> reversed{};
  bool skips = false;
  std::vector<Read> reads;
  std::array<size_t, 3> local{1, 1, 1};
};

constexpr const char* kNames[] = {"x", "y", "z"};

class RandomImages : public ImageTest {
 protected:
  void SetUp() override {
    ImageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto extensions = string_of(query_of(device_, CL_DEVICE_EXTENSIONS));
    writes_3d_ = extensions.find("cl_khr_3d_image_writes") != std::string::npos;
    edge_ = make_sampler(CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
  }

  size_t below(size_t limit) { return random_() % limit; }
  bool chance(size_t one_in) { return below(one_in) == 0; }

  void make_pictures() {
    pictures_.clear();
    for (size_t i = 0; i < 7; ++i) {
      Picture picture;
      picture.shape = &kShapes[i < std::size(kShapes) ? i : below(std::size(kShapes))];
      picture.format = chance(3) ? kRgba32 : kRgba8;
      const size_t n = picture.shape->coordinates;
      Extent extent{1, 1, 1};
      extent[0] = n == 1 ? 200 + below(900) : n == 2 ? 5 + below(60) : 5 + below(28);
      if (n > 1) extent[1] = n == 2 ? 5 + below(kTable - 5) : 3 + below(30);
      if (n > 2) extent[2] = 2 + below(20);
      const size_t size = picture.format.image_channel_data_type == CL_UNSIGNED_INT8 ? 4 : 16;
      picture.pixels = Pixels(extent, size, static_cast<uint32_t>(random_()));
      make(picture);
      pictures_.push_back(std::move(picture));
    }
  }
  void make(Picture& picture) {
    if (picture.shape->object != CL_MEM_OBJECT_IMAGE1D_BUFFER) {
      picture.image = upload({picture.shape->type, picture.shape->object, picture.pixels.extent},
                             picture.format, picture.pixels);
      return;
    }
    picture.buffer = make_buffer_of(picture.pixels.bytes);
    cl_image_desc description = {};
    description.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    description.image_width = picture.pixels.extent[0];
    description.mem_object = picture.buffer;
    cl_int code = CL_SUCCESS;
    picture.image = Buffer(
        clCreateImage(context_, CL_MEM_READ_WRITE, &picture.format, &description, nullptr, &code));
    ASSERT_SUCCESS(code);
  }

  Launch random_launch() {
    Launch launch;
    do {
      launch.target = below(pictures_.size());
    } while (!writes_3d_ && pictures_[launch.target].shape->object == CL_MEM_OBJECT_IMAGE3D);
    const size_t n = pictures_[launch.target].shape->coordinates;
    launch.layout = static_cast<Layout>(below(5));
    if (n == 1 && launch.layout != Layout::kPairs) launch.layout = Layout::kGrid;
    if (chance(3))
      std::shuffle(launch.id.begin(), launch.id.begin() + static_cast<int>(n), random_);
    for (bool& reversed : launch.reversed) reversed = chance(4);
    launch.skips = chance(4);
    const size_t dimensions = dimensions_of(launch);
    for (size_t d = 0; d < dimensions; ++d) {
      launch.local[d] = size_t{1} << below(dimensions == 1 ? 7 : 4);
    }
    for (size_t i = below(3) + (launch.skips ? 0 : 1); i > 0; --i) {
      Read read;
      do {
        read.picture = below(pictures_.size());
      } while (read.picture == launch.target);
      const Picture& source = pictures_[read.picture];
      read.addressing = source.shape->object == CL_MEM_OBJECT_IMAGE1D_BUFFER
                            ? Addressing::kNone
                            : static_cast<Addressing>(below(6));
      // PoCL 3.1 takes the layer, too, for normalized.
      if (source.shape->array && read.addressing == Addressing::kNormalized) {
        read.addressing = Addressing::kFloat;
      }
      for (size_t d = 0; d < source.shape->coordinates; ++d) {
        Index& index = read.at[d];
        // Mostly the coordinate that moves at the same rate, seen from the outermost.
        const size_t m = source.shape->coordinates;
        index.coordinate = chance(4) ? below(n) : d + n >= m ? d + n - m : 0;
        index.factor = chance(4) ? static_cast<int>(below(4)) - 1 : 1;
        index.added = static_cast<int>(below(7)) - 3;
        index.table = chance(12);
      }
      launch.reads.push_back(read);
    }
    return launch;
  }

  /// Of the launch: ids in use.
  size_t dimensions_of(const Launch& launch) const {
    const size_t n = pictures_[launch.target].shape->coordinates;
    if (launch.layout == Layout::kLine) return 1;
    return launch.layout == Layout::kLoop ? n - 1 : n;
  }
  std::array<size_t, 3> items_of(const Launch& launch) const {
    const Picture& target = pictures_[launch.target];
    const size_t n = target.shape->coordinates;
    std::array<size_t, 3> items{1, 1, 1};
    const auto extent = [&](size_t d) { return target.pixels.extent[d]; };
    if (launch.layout == Layout::kLine) {
      items[0] = extent(0) * extent(1) * extent(2);
    } else if (launch.layout == Layout::kLoop) {
      for (size_t d = 0; d + 1 < n; ++d) items[d] = extent(looped(launch) <= d ? d + 1 : d);
    } else {
      for (size_t d = 0; d < n; ++d) items[launch.id[d]] = extent(d);
      if (launch.layout == Layout::kPairs) items[launch.id[0]] = (extent(0) + 1) / 2;
    }
    for (size_t d = 0; d < 3; ++d) items[d] = round_up(items[d], launch.local[d]);
    return items;
  }
  /// The coordinate that a loop counts.
  size_t looped(const Launch& launch) const {
    return launch.id[0] % pictures_[launch.target].shape->coordinates;
  }

  static std::string vector(const char* element, const std::vector<std::string>& lanes) {
    if (lanes.size() == 1) return lanes[0];
    std::string text = std::string("(") + element + (lanes.size() == 2 ? "2)(" : "4)(");
    for (const std::string& lane : lanes) text += lane + ", ";
    if (lanes.size() == 3) text += "0, ";
    text.resize(text.size() - 2);
    return text + ")";
  }
  static std::string text_of_index(const Index& index) {
    const std::string name = kNames[index.coordinate];
    std::string text = index.table ? "table[" + name + " % 64]" : name;
    return std::to_string(index.factor) + " * " + text + " + " + std::to_string(index.added);
  }
  std::string text_of_read(const Read& read, size_t number) const {
    const Picture& source = pictures_[read.picture];
    const size_t m = source.shape->coordinates;
    const bool floats =
        read.addressing == Addressing::kFloat || read.addressing == Addressing::kNormalized;
    std::vector<std::string> lanes;
    for (size_t d = 0; d < m; ++d) {
      std::string at = text_of_index(read.at[d]);
      const bool layer = source.shape->array && d + 1 == m;
      const std::string size = std::to_string(source.extent(d));
      if (layer || read.addressing == Addressing::kNone) {
        at = "clamp(" + at + ", 0, " + size + " - 1)";
      }
      if (floats) at = "(float)(" + at + ")" + (layer ? "" : " + 0.5f");
      if (read.addressing == Addressing::kNormalized && !layer)
        at = "(" + at + ") / " + size + ".0f";
      lanes.push_back(at);
    }
    static constexpr const char* kSamplers[] = {"",    "kEdge, ", "kBorder, ",
                                                "s, ", "kEdge, ", "kNormalized, "};
    return "read_imageui(in" + std::to_string(number) + ", " +
           kSamplers[static_cast<size_t>(read.addressing)] +
           vector(floats ? "float" : "int", lanes) + ")";
  }
  std::string text_of(const Launch& launch, size_t number) const {
    const Picture& target = pictures_[launch.target];
    const size_t n = target.shape->coordinates;
    std::ostringstream text;
    text << "kernel void k" << number << "(write_only " << target.shape->type
         << " out, sampler_t s, global const int* table";
    for (size_t i = 0; i < launch.reads.size(); ++i) {
      text << ", read_only " << pictures_[launch.reads[i].picture].shape->type << " in" << i;
    }
    text << ") {\n  const int g0 = get_global_id(0), g1 = get_global_id(1), g2 = "
            "get_global_id(2);\n";
    const auto declare = [&](size_t d, const std::string& id) {
      const std::string size = std::to_string(target.extent(d));
      text << "  if (" << id << " >= " << size << ") return;\n  const int " << kNames[d] << " = ";
      if (launch.layout == Layout::kByTable && d + 1 == n) {
        text << "table[64 + " << id << "];\n";
      } else {
        text << (launch.reversed[d] ? size + " - 1 - " + id : id) << ";\n";
      }
    };
    for (size_t d = n; d < 3; ++d) text << "  const int " << kNames[d] << " = 0;\n";
    if (launch.layout == Layout::kLine) {
      const int w = target.extent(0), h = target.extent(1), all = w * h * target.extent(2);
      text << "  if (g0 >= " << all << ") return;\n  const int x = g0 % " << w << ";\n";
      if (n > 1) text << "  const int y = g0 / " << w << " % " << h << ";\n";
      if (n > 2) text << "  const int z = g0 / " << w * h << ";\n";
    } else if (launch.layout == Layout::kLoop) {
      const size_t loop = looped(launch);
      for (size_t d = 0; d + 1 < n; ++d) {
        declare(loop <= d ? d + 1 : d, "g" + std::to_string(d));
      }
      text << "  for (int " << kNames[loop] << " = 0; " << kNames[loop] << " < "
           << target.extent(loop) << "; ++" << kNames[loop] << ") {\n";
    } else {
      for (size_t d = launch.layout == Layout::kPairs ? 1 : 0; d < n; ++d) {
        declare(d, "g" + std::to_string(launch.id[d]));
      }
      if (launch.layout == Layout::kPairs) {
        text << "  for (int x = 2 * g" << launch.id[0] << "; x < min(2 * g" << launch.id[0]
             << " + 2, " << target.extent(0) << "); ++x) {\n";
      }
    }
    const bool loop = launch.layout == Layout::kLoop || launch.layout == Layout::kPairs;
    text << "  uint4 v = (uint4)(x, y, z, " << number << ") * 5;\n";
    for (size_t i = 0; i < launch.reads.size(); ++i) {
      text << "  v += " << text_of_read(launch.reads[i], i) << " * " << 2 * i + 1 << ";\n";
    }
    if (launch.skips) text << "  if ((x * 3 + y + z) % 4 != 1)\n  ";
    std::vector<std::string> lanes(kNames, kNames + n);
    text << "  write_imageui(out, " << vector("int", lanes) << ", v"
         << (target.pixels.size == 4 ? " & 255" : "") << ");\n";
    if (loop) text << "  }\n";
    text << "}\n";
    return text.str();
  }

  Value read(const Read& read, const Pixel& at) const {
    const Picture& source = pictures_[read.picture];
    const size_t m = source.shape->coordinates;
    Pixel from{0, 0, 0};
    for (size_t d = 0; d < m; ++d) {
      const Index& index = read.at[d];
      const int base = at[index.coordinate];
      const int moved =
          index.factor * (index.table ? table_[static_cast<size_t>(base % 64)] : base) +
          index.added;
      const bool layer = source.shape->array && d + 1 == m;
      const bool outside = moved < 0 || moved >= source.extent(d);
      if (outside && !layer && read.addressing == Addressing::kBorder) return {};
      from[d] = std::clamp(moved, 0, source.extent(d) - 1);
    }
    return source.get(from);
  }
  void compute(const Launch& launch, size_t number) {
    Picture& target = pictures_[launch.target];
    for (int z = 0; z < target.extent(2); ++z) {
      for (int y = 0; y < target.extent(1); ++y) {
        for (int x = 0; x < target.extent(0); ++x) {
          if (launch.skips && (x * 3 + y + z) % 4 == 1) continue;
          Value v{static_cast<uint32_t>(x) * 5, static_cast<uint32_t>(y) * 5,
                  static_cast<uint32_t>(z) * 5, static_cast<uint32_t>(number) * 5};
          for (size_t i = 0; i < launch.reads.size(); ++i) {
            const Value seen = read(launch.reads[i], {x, y, z});
            for (size_t c = 0; c < 4; ++c) v[c] += seen[c] * static_cast<uint32_t>(2 * i + 1);
          }
          target.put({x, y, z}, v);
        }
      }
    }
  }

  void run(const Launch& launch, cl_program program, size_t number) {
    const Kernel kernel = make_kernel(program, ("k" + std::to_string(number)).c_str());
    // A permutation for the target's outermost coordinate, beside entries for reads.
    const Picture& target = pictures_[launch.target];
    const int outer = target.extent(target.shape->coordinates - 1);
    table_.resize(kTable);
    for (int& entry : table_) entry = static_cast<int>(below(40));
    for (int i = 0; i < outer; ++i) table_.push_back(i);
    std::shuffle(table_.begin() + kTable, table_.end(), random_);
    const Buffer table = make_buffer_of(table_);
    const cl_mem out = target.image;
    const cl_sampler sampler = edge_;
    const cl_mem in_table = table;
    ASSERT_SUCCESS(clSetKernelArg(kernel, 0, sizeof(out), &out));
    ASSERT_SUCCESS(clSetKernelArg(kernel, 1, sizeof(sampler), &sampler));
    ASSERT_SUCCESS(clSetKernelArg(kernel, 2, sizeof(in_table), &in_table));
    for (size_t i = 0; i < launch.reads.size(); ++i) {
      const cl_mem in = pictures_[launch.reads[i].picture].image;
      ASSERT_SUCCESS(clSetKernelArg(kernel, static_cast<cl_uint>(3 + i), sizeof(in), &in));
    }
    const auto items = items_of(launch);
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel,
                                          static_cast<cl_uint>(dimensions_of(launch)), nullptr,
                                          items.data(), launch.local.data(), 0, nullptr, nullptr));
    compute(launch, number);
  }

  /// A random box is read, written, or filled by a copy from another place of the image.
  void transfer() {
    Picture& picture = pictures_[below(pictures_.size())];
    Extent origin{0, 0, 0}, region{1, 1, 1};
    for (size_t d = 0; d < 3; ++d) {
      origin[d] = below(picture.pixels.extent[d]);
      region[d] = 1 + below(picture.pixels.extent[d] - origin[d]);
    }
    switch (below(picture.buffer ? 3 : 2)) {
      case 0:
        EXPECT_TRUE(
            same_elements(picture.pixels.cut(origin, region).bytes,
                          download(picture.image, origin, region, picture.pixels.size).bytes));
        return;
      case 1: {
        const Pixels patch(region, picture.pixels.size, static_cast<uint32_t>(random_()));
        ASSERT_SUCCESS(clEnqueueWriteImage(queue_, picture.image, CL_TRUE, origin.data(),
                                           region.data(), 0, 0, patch.bytes.data(), 0, nullptr,
                                           nullptr));
        picture.pixels.paste(patch, origin);
        return;
      }
      default: {  // as the buffer that it is
        const std::vector<uint8_t> bytes = noise(13, static_cast<uint32_t>(random_()));
        ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, picture.buffer, CL_TRUE, 5, bytes.size(),
                                            bytes.data(), 0, nullptr, nullptr));
        std::copy(bytes.begin(), bytes.end(), picture.pixels.bytes.begin() + 5);
        return;
      }
    }
  }

  void round(uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    make_pictures();
    std::vector<Launch> launches;
    std::string source =
        "#ifdef cl_khr_3d_image_writes\n"
        "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n#endif\n"
        "#define MODES(a) CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST | a\n"
        "constant sampler_t kEdge = MODES(CLK_ADDRESS_CLAMP_TO_EDGE);\n"
        "constant sampler_t kBorder = MODES(CLK_ADDRESS_CLAMP);\n"
        "constant sampler_t kNormalized =\n"
        "    CLK_NORMALIZED_COORDS_TRUE | CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP_TO_EDGE;\n";
    for (size_t i = 0; i < 6; ++i) {
      launches.push_back(random_launch());
      source += text_of(launches.back(), i);
    }
    const Program program = build(source);
    for (size_t i = 0; i < launches.size(); ++i) {
      run(launches[i], program, i);
      if (chance(3)) transfer();
      if (i + 1 < launches.size() && !chance(4)) continue;
      for (const Picture& picture : pictures_) {
        ASSERT_TRUE(same_elements(
            picture.pixels.bytes,
            download(picture.image, zero_, picture.pixels.extent, picture.pixels.size).bytes))
            << picture.shape->type << ", after launch " << i << " of\n"
            << source;
      }
    }
  }

  std::mt19937 random_;
  std::vector<Picture> pictures_;
  std::vector<int> table_;
  Sampler edge_;
  bool writes_3d_ = false;
};

TEST_F(RandomImages, LaunchesAndTransfers) {
  const char* seed = std::getenv("TUTTI_TEST_IMAGE_SEED");
  const char* rounds = std::getenv("TUTTI_TEST_IMAGE_ROUNDS");
  const auto first = static_cast<uint32_t>(seed != nullptr ? std::atoi(seed) : 1);
  const auto count = static_cast<uint32_t>(seed != nullptr     ? 1
                                           : rounds != nullptr ? std::atoi(rounds)
                                                               : 6);
  for (uint32_t i = first; i < first + count && !HasFailure(); ++i) round(i);
}

}  // namespace
}  // namespace tutti::api_tests
