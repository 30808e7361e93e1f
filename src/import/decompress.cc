#include "import/decompress.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <vector>

namespace firstwait {
namespace {

constexpr size_t kBlock = DecodedOutput::kBlock;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

class GzipDecoder final : public Decoder {
 public:
  explicit GzipDecoder(DecodedOutput& output)
      : output_(output), state_(std::make_unique<inflate_state>()) {
    start_member();
  }
  bool feed(std::string_view chunk) override {
    state_->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(chunk.data()));
    state_->avail_in = static_cast<uint32_t>(chunk.size());
    wanted_ = consume();
    return wanted_;
  }
  Ending finish() override {
    if (!wanted_ || !flush()) return ending_;
    if (half_magic_) ignored();
    if (!between_members_) damaged("gzip data ends early");
    return ending_;
  }

 private:
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    between_members_ = false;
  }
  bool flush() {
    const size_t n = filled_;
    filled_ = 0;
    return output_.commit(n);
  }
  bool damaged(std::string why) {
    flush();
    ending_ = {false, std::move(why)};
    return false;
  }
  bool ignored() {
    flush();
    ending_.damage = "bytes behind the gzip data were ignored";
    return false;
  }
  // Inflates all of the input at hand; false: stop reading.
  bool consume() {
    for (;;) {
      if (between_members_) {
        if (!next_member()) return false;
        if (between_members_) return true;
      }
      const size_t room = kBlock - filled_;
      state_->next_out = reinterpret_cast<uint8_t*>(output_.block()) + filled_;
      state_->avail_out = static_cast<uint32_t>(room);
      const uint32_t before = state_->avail_in;
      const int rc = isal_inflate(state_.get());
      filled_ += room - state_->avail_out;
      const bool full = state_->avail_out == 0;
      if (full && !flush()) return false;
      if (rc != ISAL_DECOMP_OK)
        return damaged(rc == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match"
                                                     : "damaged gzip data");
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        between_members_ = true;
        continue;
      }
      if (full) continue;
      if (state_->avail_in == 0) return true;
      if (state_->avail_in == before && room == state_->avail_out)
        return damaged("damaged gzip data");  // no progress: cannot happen with sound input
    }
  }
  // Behind a member: zero padding is skipped, another member is begun, anything else is ignored as
  // gzip does. False: nothing more to inflate. Still between members: more input is needed.
  bool next_member() {
    while (!half_magic_ && state_->avail_in > 0 && *state_->next_in == 0) {
      ++state_->next_in;
      --state_->avail_in;
    }
    if (state_->avail_in == 0) return true;
    const auto byte = [&](size_t i) { return static_cast<char>(state_->next_in[i]); };
    if (!half_magic_ && byte(0) != kGzip[0]) return ignored();
    if (!half_magic_ && state_->avail_in == 1) {
      half_magic_ = true;
      state_->avail_in = 0;
      return true;
    }
    if (byte(half_magic_ ? 0 : 1) != kGzip[1]) return ignored();
    uint8_t* const at = state_->next_in;
    const uint32_t left = state_->avail_in;
    start_member();
    if (half_magic_) {  // its first byte ended the chunk before
      uint8_t first = static_cast<uint8_t>(kGzip[0]);
      state_->next_in = &first;
      state_->avail_in = 1;
      state_->next_out = reinterpret_cast<uint8_t*>(output_.block()) + filled_;
      state_->avail_out = static_cast<uint32_t>(kBlock - filled_);
      isal_inflate(state_.get());
      half_magic_ = false;
    }
    state_->next_in = at;
    state_->avail_in = left;
    return true;
  }

  DecodedOutput& output_;
  std::unique_ptr<inflate_state> state_;  // 80 KiB: too much for a thread's stack
  size_t filled_ = 0;
  bool between_members_ = false, half_magic_ = false, wanted_ = true;
  Ending ending_;
};

class ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(DecodedOutput& output) : output_(output) {}
  bool feed(std::string_view chunk) override {
    wanted_ = consume(chunk);
    return wanted_;
  }
  Ending finish() override {
    if (wanted_ && output_.commit(filled_) && left_ != 0) ending_ = {false, "zstd data ends early"};
    return ending_;
  }

 private:
  bool damaged(std::string why) {
    output_.commit(filled_);
    ending_ = {false, std::move(why)};
    return false;
  }
  bool consume(std::string_view chunk) {
    if (!stream_) return damaged("not enough memory for zstd");
    ZSTD_inBuffer in{chunk.data(), chunk.size(), 0};
    bool full = false;
    while (in.pos < in.size || full) {
      ZSTD_outBuffer out{output_.block(), kBlock, filled_};
      left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
      filled_ = out.pos;
      if (ZSTD_isError(left_))
        return damaged(std::string("damaged zstd data: ") + ZSTD_getErrorName(left_));
      full = filled_ == kBlock && left_ != 0;  // more may lie inside the decoder
      if (filled_ == kBlock) {
        filled_ = 0;
        if (!output_.commit(kBlock)) return false;
      }
    }
    return true;
  }

  DecodedOutput& output_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_{ZSTD_createDStream(),
                                                                   &ZSTD_freeDStream};
  size_t left_ = 1, filled_ = 0;
  bool wanted_ = true;
  Ending ending_;
};

}  // namespace

std::unique_ptr<Decoder> decoder_for(std::string_view head, DecodedOutput& output) {
  if (head.starts_with(kGzip)) return std::make_unique<GzipDecoder>(output);
  if (head.starts_with(kZstd)) return std::make_unique<ZstdDecoder>(output);
  return nullptr;
}

class Decompressor::Blocks final : public DecodedOutput {
 public:
  explicit Blocks(const Out& out) : out_(out), block_(kBlock) {}
  char* block() override { return block_.data(); }
  bool commit(size_t n) override { return n == 0 || out_({block_.data(), n}); }

 private:
  const Out& out_;
  std::vector<char> block_;
};

Decompressor::Decompressor(Out out) : out_(std::move(out)) {}
Decompressor::~Decompressor() = default;

bool Decompressor::start() {
  decided_ = true;
  if (head_.starts_with(kGzip) || head_.starts_with(kZstd)) {
    blocks_ = std::make_unique<Blocks>(out_);
    decoder_ = decoder_for(head_, *blocks_);
  }
  return feed(head_);
}

bool Decompressor::feed(std::string_view chunk) {
  if (stopped_) return false;
  if (!decided_) {
    head_.append(chunk);
    return head_.size() < kMagicBytes || start();
  }
  if (decoder_) {
    stopped_ = !decoder_->feed(chunk);
  } else if (!chunk.empty()) {
    stopped_ = !out_(chunk);
  }
  return !stopped_;
}

std::string Decompressor::finish() {
  if (!decided_ && !head_.empty()) start();
  if (!decoder_) return "";
  auto ending = decoder_->finish();
  return ending.complete ? "" : std::move(ending.damage);
}

}  // namespace firstwait
