/* The form is Example 8-6's of the HPC Toolkit's manual, with more digits: disks are faster. */
#include "trace_report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>

static const char *unit_name(int64_t unit)
{
	static const char *const name[] = {"bytes", "kbytes", "mbytes", "gbytes", "tbytes"};
	int power = 0;

	while (unit >= 1024 && power < 4) {
		unit /= 1024;
		power++;
	}
	return name[power];
}

/* An amount of bytes in a unit, whole where that is a byte. */
static const char *amount(char text[32], double bytes, int64_t unit)
{
	snprintf(text, 32, "%.*f", unit > 1 ? 2 : 0, bytes / (double)unit);
	return text;
}

static double rate(double bytes, double seconds, int64_t unit)
{
	return seconds > 0 ? bytes / seconds / (double)unit : 0;
}

/* Those without a name in linux/magic.h are from the file systems' own sources. */
static const char *file_system_name(char text[32], int64_t type)
{
	static const struct {
		int64_t type;
		const char *name;
	} known[] = {
		{EXT4_SUPER_MAGIC, "EXT"},
		{XFS_SUPER_MAGIC, "XFS"},
		{BTRFS_SUPER_MAGIC, "BTRFS"},
		{F2FS_SUPER_MAGIC, "F2FS"},
		{TMPFS_MAGIC, "TMPFS"},
		{RAMFS_MAGIC, "RAMFS"},
		{OVERLAYFS_SUPER_MAGIC, "OVERLAY"},
		{NFS_SUPER_MAGIC, "NFS"},
		{SMB_SUPER_MAGIC, "SMB"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB2"},
		{0x65735546, "FUSE"},
		{V9FS_MAGIC, "9P"},
		{0x0bd00bd0, "LUSTRE"},
		{0x47504653, "GPFS"},
		{0x00c36400, "CEPH"},
		{0x19830326, "BEEGFS"},
		{0x2fc12fc1, "ZFS"},
		{ISOFS_SUPER_MAGIC, "ISO9660"},
		{MSDOS_SUPER_MAGIC, "FAT"},
		{SQUASHFS_MAGIC, "SQUASHFS"},
		{PROC_SUPER_MAGIC, "PROC"},
		{SYSFS_MAGIC, "SYSFS"},
		{0x1373, "DEVFS"},
		{PIPEFS_MAGIC, "PIPE"},
		{DEVPTS_SUPER_MAGIC, "DEVPTS"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].type == type)
			return known[i].name;
	snprintf(text, 32, "0x%" PRIx64, (uint64_t)type);
	return text;
}

static void print_flags(struct gn_mio_output *output, int flags)
{
	static const struct {
		int bits;
		const char *name;
	} flag[] = {
		{O_CREAT, "CREAT"},	  {O_EXCL, "EXCL"},	  {O_NOCTTY, "NOCTTY"},
		{O_TRUNC, "TRUNC"},	  {O_APPEND, "APPEND"},	  {O_NONBLOCK, "NONBLOCK"},
		{O_SYNC, "SYNC"},	  {O_DSYNC, "DSYNC"},	  {O_ASYNC, "ASYNC"},
		{O_DIRECT, "DIRECT"},	  {O_TMPFILE, "TMPFILE"}, {O_DIRECTORY, "DIRECTORY"},
		{O_NOFOLLOW, "NOFOLLOW"}, {O_NOATIME, "NOATIME"}, {O_CLOEXEC, "CLOEXEC"},
		{O_PATH, "PATH"},
	};
	static const char *const access[] = {"RDONLY", "WRONLY", "RDWR", "ACCMODE"};
	int rest = flags & ~O_ACCMODE;

	gn_mio_print(output, "  oflags =0x%x=%s", (unsigned int)flags, access[flags & O_ACCMODE]);
	for (size_t i = 0; i < sizeof(flag) / sizeof(*flag); i++) {
		if ((rest & flag[i].bits) != flag[i].bits)
			continue;
		gn_mio_print(output, " %s", flag[i].name);
		/* O_SYNC has the bit of O_DSYNC, O_TMPFILE that of O_DIRECTORY. */
		rest &= ~flag[i].bits;
	}
	gn_mio_print(output, "\n");
}

static void print_calls(struct gn_mio_output *output, const char *name,
			const struct gn_mio_calls *calls, int has_bytes, int64_t unit)
{
	char asked[32], delivered[32], least[32], most[32];

	if (!calls->calls)
		return;
	gn_mio_print(output, "  %-6s %10" PRIu64 " %12.6f", name, calls->calls,
		     (double)calls->ns / 1e9);
	if (has_bytes)
		gn_mio_print(output, " %14s %s %14s %10s %10s",
			     amount(asked, (double)calls->asked, unit),
			     calls->asked == calls->delivered ? "==" : "!=",
			     amount(delivered, (double)calls->delivered, unit),
			     amount(least, (double)calls->least, unit),
			     amount(most, (double)calls->most, unit));
	if (calls->failures)
		gn_mio_print(output, " %" PRIu64 " failed", calls->failures);
	gn_mio_print(output, "\n");
}

static void print_seeks(struct gn_mio_output *output, const char *direction, uint64_t seeks,
			uint64_t bytes, int64_t unit)
{
	char text[32];

	if (seeks)
		gn_mio_print(output, "         %10" PRIu64 " %s seeks average=%s\n", seeks,
			     direction,
			     amount(text,
				    (double)(unit > 1 ? bytes : bytes / seeks) /
					    (unit > 1 ? (double)seeks : 1),
				    unit));
}

static void print_rates(struct gn_mio_output *output, const struct gn_mio_trace_counts *trace,
			int64_t unit, int is_final, uint64_t now_ns)
{
	const struct gn_mio_calls *calls = trace->calls;
	const double bytes = (double)(calls[GN_MIO_READ].delivered + calls[GN_MIO_WRITE].delivered);
	const double seconds = (double)(calls[GN_MIO_READ].ns + calls[GN_MIO_WRITE].ns) / 1e9;
	const double begin = (double)trace->opened_ns / 1e9;
	const double end = (double)(trace->closed_ns ? trace->closed_ns : now_ns) / 1e9;
	const char *name = unit_name(unit);
	char text[32];

	amount(text, bytes, unit);
	gn_mio_print(output, "Trace %s: %s <-> %s: %s: (%s/%.6f)=%.2f %s/s\n",
		     is_final ? "close" : "inter", trace->above, trace->below, trace->path, text,
		     seconds, rate(bytes, seconds, unit), name);
	gn_mio_print(output, "     demand rate=%.2f %s/s=%s/(%.6f-%.6f)\n",
		     rate(bytes, end - begin, unit), name, text, end, begin);
}

void gn_mio_trace_print(struct gn_mio_output *output, const struct gn_mio_trace_counts *trace,
			int64_t unit, int is_final, uint64_t now_ns)
{
	const struct gn_mio_calls *calls = trace->calls;
	char text[32], open_size[32], most_size[32];

	print_rates(output, trace, unit, is_final, now_ns);
	gn_mio_print(output, "     open size=%s, current size=%s max size=%s\n",
		     amount(open_size, (double)trace->open_size, unit),
		     amount(text, (double)trace->size, unit),
		     amount(most_size, (double)trace->most_size, unit));
	gn_mio_print(output, "  mode =0%o FileSystemType=%s sector size=%" PRId64 "\n",
		     (unsigned int)trace->mode, file_system_name(text, trace->file_system),
		     trace->sector_bytes);
	print_flags(output, trace->flags);
	print_calls(output, "open", &calls[GN_MIO_OPEN], 0, unit);
	print_calls(output, "write", &calls[GN_MIO_WRITE], 1, unit);
	print_calls(output, "read", &calls[GN_MIO_READ], 1, unit);
	print_calls(output, "seek", &calls[GN_MIO_SEEK], 0, unit);
	print_seeks(output, "forward", trace->forward, trace->forward_bytes, unit);
	print_seeks(output, "backward", trace->backward, trace->backward_bytes, unit);
	print_calls(output, "fcntl", &calls[GN_MIO_CONTROL], 0, unit);
	print_calls(output, "fstat", &calls[GN_MIO_STATUS], 0, unit);
	print_calls(output, "trunc", &calls[GN_MIO_TRUNCATE], 0, unit);
	print_calls(output, "fsync", &calls[GN_MIO_SYNC], 0, unit);
	print_calls(output, "close", &calls[GN_MIO_CLOSE], 0, unit);
}
