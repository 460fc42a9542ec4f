# How libgnomon, libhpm and libhpm_plugin are built and installed: shared and static from the same
# objects, with headers, a pkg-config file and, where packaging has one, a CMake package.
include(CMakePackageConfigHelpers)

# gnomon_shared_library(target output_name): a wheel has no links to its versions.
function(gnomon_shared_library target name)
  # Never unloaded: threads and the end of the program still come to it.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--no-undefined)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name} SOVERSION 0)
  if(NOT GNOMON_IS_WHEEL)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION})
  endif()
  if(GNOMON_SANITIZE)
    # The sanitizers' own symbols come from the program.
    target_link_options(${target} PRIVATE -Wl,-z,undefs)
  endif()
endfunction()

# gnomon_install_library(name export HEADERS header... [BELOW /folder...]): NAME-shared and
# NAME-static with hyphens for underscores, which EXPORT's CMake package has. Their users find
# headers in these folders below that of all headers, too.
function(gnomon_install_library name export)
  cmake_parse_arguments(of "" "" "BELOW;HEADERS" ${ARGN})
  string(REPLACE "_" "-" target ${name})
  set_target_properties(${target}-static PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name}-static)
  foreach(library ${target}-shared ${target}-static)
    # As #include "gnomon/libhpm.h" and, for programs that were IBM's, as "libhpm.h".
    foreach(folder "" ${of_BELOW})
      target_include_directories(
        ${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/native/include${folder}>
                             $<INSTALL_INTERFACE:${GNOMON_INSTALL_INCLUDE}${folder}>)
    endforeach()
  endforeach()

  # Instead of a link, what the linker asks for in a wheel names the library.
  set(links "")
  if(GNOMON_IS_WHEEL)
    set(links NAMELINK_SKIP)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/script/lib${name}.so "INPUT(lib${name}.so.0)\n")
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/script/lib${name}.so
            DESTINATION ${GNOMON_INSTALL_LIB})
  endif()
  install(TARGETS ${target}-shared ${target}-static EXPORT ${export}
          LIBRARY DESTINATION ${GNOMON_INSTALL_LIB} ${links}
          ARCHIVE DESTINATION ${GNOMON_INSTALL_LIB})
  list(TRANSFORM of_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/native/include/gnomon/)
  install(FILES ${of_HEADERS} DESTINATION ${GNOMON_INSTALL_INCLUDE}/gnomon)

  # The files find their own place, so that a wheel can be anywhere.
  set(config_folder ${GNOMON_INSTALL_LIB}/cmake/${name})
  if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/${name}-config.cmake.in)
    install(EXPORT ${export} NAMESPACE ${export}:: FILE ${name}-targets.cmake
            DESTINATION ${config_folder})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/${name}-config.cmake.in
                                  ${name}-config.cmake INSTALL_DESTINATION ${config_folder}
                                  PATH_VARS GNOMON_INSTALL_FORTRAN)
    write_basic_package_version_file(${name}-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake
                  ${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake
            DESTINATION ${config_folder})
  endif()
  file(RELATIVE_PATH GNOMON_UP /${GNOMON_INSTALL_LIB}/pkgconfig /)
  string(REGEX REPLACE "/$" "" GNOMON_UP ${GNOMON_UP})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${GNOMON_INSTALL_LIB}/pkgconfig)
endfunction()
