/*
 * Items as bytes: rank files, and what goes to and from hpm-plugin-host.
 *
 *	char[8]	"HPMITEMS"
 *	u32	0x01020304	numbers are in the byte order that this shows
 *	u32	1		version
 *	u64	bytes of the whole, from the magic to the checksum
 *	i32	task		-1: not known
 *	i32	tasks		of the job; 0: not known
 *	i64	process
 *	i32	exit status of the program
 *	i32	signal that killed it, or 0
 *	f64	started, stopped	seconds since the epoch
 *	f64	wall time in seconds
 *	string	program, command, host, events, notes
 *	i32	items, then each:
 *		i32	num_data, then each hpm_event_info:
 *			string	name, component, unit, description, reason
 *			f64	value, enabled_s, running_s
 *			i32	how, modes, flags
 *			spread
 *		f64	times[8]
 *		i32	is_mplex_cont, is_rusage, mpi_task_id, instr_id, count, is_exclusive,
 *			xml_element_id
 *		string	description, xml_descr, label, group, file, parent_label
 *		i32	line, parent_id, thread_id, process_id, n_tasks
 *		string	tasks
 *		i32	1 if 8 spreads of the times follow, else 0
 *	u32	CRC-32 of all before (that of zlib and Ethernet)
 *
 *	string	i32 bytes, then these, without a zero byte; -1: NULL
 *	spread	i32 0 for NULL, else 1 and
 *		i32	n
 *		f64	minimum, maximum, deviation
 *		i32	min_task, max_task, n_bins
 *		i64	bins[n_bins]
 *
 * Nothing is aligned or padded.
 */
#ifndef GNOMON_HPM_ITEM_CODEC_H
#define GNOMON_HPM_ITEM_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include <gnomon/hpm_data.h>

#define HPM_ITEMS_MAGIC "HPMITEMS"
#define HPM_ITEMS_BYTE_ORDER 0x01020304u
#define HPM_ITEMS_VERSION 1u

/* What no measurement has more of. */
#define HPM_ITEMS_BYTES_MAX ((uint64_t)1 << 28)
#define HPM_ITEMS_MAX (1 << 20)
#define HPM_ITEMS_DATA_MAX (1 << 16)
#define HPM_ITEMS_BINS_MAX (1 << 16)
#define HPM_ITEMS_STRING_MAX (1 << 20)

struct hpm_items {
	int task;
	int tasks;
	int64_t process;
	int exit_status;
	int signal;
	double started;
	double stopped;
	double wall_s;
	char *program;
	char *command;
	char *host;
	char *events;
	char *notes;
	int n;
	hpm_event_vector item;
};

/* *bytes is for free(3). 0, or ENOMEM, or EOVERFLOW: more than a reader takes. */
int hpm_items_write(const struct hpm_items *items, unsigned char **bytes, size_t *size);

/*
 * Reads what begins at `bytes`. *used: how many bytes it was, or those before what makes no sense.
 * 0, or an errno, with `why` a sentence without the file's name: "byte 57: ...". `items` is for
 * hpm_items_release(), also after a failure.
 */
int hpm_items_read(const unsigned char *bytes, size_t size, struct hpm_items *items, size_t *used,
		   char why[256]);

/* The same without the items. */
int hpm_items_read_head(const unsigned char *bytes, size_t size, struct hpm_items *items,
			size_t *used, char why[256]);

/* All of a file. */
int hpm_items_load(const char *path, struct hpm_items *items, char why[256]);

void hpm_items_release(struct hpm_items *items);

/* --- address_check.c ----------------------------------------------------------------------------
 */

/*
 * Whether what an aggregator gave can be read at all, without a crash where it cannot. 0, or EFAULT
 * or EOVERFLOW with `why`: "item 3: data (2 events) is not readable memory".
 */
int hpm_items_check(int n, hpm_event_vector items, char why[256]);

#endif
