// Elements and escapes.
#include "runtime/drawing/canvas.h"

#include <array>
#include <charconv>
#include <cmath>

#include "messages/printable.h"

namespace shoal {
namespace {

// Takes the place of what is no character of XML, though one of UTF-8: U+FFFE and U+FFFF.
std::string of_xml(std::string text) {
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = text.find(none); at != std::string::npos; at = text.find(none)) {
      text.replace(at, none.size(), "?");
    }
  }
  return text;
}

// A name may hold any bytes, as that of a directory.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : of_xml(printable(text, TextShape::kLines))) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + pixel_text(value) + "\"";
}

}  // namespace

std::string pixel_text(double value) {
  std::array<char, 64> digits{};
  const double shown = std::abs(value) < 0.005 ? 0 : value;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), shown, std::chars_format::fixed, 2).ptr;
  std::string text(digits.data(), end);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

double width_of(std::string_view text, double size) { return static_cast<double>(text.size()) * size * 0.56; }

Canvas::Canvas(double width, double height) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) + attribute("height", height) +
         " viewBox=\"0 0 " + pixel_text(width) + " " + pixel_text(height) +
         "\" font-family=\"Inter,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif\">\n";
}

void Canvas::box(const Box& box, std::string_view fill, std::string_view attributes, std::string_view tooltip) {
  out_ += "<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.width) +
          attribute("height", box.height) + " fill=\"" + std::string(fill) + "\"";
  if (!attributes.empty()) out_ += " " + std::string(attributes);
  out_ += tooltip.empty() ? "/>\n" : "><title>" + escaped(tooltip) + "</title></rect>\n";
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) + " " +
          std::string(attributes) + "/>\n";
}

void Canvas::path(std::string_view data, std::string_view attributes) {
  out_ += "<path d=\"" + std::string(data) + "\" " + std::string(attributes) + "/>\n";
}

void Canvas::circle(double x, double y, double radius, std::string_view attributes) {
  out_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + " " + std::string(attributes) +
          "/>\n";
}

void Canvas::text(double x, double y, std::string_view text, const TextStyle& style) {
  static constexpr std::string_view kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  out_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", style.size) + " fill=\"" +
          std::string(style.color) + "\"" + std::string(kAnchors[static_cast<std::size_t>(style.anchor)]) +
          (style.is_bold ? " font-weight=\"600\">" : ">") + escaped(text) + "</text>\n";
}

std::string Canvas::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace shoal
