# Programs look for ../lib/firstwait beside them, wherever the prefix is: the layout is not the distribution's.
install(TARGETS firstwait firstwait-agent RUNTIME DESTINATION bin)
install(TARGETS firstwait_emit firstwait_nccl LIBRARY DESTINATION lib/firstwait)
install(DIRECTORY python/ DESTINATION lib/firstwait/python
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
# The demo's story and its recording; the live one needs the lab's programs, which stay with the source.
install(PROGRAMS lab/lab DESTINATION lib/firstwait/lab)
install(DIRECTORY lab/kit lab/faults lab/recording DESTINATION lib/firstwait/lab PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY include/firstwait DESTINATION include)
if(EXISTS ${FIRSTWAIT_DUCKDB_LIBRARY})
  install(FILES ${FIRSTWAIT_DUCKDB_LIBRARY} DESTINATION lib/firstwait)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/firstwait)
install(FILES README.md LICENSE packaging/agent.yaml DESTINATION share/doc/firstwait)
# The unit names the program by its place, which is known only when it is installed.
install(CODE "set(unit_source \"${CMAKE_SOURCE_DIR}/packaging/systemd/firstwait-agent.service\")")
install(CODE [[
  file(READ "${unit_source}" unit)
  string(REPLACE "/usr/bin/firstwait-agent" "${CMAKE_INSTALL_PREFIX}/bin/firstwait-agent" unit "${unit}")
  file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/firstwait-agent.service" "${unit}")
]])
