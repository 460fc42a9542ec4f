#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static char block[8192];

int main(int argc, char **argv)
{
	int rank;
	char name[32];
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof name, "rank%d.bin", rank);
	int own = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int k = 0; k <= rank; k++)
		if (write(own, block, 1024) != 1024)
			return 1;
	close(own);
	int shared = open("shared.bin", O_RDWR | O_CREAT, 0644);
	for (int k = 0; k < 4; k++)
		if (pwrite(shared, block, 2048, 2048 * (4 * k + rank)) != 2048)
			return 1;
	MPI_Barrier(MPI_COMM_WORLD);
	if (pread(shared, block, 2048, 2048 * ((rank + 1) % 4)) != 2048)
		return 1;
	close(shared);
	MPI_File_open(MPI_COMM_WORLD, "collective.bin", MPI_MODE_RDWR | MPI_MODE_CREATE,
		      MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, 8192 * rank, block, 8192, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_read_at(file, 8192 * rank, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}
