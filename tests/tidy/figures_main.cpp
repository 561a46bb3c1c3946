// Prints figures of the repository's shape: `tests_tidy_figures [NAME...]`, each NAME a message, duty, command or field
// in CamelCase, of which the files that know it are counted and listed. The tests themselves are not measured.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "tests/tidy/figures.h"
#include "tests/tidy/outline.h"
#include "tests/tidy/repository.h"

namespace shoal::tidy {
namespace {

constexpr std::size_t kClassesShown = 10;

std::vector<SourceFile> product_of(const std::vector<SourceFile>& sources) {
  std::vector<SourceFile> product;
  std::ranges::copy_if(sources, std::back_inserter(product),
                       [](const SourceFile& source) { return !source.path.starts_with("tests/"); });
  return product;
}

void print_classes(const std::vector<SourceFile>& product) {
  std::cout << "fields  methods  files  calls between them  class\n";
  const auto classes = classes_of(product);
  for (std::size_t i = 0; i < std::min(kClassesShown, classes.size()); ++i) {
    const ClassFigures& one = classes[i];
    std::cout << std::setw(6) << one.fields << std::setw(9) << one.methods << std::setw(7) << one.files << std::setw(20)
              << one.calls_between_files << "  " << one.name << " (" << one.path << ")\n";
  }
}

void print_sizes(const std::vector<SourceFile>& product) {
  const Place header = longest_header(product);
  const Place function = longest_function(product);
  std::size_t lines = 0, types = 0;
  for (const SourceFile& source : product) {
    lines += lines_of(source.text).size();
    types += outline_of(source).types.size();
  }
  std::cout << "longest header: " << header.lines << " lines, " << header.path
            << "\nlongest function: " << function.lines << " lines, " << function.name << " (" << function.path
            << ")\ntypes: " << types << " in " << lines << " lines, " << 1000 * types / std::max<std::size_t>(lines, 1)
            << " per 1000 lines\n";
}

void print_comments(const std::vector<SourceFile>& sources) {
  CommentFigures all;
  for (const SourceFile& source : sources) {
    const CommentFigures one = comments_of(source);
    all.comments += one.comments;
    all.without_noun += one.without_noun;
  }
  std::cout << "comments, tests included: " << all.comments << ", of which " << all.without_noun << " (" << std::fixed
            << std::setprecision(1)
            << 100.0 * static_cast<double>(all.without_noun) /
                   static_cast<double>(std::max<std::size_t>(all.comments, 1))
            << " %) begin without a noun\n";
}

void print_mentions(const std::filesystem::path& root, const std::string& name) {
  std::vector<SourceFile> files;
  for (const std::string& path : house_files(root)) files.push_back(make_source(path, read_text(root / path)));
  const auto found = files_that_name(name, files);
  std::cout << name << ": " << found.size() << " files\n";
  for (const std::string& path : found) std::cout << "  " << path << "\n";
}

}  // namespace
}  // namespace shoal::tidy

int main(int argc, char** argv) {
  const std::filesystem::path root = SHOAL_SOURCE_DIR;
  const auto sources = shoal::tidy::house_sources(root);
  const auto product = shoal::tidy::product_of(sources);
  shoal::tidy::print_classes(product);
  shoal::tidy::print_sizes(product);
  shoal::tidy::print_comments(sources);
  for (int i = 1; i < argc; ++i) shoal::tidy::print_mentions(root, argv[i]);
}
