#include "import/decompress.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <vector>

namespace firstwait {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";
enum class Kind : uint8_t { undecided, plain, gzip, zstd };

}  // namespace

struct Decompressor::State {
  Out out;
  Kind kind = Kind::undecided;
  std::string head;  // until the kind is known
  std::string damage;
  bool stopped = false, ended = true;
  inflate_state gzip;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> zstd{nullptr, &ZSTD_freeDStream};
  std::vector<char> block;

  bool deliver(size_t n) {
    if (n > 0 && !out({block.data(), n})) stopped = true;
    return !stopped;
  }

  bool feed_gzip(std::string_view chunk) {
    gzip.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(chunk.data()));
    gzip.avail_in = static_cast<uint32_t>(chunk.size());
    do {
      if (gzip.block_state == ISAL_BLOCK_FINISH) {
        // Another member may follow; anything else behind the first is padding.
        if (gzip.avail_in == 0 || *gzip.next_in != 0x1f) return true;
        isal_inflate_reset(&gzip);
        gzip.crc_flag = ISAL_GZIP;
      }
      gzip.next_out = reinterpret_cast<uint8_t*>(block.data());
      gzip.avail_out = static_cast<uint32_t>(block.size());
      const int rc = isal_inflate(&gzip);
      if (!deliver(block.size() - gzip.avail_out)) return false;
      if (rc != ISAL_DECOMP_OK) {
        damage = "damaged gzip data";
        return false;
      }
      ended = gzip.block_state == ISAL_BLOCK_FINISH;
    } while (gzip.avail_in > 0 || gzip.avail_out == 0);
    return true;
  }

  bool feed_zstd(std::string_view chunk) {
    ZSTD_inBuffer input{chunk.data(), chunk.size(), 0};
    bool full = false;
    while (input.pos < input.size || full) {
      ZSTD_outBuffer output{block.data(), block.size(), 0};
      const size_t left = ZSTD_decompressStream(zstd.get(), &output, &input);
      if (!deliver(output.pos)) return false;
      if (ZSTD_isError(left)) {
        damage = std::string("damaged zstd data: ") + ZSTD_getErrorName(left);
        return false;
      }
      ended = left == 0;
      full = output.pos == output.size;
    }
    return true;
  }
};

Decompressor::Decompressor(Out out) : state_(std::make_unique<State>()) {
  state_->out = std::move(out);
}
Decompressor::~Decompressor() = default;

bool Decompressor::pass(std::string_view chunk) {
  State& s = *state_;
  switch (s.kind) {
    case Kind::gzip:
      return s.feed_gzip(chunk);
    case Kind::zstd:
      return s.feed_zstd(chunk);
    case Kind::undecided:
    case Kind::plain:
      break;
  }
  if (!chunk.empty() && !s.out(chunk)) s.stopped = true;
  return !s.stopped;
}

bool Decompressor::start() {
  State& s = *state_;
  const std::string_view head = s.head;
  if (head.starts_with(kGzip)) {
    s.kind = Kind::gzip;
    isal_inflate_init(&s.gzip);
    s.gzip.crc_flag = ISAL_GZIP;
  } else if (head.starts_with(kZstd)) {
    s.kind = Kind::zstd;
    s.zstd.reset(ZSTD_createDStream());
  } else {
    s.kind = Kind::plain;
  }
  if (s.kind != Kind::plain) {
    s.ended = false;
    s.block.resize(kBlock);
  }
  return pass(head);
}

bool Decompressor::feed(std::string_view chunk) {
  State& s = *state_;
  if (s.stopped || !s.damage.empty()) return false;
  if (s.kind != Kind::undecided) return pass(chunk);
  s.head.append(chunk);
  return s.head.size() < kZstd.size() || start();
}

std::string Decompressor::finish() {
  State& s = *state_;
  if (s.kind == Kind::undecided && !s.head.empty()) start();
  if (s.damage.empty() && !s.ended && !s.stopped)
    s.damage = s.kind == Kind::gzip ? "gzip data ends early" : "zstd data ends early";
  return s.damage;
}

}  // namespace firstwait
