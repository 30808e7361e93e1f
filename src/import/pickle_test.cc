#include "import/pickle.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

using Kind = ValueTree::Kind;
using namespace std::string_literals;

TEST(Pickle, ReadsTheHarmlessValuesOfEveryProtocol) {
  // pickle.dumps({'a': [1, -2, 70000, None, True, 1.5], 'b': ('x', b'y')}, protocol)
  const std::string two =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"s
      "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffJp\x11\x01\x00N\x88G?\xf8\x00\x00\x00\x00\x00\x00"s
      "eX\x01\x00\x00\x00"s
      "bX\x01\x00\x00\x00"s
      "xC\x01y\x86u."s;
  ValueTree tree;
  EXPECT_EQ(parse_pickle(two, tree), "");
  const auto list = tree.find(tree.root, "a");
  ASSERT_EQ(tree[list].items.size(), 6U);
  EXPECT_EQ(tree[tree[list].items[1]].integer, -2);
  EXPECT_EQ(tree[tree[list].items[2]].integer, 70000);
  EXPECT_EQ(tree[tree[list].items[3]].kind, Kind::none);
  EXPECT_EQ(tree[tree[list].items[4]].integer, 1);
  EXPECT_EQ(tree[tree[list].items[5]].real, 1.5);
  EXPECT_EQ(tree[tree[tree.find(tree.root, "b")].items[1]].text, "y");

  ValueTree zero;
  EXPECT_EQ(parse_pickle("(dp0\nVa\np1\n(lp2\nI7\naL-8L\naF2.5\nasS'b'\np3\nI01\ns.", zero), "");
  EXPECT_EQ(zero[zero[zero.find(zero.root, "a")].items[1]].integer, -8);
  EXPECT_EQ(zero[zero.find(zero.root, "b")].kind, Kind::boolean);

  const std::string framed =
      "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01k\x94\x8a\x02\x00\x80s."s;
  ValueTree four;
  EXPECT_EQ(parse_pickle(framed, four), "");
  EXPECT_EQ(four[four.find(four.root, "k")].integer, -32768);
}

TEST(Pickle, EveryOpcodeThatWouldActIsRefusedByName) {
  const std::pair<std::string, std::string> kActs[] = {
      {"cos\nsystem\n(S'id'\ntR.", "opcode GLOBAL is refused at byte 0"},
      {"\x80\x02)R."s, "opcode REDUCE is refused at byte 3"},
      {"\x80\x02}}b."s, "opcode BUILD is refused at byte 4"},
      {"(ios\nsystem\n.", "opcode INST is refused at byte 1"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93."s, "opcode STACK_GLOBAL is refused at byte 14"},
      {"\x80\x02\x82\x01."s, "opcode EXT1 is refused at byte 2"},
      {"\x80\x02))\x81."s, "opcode NEWOBJ is refused at byte 4"},
      {"P1\n.", "opcode PERSID is refused at byte 0"}};
  for (const auto& [data, error] : kActs) {
    ValueTree tree;
    EXPECT_EQ(parse_pickle(data, tree), error);
  }
}

TEST(Pickle, DamageIsNamedAndNeverReadsBeyond) {
  for (const std::string& data :
       {""s, "\x80"s,
        "\x80\x02X\xff\xff\xff\xff"s
        "a"s,
        "\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s, "e"s, "(e"s, "a"s, "Na."s, "NNs."s,
        "}(Nu."s, "h\x05."s, "gx\n."s, "I"s, "t"s, "\xfe"s, "."s, "1"s, "\x8b\xff\xff\xff\xff"s}) {
    ValueTree tree;
    EXPECT_NE(parse_pickle(data, tree), "") << data;
  }
  ValueTree small;
  EXPECT_NE(parse_pickle(std::string(100, ')') + ".", small, 50), "");
}

}  // namespace
}  // namespace firstwait
