// A report before it has a format: blocks of plain text that sections append and renderers print.
// Nothing in it is escaped; the renderer of each format does that, so no section can forget it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace abba::report {

enum class Tone { kNeutral, kGood, kBad, kWarn, kMuted };

struct Inline {
  enum class Kind { kPlain, kStrong, kCode, kChip };
  Kind kind = Kind::kPlain;
  std::string text;
  Tone tone = Tone::kNeutral;  // of a chip
};

using Line = std::vector<Inline>;

inline Inline plain(std::string text) {
  return {Inline::Kind::kPlain, std::move(text), {}};
}
inline Inline strong(std::string text) {
  return {Inline::Kind::kStrong, std::move(text), {}};
}
inline Inline code(std::string text) {
  return {Inline::Kind::kCode, std::move(text), {}};
}
inline Inline chip(std::string text, Tone tone) {
  return {Inline::Kind::kChip, std::move(text), tone};
}

struct Heading {
  int level = 2;
  std::string text;
};

struct Paragraph {
  Line line;
};

struct Bullets {
  std::vector<Line> items;
};

struct Table {
  std::vector<std::string> head;
  std::vector<Line> rows;        // one Inline a cell
  std::size_t first_number = 1;  // columns from this one on are aligned right
  std::string fold;              // a title: the table is folded away under it
};

struct Commands {
  std::vector<std::string> lines;
};

struct Figure {
  std::string svg;   // made by this layer: trusted markup
  std::string file;  // where the same picture lies beside a Markdown report, or empty
  std::string text;  // what it shows
};

// One of the above. No std::variant: g++ 12 warns about members of alternatives it does not hold.
struct Element {
  enum class Kind { kHeading, kParagraph, kBullets, kTable, kCommands, kFigure };
  Element(Heading e) : kind(Kind::kHeading), heading(std::move(e)) {}
  Element(Paragraph e) : kind(Kind::kParagraph), paragraph(std::move(e)) {}
  Element(Bullets e) : kind(Kind::kBullets), bullets(std::move(e)) {}
  Element(Table e) : kind(Kind::kTable), table(std::move(e)) {}
  Element(Commands e) : kind(Kind::kCommands), commands(std::move(e)) {}
  Element(Figure e) : kind(Kind::kFigure), figure(std::move(e)) {}

  Kind kind;
  Heading heading;
  Paragraph paragraph;
  Bullets bullets;
  Table table;
  Commands commands;
  Figure figure;
};

// Calls `f` with the part that `element` is.
template <typename F>
auto visit_element(const Element& element, F&& f) {
  switch (element.kind) {
    case Element::Kind::kHeading:
      return f(element.heading);
    case Element::Kind::kParagraph:
      return f(element.paragraph);
    case Element::Kind::kBullets:
      return f(element.bullets);
    case Element::Kind::kTable:
      return f(element.table);
    case Element::Kind::kCommands:
      return f(element.commands);
    case Element::Kind::kFigure:
      break;
  }
  return f(element.figure);
}

struct Document {
  std::string title;
  std::vector<Element> elements;

  void heading(std::string text, int level = 2) {
    elements.push_back(Heading{level, std::move(text)});
  }
  void paragraph(Line line) { elements.push_back(Paragraph{std::move(line)}); }
  void paragraph(std::string text) { paragraph(Line{plain(std::move(text))}); }
  void add(Element element) { elements.push_back(std::move(element)); }
};

[[nodiscard]] std::string render_markdown(const Document& document);
[[nodiscard]] std::string render_html(const Document& document);

}  // namespace abba::report
