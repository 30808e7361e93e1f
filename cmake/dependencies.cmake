# Debian 12 packages; tools/deps.sh installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)

# These ship no CMake package that works unchanged on Debian 12: a header and a library each.
function(firstwait_library name header library)
  find_path(${name}_INCLUDE ${header} REQUIRED)
  find_library(${name}_LIBRARY NAMES ${library} REQUIRED)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_INCLUDE})
  target_link_libraries(${name} INTERFACE ${${name}_LIBRARY})
endfunction()
firstwait_library(isal isa-l/igzip_lib.h isal)
firstwait_library(zstd zstd.h zstd)
firstwait_library(yaml-cpp yaml-cpp/yaml.h yaml-cpp)
firstwait_library(pugixml pugixml.hpp pugixml)
firstwait_library(pcre2 pcre2.h pcre2-8)
# libcurl is loaded at run time; its header is all that is needed to build.
find_path(curl_INCLUDE curl/curl.h REQUIRED)
find_path(protozero_INCLUDE protozero/pbf_writer.hpp REQUIRED)
add_library(protozero INTERFACE IMPORTED)
target_include_directories(protozero SYSTEM INTERFACE ${protozero_INCLUDE})
add_library(simdjson INTERFACE IMPORTED)
target_link_libraries(simdjson INTERFACE simdjson::simdjson)

if(FIRSTWAIT_TESTS)
  find_package(GTest REQUIRED)
endif()

# DuckDB is loaded at run time: beside the program when it was fetched, else wherever the system has it.
set(FIRSTWAIT_DUCKDB_LIBRARY
    ${CMAKE_SOURCE_DIR}/.deps/duckdb/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so)
if(EXISTS ${FIRSTWAIT_DUCKDB_LIBRARY})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  file(CREATE_LINK ${FIRSTWAIT_DUCKDB_LIBRARY} ${CMAKE_BINARY_DIR}/bin/libduckdb.so SYMBOLIC)
endif()
