#include "agent/bundle.h"

#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "collect/file.h"

namespace firstwait {
namespace {

constexpr size_t kTarBlock = 512;

std::string tar_header(const std::string& name, size_t size) {
  std::string h(kTarBlock, '\0');
  const auto put = [&](size_t at, const char* text) {
    std::memcpy(h.data() + at, text, std::strlen(text));
  };
  put(0, name.substr(0, 99).c_str());
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  char number[16];
  std::snprintf(number, sizeof number, "%011llo", static_cast<unsigned long long>(size));
  put(124, number);
  put(136, "00000000000");
  put(148, "        ");
  h[156] = '0';
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  std::snprintf(number, sizeof number, "%06o", sum);
  put(148, number);
  h[154] = '\0';
  return h;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// Parts of paths that say nothing about anybody.
constexpr std::string_view kPlain[] = {"proc",
                                       "sys",
                                       "dev",
                                       "etc",
                                       "usr",
                                       "var",
                                       "lib",
                                       "lib64",
                                       "bin",
                                       "tmp",
                                       "run",
                                       "opt",
                                       "mnt",
                                       "home",
                                       "data",
                                       "class",
                                       "net",
                                       "device",
                                       "devices",
                                       "self",
                                       "mountinfo",
                                       "environ",
                                       "status",
                                       "maps",
                                       "cgroup",
                                       "fs",
                                       "bus",
                                       "pci",
                                       "module",
                                       "kernel",
                                       "system",
                                       "cpu",
                                       "online",
                                       "operstate",
                                       "speed",
                                       "mtu",
                                       "numa_node",
                                       "version",
                                       "version.py",
                                       "torch",
                                       "nvidia",
                                       "cpuset",
                                       "infiniband",
                                       "ports",
                                       "osrelease",
                                       "cpufreq",
                                       "scaling_governor",
                                       "host",
                                       "nic",
                                       "gpu",
                                       "rank",
                                       "process",
                                       "mount",
                                       "storage",
                                       "job",
                                       "boot",
                                       "root",
                                       "shm",
                                       "v1",
                                       "dist-packages",
                                       "site-packages",
                                       "python3",
                                       "local",
                                       "share",
                                       "x86_64-linux-gnu",
                                       "kmsg",
                                       "numa_balancing",
                                       "transparent_hugepage",
                                       "enabled",
                                       "mm",
                                       "fw_ver",
                                       "board_id",
                                       "rate",
                                       "current_link_speed",
                                       "max_link_speed",
                                       "current_link_width",
                                       "max_link_width"};

bool plain(std::string_view part) {
  if (part.empty() || part.find_first_not_of("0123456789:.") == std::string_view::npos) return true;
  if (part.starts_with("lib") && part.find(".so") != std::string_view::npos) return true;
  return std::find(std::begin(kPlain), std::end(kPlain), part) != std::end(kPlain);
}

}  // namespace

Status compress_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::string packed = path + ".zst";
  const Error failed{"cannot be compressed", path, "free some space"};
  const std::unique_ptr<std::FILE, Close> in(std::fopen(path.c_str(), "re"));
  if (!in) return failed;
  std::unique_ptr<std::FILE, Close> out(std::fopen(packed.c_str(), "we"));
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx);
  if (!out || !context) return failed;
  std::string text(ZSTD_CStreamInSize(), '\0'), block(ZSTD_CStreamOutSize(), '\0');
  bool good = true;
  for (bool last = false; good && !last;) {
    ZSTD_inBuffer from{text.data(), std::fread(text.data(), 1, text.size(), in.get()), 0};
    last = from.size < text.size();
    good = std::ferror(in.get()) == 0;
    for (bool done = false; good && !done;) {
      ZSTD_outBuffer to{block.data(), block.size(), 0};
      const size_t left =
          ZSTD_compressStream2(context.get(), &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
      good = ZSTD_isError(left) == 0 && std::fwrite(block.data(), 1, to.pos, out.get()) == to.pos;
      done = last ? left == 0 : from.pos == from.size;
    }
  }
  good = std::fclose(out.release()) == 0 && good;
  std::remove(good ? path.c_str() : packed.c_str());
  return good ? Status(Done{}) : Status(failed);
}

Status write_fwb(const std::string& directory, const std::string& path) {
  const Error failed{"the bundle cannot be written", path,
                     "check the directory, its permissions and the free space"};
  std::string tar;
  for (const std::string& name : list_directory(directory, 1000)) {
    const auto text = read_whole(directory + "/" + name, size_t{1} << 30);
    if (!text) continue;
    tar += tar_header(name, text->size());
    tar += *text;
    tar.resize((tar.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  }
  if (tar.empty()) return Error{"there is nothing to bundle", directory, "collect something first"};
  tar.resize(tar.size() + 2 * kTarBlock, '\0');
  std::string packed(ZSTD_compressBound(tar.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), tar.data(), tar.size(), 6);
  if (ZSTD_isError(size) != 0) return failed;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             std::fclose);
  if (!file || std::fwrite(packed.data(), 1, size, file.get()) != size ||
      std::fflush(file.get()) != 0)
    return failed;
  return Done{};
}

Redactor::Redactor(std::vector<std::string> hosts, std::vector<std::string> users) {
  for (auto& h : hosts)
    if (!h.empty()) words_.emplace_back(std::move(h), "host");
  for (auto& u : users)
    if (u.size() > 1 && u != "root") words_.emplace_back(std::move(u), "user");
  std::sort(words_.begin(), words_.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

const std::string& Redactor::name(const std::string& kind, const std::string& original) {
  auto& known = names_[kind];
  const auto [at, fresh] = known.try_emplace(original);
  if (fresh) at->second = kind + "-" + std::to_string(known.size());
  return at->second;
}

// "/scratch/me/imagenet" → "/path-1/path-2/path-3".
std::string Redactor::path(std::string_view text) {
  std::string out;
  for (const std::string_view part : split(text, '/')) {
    if (!out.empty() || part.data() != text.data()) out += '/';
    out += plain(part) ? std::string(part) : name("path", std::string(part));
  }
  return out;
}

std::string Redactor::operator()(const std::string& text) {
  // Names first, as whole words; then what looks like a path behind a quote, a blank, an equals
  // sign or a colon.
  std::string named;
  for (size_t i = 0; i < text.size();) {
    bool hit = false;
    for (const auto& [word, kind] : words_) {
      if (text.compare(i, word.size(), word) != 0) continue;
      if (i > 0 && is_word(text[i - 1]) && text[i - 1] != '.') continue;
      const size_t end = i + word.size();
      if (end < text.size() && is_word(text[end]) && text[end] != '.' && text[end] != '-') continue;
      named += name(kind, word);
      i = end;
      hit = true;
      break;
    }
    if (!hit) named += text[i++];
  }
  std::string out;
  for (size_t i = 0; i < named.size();) {
    const char before = i == 0 ? '"' : named[i - 1];
    const bool starts =
        named[i] == '/' && i + 1 < named.size() && is_word(named[i + 1]) &&
        (before == '"' || before == ' ' || before == '=' || before == ':' || before == ',');
    if (!starts) {
      out += named[i++];
      continue;
    }
    size_t end = i;
    while (end < named.size() &&
           (named[end] == '/' || is_word(named[end]) || named[end] == '+' || named[end] == '@'))
      ++end;
    out += path(std::string_view(named).substr(i, end - i));
    i = end;
  }
  return out;
}

}  // namespace firstwait
