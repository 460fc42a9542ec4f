/*
 * A program of many tasks with sections. Prints, once, the seconds that the last task took from a
 * barrier before hpmTerminate until it came back.
 */
#include <mpi.h>
#include <stdio.h>

#include "libhpm.h"

#define SECTIONS 10

int main(int argc, char **argv)
{
	char label[32];
	double begun, ended, took, most;
	int task;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
	hpmInit(task, "bench_ranks");
	for (int section = 1; section <= SECTIONS; section++) {
		snprintf(label, sizeof(label), "section %d", section);
		hpmStart(section, label);
		hpmStop(section);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	begun = MPI_Wtime();
	hpmTerminate(task);
	ended = MPI_Wtime();
	took = ended - begun;
	MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!task)
		printf("%.6f\n", most);
	MPI_Finalize();
	return 0;
}
