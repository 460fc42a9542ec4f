"""Which tests of jobs `make test` runs under MPICH; it runs all of them under Open MPI.

They cover each way in which Gnomon meets an MPI once: its launcher and wrappers, libhpm in C,
Fortran and Python, hpmcount and `gnomon run` around ranks, groups that are shared out, trees
through MPI and through files, ranks that end before or after MPI does, plug-ins that crash,
wrappers of MPI-4 and mpi_f08. The rest is the same code once more: `make test-long` runs it under
MPICH too.
"""

from __future__ import annotations

MPICH = frozenset({
    "test_mpi_wrappers.py::test_calls_and_bytes_are_those_of_the_program[mpich]",
    "test_mpi_wrappers.py::test_large_counts_persistent_and_partitioned_operations[mpich]",
    "test_mpi_wrappers.py::test_calls_from_fortran_are_counted_once[mpich-MODULE_F08]",
    "test_mpi_here.py::test_compiled_programs_run_with_both[hello.c-mpich]",
    "test_mpi_here.py::test_each_rank_has_its_own_output_and_the_launcher_its_status[mpich]",
    "test_mpi_plugins.py::test_one_report_with_the_right_value[statistics-hpmcount-mpich]",
    "test_mpi_plugins.py::test_one_report_with_the_right_value[statistics-sections-mpich]",
    "test_mpi_plugins.py::test_a_report_of_each_task[mirror-sections-mpich]",
    "test_mpi_plugins.py::test_programs_in_other_languages[fortran-sections-mpich]",
    "test_mpi_plugins.py::test_programs_in_other_languages[python-sections-mpich]",
    "test_mpi_plugins.py::test_sections_need_no_directory_while_mpi_is_up[python-mpich]",
    "test_mpi_own_plugins.py::test_a_plugin_that_goes_wrong_on_one_task[sections-mpich]",
    "test_mpi_gaps.py::test_groups_of_the_option_go_round_the_tasks[mpich]",
    "test_mpi_gaps.py::test_a_task_that_is_killed_under_hpmcount[KILL-mpich]",
    "test_mpi_gaps.py::test_a_task_that_is_killed_among_sections[mpich]",
    "test_mpi_gaps.py::test_hpmterminate_after_mpi_finalize[mpich]",
    "test_mpi_gaps.py::test_nothing_is_left_behind[mpich]",
    "test_plugins_over_ranks.py::test_one_report_of_four_ranks[histogram-finalize-mpich]",
    "test_plugins_over_ranks.py::test_a_child_is_no_task[mpich]",
    "test_tree_over_ranks.py::test_everybody_comes[mpich-files-64]",
    "test_tree_over_ranks.py::test_everybody_comes[mpich-mpi-4]",
    "test_tree_over_ranks.py::test_a_task_that_ended[mpich-0]",
    "test_jobs_without_finalize.py::test_the_others_are_ended_and_report[3-mpich]",
    "test_jobs_that_end_early.py::test_a_launcher_that_is_told_to_end[TERM-mpich]",
    "test_aggregators_in_python.py::test_a_task_that_is_killed_tells_what_it_counted[mpich]",
    "test_how_tasks_end.py::test_what_is_left[mpich-MPI_Abort]",
    "test_hpmstat_ranks.py::test_a_node_is_counted_once[mpich]",
    "test_run_jobs.py::test_inside_and_over_a_launcher_the_sections_are_the_same[mpich]",
    "test_run_jobs.py::test_a_job_whose_rank_fails_leaves_what_there_was[mpich]",
})  # fmt: skip
