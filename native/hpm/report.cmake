# What becomes of measured sections: settings, names, groups, metrics, files. Linked into libhpm.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
set(HPM_REPORT ${CMAKE_CURRENT_LIST_DIR})
set(HPM_METRIC_TABLE ${CMAKE_CURRENT_BINARY_DIR}/metric_table.c)
file(GLOB HPM_METRIC_FILES CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/src/gnomon/metrics/*.py
     ${PROJECT_SOURCE_DIR}/src/gnomon/metrics/data/*.toml
     ${PROJECT_SOURCE_DIR}/packaging/compile_*_c.py)
add_custom_command(
  OUTPUT ${HPM_METRIC_TABLE}
  COMMAND Python::Interpreter -B ${PROJECT_SOURCE_DIR}/packaging/compile_metrics_c.py
          ${HPM_METRIC_TABLE}
  DEPENDS ${HPM_METRIC_FILES}
  VERBATIM)
set(HPM_REPORT_SOURCES groups.c item_values.c metric_constants.c metric_inputs.c metrics.c
                       number_text.c output_names.c report.c report_csv.c report_metrics.c
                       report_sections.c report_table.c report_text.c report_viz.c settings.c
                       text_escape.c)
list(TRANSFORM HPM_REPORT_SOURCES PREPEND ${HPM_REPORT}/)
add_library(gnomon-hpm-report OBJECT ${HPM_REPORT_SOURCES} ${HPM_METRIC_TABLE})
target_include_directories(gnomon-hpm-report PUBLIC ${HPM_REPORT}
                                                    ${PROJECT_SOURCE_DIR}/native/runtime
                                                    ${PROJECT_SOURCE_DIR}/native/include
                           PRIVATE ${PROJECT_SOURCE_DIR}/native/core
                                   ${PROJECT_SOURCE_DIR}/native/counters)
target_compile_definitions(gnomon-hpm-report PRIVATE GNOMON_RELEASE="${PROJECT_VERSION}")
