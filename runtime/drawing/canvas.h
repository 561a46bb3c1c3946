// Shapes to SVG text, one element per call, in the order in which they cover each other.
// Coordinates are pixels; texts are escaped, colors and attributes are the caller's word.
#pragma once

#include <string>
#include <string_view>

namespace shoal {

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

enum class Anchor : unsigned char { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  std::string_view color = "#1f2933";
  Anchor anchor = Anchor::kStart;
  bool is_bold = false;
};

class Canvas {
 public:
  Canvas(double width, double height);

  // attributes: more of them, as in `rx="2" opacity=".5"`. tooltip: shown under the pointer; empty: none.
  void box(const Box& box, std::string_view fill, std::string_view attributes = {}, std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);
  void path(std::string_view data, std::string_view attributes);
  void circle(double x, double y, double radius, std::string_view attributes);
  void text(double x, double y, std::string_view text, const TextStyle& style);
  void raw(std::string_view svg) { out_ += svg; }

  // The whole file.
  [[nodiscard]] std::string finish() &&;

 private:
  std::string out_;
};

// "12.3": at most two digits behind the point, none that say nothing.
[[nodiscard]] std::string pixel_text(double value);

// Estimates the width of a text of that size: the picture has no fonts to ask.
[[nodiscard]] double width_of(std::string_view text, double size);

}  // namespace shoal
