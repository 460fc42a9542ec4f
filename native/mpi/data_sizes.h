/*
 * Sizes of datatypes, and the bytes that a status tells of, without a call of MPI where that can
 * be. A part of wrapper.h: it is compiled with the MPI's own header.
 */
#ifndef GNOMON_MPI_DATA_SIZES_H
#define GNOMON_MPI_DATA_SIZES_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>

#define GN_MPI_TYPES 128u

/* Of types that are never freed, so that their handles do not come again for others. */
static struct {
	uint64_t handle; /* 0: a free one */
	int64_t size;
} gn_mpi_type[GN_MPI_TYPES];

/* How statuses of this MPI hold a count: not known, as one number, or as MPICH has it, in two, of
 * which the upper one has a flag in its lowest bit. */
static enum { GN_MPI_ASKED, GN_MPI_WHOLE, GN_MPI_HALVES } gn_mpi_count_form;
static size_t gn_mpi_count_offset;

static inline uint64_t gn_mpi_type_handle(MPI_Datatype type)
{
	uint64_t handle = 0;

	memcpy(&handle, &type, sizeof(type));
	return handle;
}

static inline uint32_t gn_mpi_type_at(uint64_t handle)
{
	return (uint32_t)((handle * 0x9e3779b97f4a7c15u) >> 57);
}

static __attribute__((noinline)) int64_t gn_mpi_ask_size(MPI_Datatype type)
{
	int size = 0;

	if (PMPI_Type_size(type, &size) != MPI_SUCCESS)
		return 0;
#ifdef GN_HAS_GET_ELEMENTS_X
	/* Beyond 2 GiB an int has no room for it. */
	if (__builtin_expect(size == MPI_UNDEFINED, 0)) {
		MPI_Count large = 0;

		PMPI_Type_size_x(type, &large);
		return (int64_t)large;
	}
#endif
	return size;
}

static inline int64_t gn_mpi_bytes(int64_t count, MPI_Datatype type)
{
	const uint64_t handle = gn_mpi_type_handle(type);
	uint32_t i = gn_mpi_type_at(handle);

	while (gn_mpi_type[i].handle) {
		if (gn_mpi_type[i].handle == handle)
			return count * gn_mpi_type[i].size;
		i = (i + 1) % GN_MPI_TYPES;
	}
	return count * gn_mpi_ask_size(type);
}

static __attribute__((noinline)) int64_t gn_mpi_ask_count(const MPI_Status *status)
{
#ifdef GN_HAS_GET_ELEMENTS_X
	MPI_Count large = 0;
#endif
	int count = 0;

	if (PMPI_Get_count(status, MPI_BYTE, &count) != MPI_SUCCESS)
		return 0;
	if (__builtin_expect(count >= 0, 1))
		return count;
#ifdef GN_HAS_GET_ELEMENTS_X
	if (PMPI_Get_elements_x(status, MPI_BYTE, &large) == MPI_SUCCESS && large > 0)
		return (int64_t)large;
#endif
	return 0;
}

/* The bytes that a status tells of; NULL: there is none. */
static inline int64_t gn_mpi_came(const MPI_Status *status)
{
	const char *at = (const char *)status + gn_mpi_count_offset;
	uint32_t half[2];
	int64_t whole;

	if (!status)
		return 0;
	if (__builtin_expect(gn_mpi_count_form == GN_MPI_ASKED, 0))
		return gn_mpi_ask_count(status);
	if (gn_mpi_count_form == GN_MPI_WHOLE) {
		memcpy(&whole, at, sizeof(whole));
		return whole;
	}
	/* As they were written: one number of twice their size would wait for both. */
	memcpy(&half[0], at, sizeof(half[0]));
	memcpy(&half[1], at + sizeof(half[0]), sizeof(half[1]));
	return (int64_t)((uint64_t)(half[1] >> 1) << 32 | half[0]);
}

/* --- learnt once MPI is up ---------------------------------------------------------------------
 */

static void gn_mpi_learn_size(MPI_Datatype type)
{
	const uint64_t handle = gn_mpi_type_handle(type);
	uint32_t i = gn_mpi_type_at(handle);
	int size = 0;

	if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
		return;
	while (gn_mpi_type[i].handle && gn_mpi_type[i].handle != handle)
		i = (i + 1) % GN_MPI_TYPES;
	gn_mpi_type[i].size = size;
	/* Another thread may look at it. */
	__atomic_store_n(&gn_mpi_type[i].handle, handle, __ATOMIC_RELEASE);
}

#ifdef GN_HAS_GET_ELEMENTS_X
/* Whether a status is read as MPI itself reads it, which was told to hold so much. */
static int gn_mpi_reads_count(int64_t count)
{
	MPI_Status status;

	memset(&status, 0, sizeof(status));
	return PMPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)count) == MPI_SUCCESS &&
	       gn_mpi_ask_count(&status) == count && gn_mpi_came(&status) == count;
}

/* Looks for a count in a status, and keeps the place if others are read from there, too. */
static void gn_mpi_learn_count(void)
{
	const uint32_t count = 0x05a6b7c8;
	MPI_Status status;

	memset(&status, 0, sizeof(status));
	if (PMPI_Status_set_elements(&status, MPI_BYTE, (int)count) != MPI_SUCCESS)
		return;
	for (size_t at = 0; at + sizeof(uint64_t) <= sizeof(status); at += sizeof(count)) {
		if (memcmp((const char *)&status + at, &count, sizeof(count)) != 0)
			continue;
		gn_mpi_count_offset = at;
		for (int form = GN_MPI_WHOLE; form <= GN_MPI_HALVES; form++) {
			gn_mpi_count_form = form;
			if (gn_mpi_reads_count(0) && gn_mpi_reads_count(77) &&
			    gn_mpi_reads_count(INT64_C(0x1234567890)))
				return;
		}
	}
	gn_mpi_count_form = GN_MPI_ASKED;
}
#else
static void gn_mpi_learn_count(void)
{
}
#endif

static void gn_mpi_learn_sizes(void)
{
	const MPI_Datatype types[] = {
		MPI_BYTE,
		MPI_CHAR,
		MPI_SIGNED_CHAR,
		MPI_UNSIGNED_CHAR,
		MPI_SHORT,
		MPI_UNSIGNED_SHORT,
		MPI_INT,
		MPI_UNSIGNED,
		MPI_LONG,
		MPI_UNSIGNED_LONG,
		MPI_LONG_LONG_INT,
		MPI_UNSIGNED_LONG_LONG,
		MPI_FLOAT,
		MPI_DOUBLE,
		MPI_LONG_DOUBLE,
		MPI_PACKED,
		MPI_INT8_T,
		MPI_INT16_T,
		MPI_INT32_T,
		MPI_INT64_T,
		MPI_UINT8_T,
		MPI_UINT16_T,
		MPI_UINT32_T,
		MPI_UINT64_T,
		MPI_C_FLOAT_COMPLEX,
		MPI_C_DOUBLE_COMPLEX,
		MPI_AINT,
		MPI_OFFSET,
		MPI_INTEGER,
		MPI_REAL,
		MPI_DOUBLE_PRECISION,
		MPI_COMPLEX,
		MPI_DOUBLE_COMPLEX,
		MPI_LOGICAL,
		MPI_CHARACTER,
		MPI_DOUBLE_INT,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		gn_mpi_learn_size(types[i]);
	gn_mpi_learn_count();
}

#endif
