#include <algorithm>
#include <string>
#include <type_traits>

#include "harness/report/document.h"
#include "harness/report/escape.h"

namespace abba::report {
namespace {

std::string inline_text(const Inline& piece, bool in_table, bool starts_line = false) {
  switch (piece.kind) {
    case Inline::Kind::kCode:
      return markdown_code(piece.text, in_table);
    case Inline::Kind::kStrong:
    case Inline::Kind::kChip:
      return piece.text.empty() ? "" : "**" + escape_markdown(piece.text) + "**";
    case Inline::Kind::kPlain:
      break;
  }
  return escape_markdown(piece.text, starts_line);
}

std::string line_text(const Line& line) {
  std::string out;
  for (const Inline& piece : line) {
    out += inline_text(piece, false, out.empty());
  }
  return out;
}

std::string table_text(const Table& table) {
  std::string out;
  if (!table.fold.empty()) {
    out += "<details><summary>";
    out += escape_xml(table.fold);
    out += "</summary>\n\n";
  }
  std::string rule = "|";
  out += "|";
  for (std::size_t i = 0; i < table.head.size(); ++i) {
    out += " " + escape_markdown(table.head[i]) + " |";
    rule += i >= table.first_number ? "--:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const Line& row : table.rows) {
    out += "|";
    for (const Inline& cell : row) {
      out += " " + inline_text(cell, true) + " |";
    }
    out += "\n";
  }
  return table.fold.empty() ? out : out + "\n</details>\n";
}

std::string commands_text(const Commands& commands) {
  // Indented code cannot be ended by anything inside it.
  std::string out;
  for (const std::string& line : commands.lines) {
    out += "    " + clean_utf8(line) + "\n";
  }
  return out;
}

std::string element_text(const Element& element) {
  return visit_element(element, [](const auto& e) -> std::string {
    using T = std::decay_t<decltype(e)>;
    if constexpr (std::is_same_v<T, Heading>) {
      return std::string(static_cast<std::size_t>(e.level), '#') + " " + escape_markdown(e.text) +
             "\n";
    } else if constexpr (std::is_same_v<T, Paragraph>) {
      return line_text(e.line) + "\n";
    } else if constexpr (std::is_same_v<T, Bullets>) {
      std::string out;
      for (const Line& item : e.items) {
        out += "- " + line_text(item) + "\n";
      }
      return out;
    } else if constexpr (std::is_same_v<T, Table>) {
      return table_text(e);
    } else if constexpr (std::is_same_v<T, Commands>) {
      return commands_text(e);
    } else {
      return e.file.empty() ? ""
                            : "![" + escape_markdown(e.text) + "](<" + escape_xml(e.file) + ">)\n";
    }
  });
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + escape_markdown(document.title) + "\n";
  for (const Element& element : document.elements) {
    const std::string text = element_text(element);
    if (!text.empty()) {
      out += "\n" + text;
    }
  }
  return out;
}

}  // namespace abba::report
