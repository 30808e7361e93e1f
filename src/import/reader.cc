#include <simdjson.h>

#include "import/importer.h"

namespace firstwait {

void LineReader::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    const size_t end = chunk.find('\n');
    const bool whole = end != std::string_view::npos;
    std::string_view piece = chunk.substr(0, whole ? end : chunk.size());
    chunk.remove_prefix(whole ? end + 1 : chunk.size());
    if (!dropping_ && partial_.size() + piece.size() > kMaxLine) {
      dropping_ = true;
      partial_.clear();
      too_long(number_ + 1);
    }
    if (!whole) {
      if (!dropping_) partial_.append(piece);
      return;
    }
    ++number_;
    if (dropping_) {
      dropping_ = false;
      continue;
    }
    if (!partial_.empty()) {
      partial_.append(piece);
      piece = partial_;
    }
    if (!piece.empty() && piece.back() == '\r') piece.remove_suffix(1);
    line(piece, number_);
    partial_.clear();
  }
}

void LineReader::finish(bool complete) {
  if (!partial_.empty()) {
    if (partial_.back() == '\r') partial_.pop_back();
    line(partial_, ++number_);
  }
  end(complete);
}

void WholeReader::feed(std::string_view chunk) {
  if (text_.size() + chunk.size() > limit_) {
    too_large_ = true;
    return;
  }
  text_.append(chunk);
}

void WholeReader::finish(bool complete) {
  text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
  document(text_, complete, too_large_);
}

}  // namespace firstwait
