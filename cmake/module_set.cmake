# firstwait_module_set(<stage> <folder>/<Type>): every <folder>/x.cc (not *_test.cc) must define
#   extern const <Type> <prefix>_x;
# where <prefix> is the type in snake case. Writes <folder>_registry.cc with a sorted table of them all and
# <folder>_registry.h to read it. A file whose symbol does not match its name fails to link.
function(firstwait_module_set stage spec out_sources)
  string(REGEX MATCH "^([^/]+)/(.+)$" _ ${spec})
  set(folder ${CMAKE_MATCH_1})
  set(type ${CMAKE_MATCH_2})
  string(REGEX REPLACE "([a-z])([A-Z])" "\\1_\\2" prefix ${type})
  string(TOLOWER ${prefix} prefix)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${stage}/${folder}/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  list(SORT files)
  set(declarations "")
  set(entries "")
  set(count 0)
  foreach(file IN LISTS files)
    get_filename_component(module ${file} NAME_WE)
    string(APPEND declarations "extern const ${type} ${prefix}_${module};\n")
    string(APPEND entries "    {\"${module}\", &${prefix}_${module}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  set(dir ${CMAKE_BINARY_DIR}/generated/${stage})
  file(CONFIGURE OUTPUT ${dir}/${folder}_registry.cc @ONLY CONTENT [[
#include <array>
#include "@stage@/@prefix@.h"
namespace firstwait {
@declarations@namespace {
const std::array<Registered<@type@>, @count@> kTable{{
@entries@}};
}
std::span<const Registered<@type@>> @folder@() { return kTable; }
}  // namespace firstwait
]])
  set(${out_sources} ${files} ${dir}/${folder}_registry.cc PARENT_SCOPE)
endfunction()
