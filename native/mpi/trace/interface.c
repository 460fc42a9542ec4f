/* The functions of mpt.h that ask nobody else (section 4.5.3). */
#include <string.h>

#include <gnomon/clock.h>
#define MPT_NO_HOOKS
#include <gnomon/mpt.h>

#include "routine_sums.h"
#include "settings.h"
#include "topology.h"
#include "totals_file.h"

static int is_id(int id)
{
	return gn_trace_name(id) != NULL;
}

long long MT_get_mpi_counts(int id)
{
	return is_id(id) ? (long long)gn_trace_sum_of(id).calls : 0;
}

double MT_get_mpi_bytes(int id)
{
	return is_id(id) ? (double)gn_trace_sum_of(id).bytes : 0;
}

double MT_get_mpi_time(int id)
{
	return is_id(id) ? gn_trace_seconds(gn_trace_sum_of(id).ticks) : 0;
}

double MT_get_avg_hops(void)
{
	return gn_trace_average_hops();
}

double MT_get_time(void)
{
	const struct gn_totals_header *header = gn_totals_header();

	if (!header || !header->up_ticks)
		return 0;
	return gn_trace_seconds(gn_clock_ticks() - header->up_ticks);
}

double MT_get_elapsed_time(void)
{
	return gn_trace_elapsed();
}

char *MT_get_mpi_name(int id)
{
	return (char *)gn_trace_name(id);
}

int MT_get_tracebufferinfo(struct MT_tracebufferstruct *info)
{
	memset(info, 0, sizeof(*info));
	return 0;
}

void MT_get_environment(struct MT_envstruct *environment)
{
	const struct gn_totals_header *header = gn_totals_header();
	const struct gn_trace_topology *topology = NULL;

	*environment = (struct MT_envstruct){
		.mpirank = -1, .xCoord = -1, .yCoord = -1, .zCoord = -1, .procid = -1};
	environment->nmpi = (int)gn_trace_n_routines();
	if (!header)
		return;
	environment->clockHz = gn_clock_hz();
	environment->mpirank = header->rank;
	environment->ntasks = header->n_ranks;
	if (header->rank >= 0)
		topology = gn_trace_topology();
	if (!topology)
		return;
	environment->xCoord = topology->place[header->rank].at[0];
	environment->yCoord = topology->place[header->rank].at[1];
	environment->zCoord = topology->place[header->rank].at[2];
	environment->xSize = topology->size[0];
	environment->ySize = topology->size[1];
	environment->zSize = topology->size[2];
	environment->procid = topology->place[header->rank].procid;
}

static void say_once(void)
{
	static int is_said;
	const struct gn_totals_header *header = gn_totals_header();

	if (!__atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED) && header && header->rank == 0)
		gn_trace_say("trace_start and trace_stop have no effect yet: events are not "
			     "traced, the profile is there");
}

void MT_trace_start(void)
{
	say_once();
}

void MT_trace_stop(void)
{
	say_once();
}

void trace_start(void)
{
	say_once();
}

void trace_stop(void)
{
	say_once();
}
