// SPDX-License-Identifier: Apache-2.0
#include "kernels/ray.cl.h"

#include <array>
#include <optional>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
constexpr std::size_t kLongestRun = 8;
static_assert(kLongestRun < kLocalX);
constexpr int kCloseLevels = 2;
constexpr double kNearest = 0.001;
constexpr double kFarthest = 60;

struct Vector {
  double x = 0, y = 0, z = 0;
};
Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector operator*(double f, Vector a) { return {f * a.x, f * a.y, f * a.z}; }
double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

constexpr Vector kSun = {0.48, 0.80, -0.36};

struct Sphere {
  std::array<float, 4> place;  ///< centre, radius
  std::array<float, 4> paint;  ///< colour, mirror
};

struct Scene {
  std::vector<Sphere> spheres;
  int bounces = 0;
};

/// A few large spheres, three of them mirrors.
Scene simple_scene() {
  return {{{{0.0F, 1.5F, 1.0F, 1.5F}, {0.9F, 0.3F, 0.2F, 0.3F}},
           {{-3.0F, 1.0F, 0.0F, 1.0F}, {0.2F, 0.8F, 0.3F, 0.0F}},
           {{2.8F, 0.9F, -1.0F, 0.9F}, {0.9F, 0.9F, 0.9F, 0.7F}},
           {{-1.2F, 0.5F, -2.5F, 0.5F}, {0.3F, 0.4F, 0.9F, 0.0F}},
           {{4.5F, 2.0F, 4.0F, 2.0F}, {0.8F, 0.7F, 0.2F, 0.5F}}},
          3};
}

/// A heap of small mirrors on the right: rays bounce there, and nowhere else.
Scene crowded_scene() {
  Scene scene;
  scene.bounces = 4;
  Random random(20);
  for (int i = 0; i < 48; ++i) {
    const float radius = 0.35F + 0.45F * random.unit();
    scene.spheres.push_back({{0.2F + 4.5F * random.unit(), radius + 3.0F * random.unit(),
                              -2.0F + 5.0F * random.unit(), radius},
                             {0.4F + 0.6F * random.unit(), 0.4F + 0.6F * random.unit(),
                              0.4F + 0.6F * random.unit(), 0.5F + 0.3F * random.unit()}});
  }
  return scene;
}

/// In double precision; a sphere is met where the quadratic equation of the distance has a root.
class Tracer {
 public:
  Tracer(const Scene& scene, std::size_t width, std::size_t height)
      : scene_(scene), width_(static_cast<double>(width)), height_(static_cast<double>(height)) {}

  cl_uint pixel(std::size_t column, std::size_t row) const {
    Vector direction = {(2 * static_cast<double>(column) + 1 - width_) / width_,
                        (height_ - 2 * static_cast<double>(row) - 1) / width_ - 0.1, 1.5};
    direction = (1 / std::sqrt(dot(direction, direction))) * direction;
    const Vector colour = follow({0.17, 2.03, -9.11}, direction, 1, 0);
    return level(colour.x) | level(colour.y) << 8 | level(colour.z) << 16 | 0xff000000U;
  }

 private:
  static cl_uint level(double part) {
    return static_cast<cl_uint>(std::lround(255 * std::min(std::max(part, 0.0), 1.0)));
  }

  static std::optional<double> meet(const Sphere& sphere, Vector origin, Vector direction) {
    const Vector from = origin - centre(sphere);
    const double half_b = dot(from, direction);
    const double radius = sphere.place[3];
    const double c = dot(from, from) - radius * radius;
    const double discriminant = half_b * half_b - c;
    if (discriminant <= 0) return std::nullopt;
    for (const double root :
         {-half_b - std::sqrt(discriminant), -half_b + std::sqrt(discriminant)}) {
      if (root > kNearest) return root < kFarthest ? std::optional(root) : std::nullopt;
    }
    return std::nullopt;
  }

  static Vector centre(const Sphere& sphere) {
    return {sphere.place[0], sphere.place[1], sphere.place[2]};
  }

  bool lit(Vector point) const {
    return std::none_of(scene_.spheres.begin(), scene_.spheres.end(),
                        [&](const Sphere& one) { return meet(one, point, kSun).has_value(); });
  }

  Vector follow(Vector origin, Vector direction, double strength, int bounce) const {
    const Sphere* met = nullptr;
    double distance = kFarthest;
    for (const Sphere& sphere : scene_.spheres) {
      const std::optional<double> one = meet(sphere, origin, direction);
      if (one && *one < distance) {
        distance = *one;
        met = &sphere;
      }
    }
    if (direction.y < 0) {
      const double plane = origin.y / -direction.y;
      if (plane > kNearest && plane < distance) {
        distance = plane;
        met = nullptr;
      }
    }
    if (distance >= kFarthest) {
      const double up = std::max(direction.y, 0.0);
      return strength * ((1 - up) * Vector{0.9, 0.9, 1.0} + up * Vector{0.2, 0.4, 0.9});
    }
    const Vector point = origin + distance * direction;
    Vector normal = {0, 1, 0};
    Vector paint;
    double mirror = 0.1F;
    if (met != nullptr) {
      normal = (1 / double{met->place[3]}) * (point - centre(*met));
      paint = {met->paint[0], met->paint[1], met->paint[2]};
      mirror = met->paint[3];
    } else {
      const double tiles =
          std::floor(0.8 * point.x + 0.6 * point.z) + std::floor(0.8 * point.z - 0.6 * point.x);
      const bool odd = std::fmod(std::abs(tiles), 2) != 0;
      paint = odd ? Vector{0.85, 0.85, 0.8} : Vector{0.15, 0.15, 0.2};
    }
    const double towards_sun = dot(normal, kSun);
    const double light = towards_sun > 0 && lit(point) ? towards_sun : 0;
    const Vector own = strength * (1 - mirror) * (0.15 + 0.85 * light) * paint;
    const double left = strength * mirror;
    if (left < 0.01 || bounce == scene_.bounces) return own;
    return own + follow(point, direction - 2 * dot(direction, normal) * normal, left, bounce + 1);
  }

  const Scene& scene_;
  double width_;
  double height_;
};

class Ray final : public KernelBenchmark {
 public:
  Ray(Scene scene, std::size_t size)
      : scene_(std::move(scene)), width_(size), height_((size * 2 + 2) / 3) {
    for (const Sphere& sphere : scene_.spheres) {
      spheres_.host.insert(spheres_.host.end(), sphere.place.begin(), sphere.place.end());
      spheres_.host.insert(spheres_.host.end(), sphere.paint.begin(), sphere.paint.end());
    }
    const Tracer tracer(scene_, width_, height_);
    std::vector<cl_uint> expected;
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) expected.push_back(tracer.pixel(x, y));
    }
    out_.expect(std::move(expected));
  }

  Verdict verify(std::size_t) override {
    return verify_picture(
        width_, height_, 2, kLongestRun,
        [this](std::size_t i) { return compare(out_.found[i], out_.expected[i]); },
        [this](std::size_t i) {
          return "RGBA " + levels(out_.found[i]) + ", expected " + levels(out_.expected[i]);
        });
  }

  Work work() const override { return {}; }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  static int level(cl_uint pixel, int channel) {
    return static_cast<int>(pixel >> (8 * channel) & 0xffU);
  }

  static std::string levels(cl_uint pixel) {
    std::string text;
    for (int channel = 0; channel < 4; ++channel) {
      if (channel != 0) text += ' ';
      text += std::to_string(level(pixel, channel));
    }
    return text;
  }

  static Pixel compare(cl_uint found, cl_uint expected) {
    if (found == expected) return Pixel::kEqual;
    if (level(found, 3) != 255) return Pixel::kImpossible;
    for (int channel = 0; channel < 3; ++channel) {
      if (std::abs(level(found, channel) - level(expected, channel)) > kCloseLevels) {
        return Pixel::kDifferent;
      }
    }
    return Pixel::kClose;
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "ray");
    set_args(kernel, spheres_.device(lane), out_.device(lane),
             static_cast<cl_int>(scene_.spheres.size()), static_cast<cl_int>(scene_.bounces),
             static_cast<cl_int>(width_), static_cast<cl_int>(height_));
    return kernel;
  }

  Scene scene_;
  std::size_t width_;
  std::size_t height_;
  Input<float> spheres_{*this};
  Output<cl_uint> out_{*this, kLocalY* width_};
};

constexpr char kSize[] = "width in pixels; the height is two thirds of it";
constexpr char kTolerance[] =
    "equal but for 2 levels of 255, except at most 2 pixels of 1000, and never more than 8 in a "
    "row";

}  // namespace

Entry entry_ray1() {
  return {"ray1",
          "a ray tracer, five spheres, slightly irregular work (2-D, float)",
          kSize,
          kTolerance,
          1503,
          embedded::kernels_ray_cl,
          [](std::size_t size) { return std::make_unique<Ray>(simple_scene(), size); },
          "ray"};
}

Entry entry_ray2() {
  return {"ray2",
          "a ray tracer, a heap of mirrors at one side, very irregular work (2-D, float)",
          kSize,
          kTolerance,
          703,
          embedded::kernels_ray_cl,
          [](std::size_t size) { return std::make_unique<Ray>(crowded_scene(), size); },
          "ray"};
}

}  // namespace tutti::bench
