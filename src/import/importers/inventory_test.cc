#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_inventory;
namespace {

TEST(Inventory, EntitiesAndRelationsAreRead) {
  const Evidence e = import_text(importer_inventory, R"(entities:
  - {kind: host, id: node07, attributes: {rack: r12, cores: 64}}
  - {kind: nic, id: "node07:eth0"}
  - {id: orphan}
relations:
  - {from: nic/node07:eth0, kind: connects_to, to: switch/leaf3, valid_from: 1764500000.5, valid_to: null}
  - {from: host/node07, kind: located_in, to: rack/r12}
  - {from: node07, kind: located_in, to: rack/r12}
  - {from: host/node07, kind: located_in, to: rack/r13, valid_to: soon}
)");
  ASSERT_EQ(e.entities.size(), 2U);
  EXPECT_EQ(e.entities[0].id, "host/node07");
  EXPECT_EQ(e.entities[0].attributes[1].second, "64");
  EXPECT_EQ(e.entities[1].id, "nic/node07:eth0");
  ASSERT_EQ(e.relations.size(), 3U);
  EXPECT_EQ(e.relations[0].from, "nic/node07:eth0");
  EXPECT_EQ(e.relations[0].to, "switch/leaf3");
  EXPECT_EQ(e.relations[0].valid_from, 1764500000500000000);
  EXPECT_EQ(e.relations[0].valid_to, kNoTime);
  EXPECT_EQ(health_count(e, "bad_entity"), 1U);
  EXPECT_EQ(health_count(e, "bad_relation"), 1U);
  EXPECT_EQ(health_count(e, "bad_time"), 1U);
}

TEST(Inventory, DamagedYamlIsNamed) {
  EXPECT_EQ(health_count(import_text(importer_inventory, "entities: [{kind: host"), "bad_yaml"),
            1U);
}

}  // namespace
}  // namespace firstwait
