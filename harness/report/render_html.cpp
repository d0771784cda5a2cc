#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/document.h"
#include "harness/report/escape.h"
#include "harness/report/page_style.h"

namespace abba::report {
namespace {

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kWarn:
      return "warn";
    case Tone::kNeutral:
      return "neutral";
    case Tone::kMuted:
      break;
  }
  return "muted";
}

std::string inline_html(const Inline& piece) {
  const std::string text = escape_xml(piece.text);
  switch (piece.kind) {
    case Inline::Kind::kCode:
      return text.empty() ? "" : "<code>" + text + "</code>";
    case Inline::Kind::kStrong:
      return "<strong>" + text + "</strong>";
    case Inline::Kind::kChip:
      return "<span class=\"chip " + std::string(tone_class(piece.tone)) + "\">" + text + "</span>";
    case Inline::Kind::kPlain:
      break;
  }
  return text;
}

std::string line_html(const Line& line) {
  std::string out;
  for (const Inline& piece : line) {
    out += inline_html(piece);
  }
  return out;
}

std::string cell_html(const Table& table, std::size_t column, std::string_view tag,
                      const std::string& content) {
  const std::string name(tag);
  return "<" + name + (column >= table.first_number ? " class=\"n\">" : ">") + content + "</" +
         name + ">";
}

std::string table_html(const Table& table) {
  std::string out =
      table.fold.empty() ? "" : "<details><summary>" + escape_xml(table.fold) + "</summary>\n";
  out += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.head.size(); ++i) {
    out += cell_html(table, i, "th", escape_xml(table.head[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const Line& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += cell_html(table, i, "td", inline_html(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  return table.fold.empty() ? out : out + "</details>\n";
}

// Prints elements one after the other; a heading of level 2 begins a section.
class Page {
 public:
  void operator()(const Heading& heading) {
    if (heading.level <= 2) {
      ++sections_;
      const std::string id = "s" + std::to_string(sections_);
      nav_ += "<a href=\"#" + id + "\">" + escape_xml(heading.text) + "</a>\n";
      body_ +=
          "</section>\n<section id=\"" + id + "\">\n<h2>" + escape_xml(heading.text) + "</h2>\n";
    } else {
      body_ += "<h3>" + escape_xml(heading.text) + "</h3>\n";
    }
  }
  void operator()(const Paragraph& paragraph) {
    body_ += "<p>" + line_html(paragraph.line) + "</p>\n";
  }
  void operator()(const Bullets& bullets) {
    body_ += "<ul>\n";
    for (const Line& item : bullets.items) {
      body_ += "<li>" + line_html(item) + "</li>\n";
    }
    body_ += "</ul>\n";
  }
  void operator()(const Table& table) { body_ += table_html(table); }
  void operator()(const Commands& commands) {
    body_ += "<pre><code>";
    for (const std::string& line : commands.lines) {
      body_ += escape_xml(line) + "\n";
    }
    body_ += "</code></pre>\n";
  }
  void operator()(const Figure& figure) {
    body_ += "<figure>\n" + figure.svg + "<figcaption>" + escape_xml(figure.text) +
             "</figcaption></figure>\n";
  }

  [[nodiscard]] std::string finish(const std::string& title) const {
    const std::string name = escape_xml(title);
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
           name + "</title>\n<style>" + std::string(page_style()) +
           "</style>\n</head>\n<body>\n<main>\n<h1>" + name + "</h1>\n<section class=\"first\">\n" +
           body_.substr(0, body_.find("</section>")) + "</section>\n<nav>\n" + nav_ + "</nav>\n" +
           after_first() + "</section>\n</main>\n</body>\n</html>\n";
  }

 private:
  // The text before the first heading is the page's head; its end stands in body_.
  [[nodiscard]] std::string after_first() const {
    const std::size_t end = body_.find("</section>");
    return end == std::string::npos ? "<section>" : body_.substr(end + 11);
  }

  std::string body_;
  std::string nav_;
  int sections_ = 0;
};

}  // namespace

std::string render_html(const Document& document) {
  Page page;
  for (const Element& element : document.elements) {
    visit_element(element, [&page](const auto& e) { page(e); });
  }
  return page.finish(document.title);
}

}  // namespace abba::report
