#include "pf.h"

#include "cache_process.h"
#include "system_calls.h"

#define KIB INT64_C(1024)
#define GIB INT64_C(1073741824)

#define SWITCH(word, which, to, sentence)                                                          \
	{.name = word, .kind = GN_MIO_SWITCH, .setting = which, .value = to, .help = sentence}
#define NUMBER(word, which, without, from, up_to, sentence)                                        \
	{.name = word,                                                                             \
	 .kind = GN_MIO_NUMBER,                                                                    \
	 .setting = which,                                                                         \
	 .value = without,                                                                         \
	 .least = from,                                                                            \
	 .most = up_to,                                                                            \
	 .help = sentence}
#define TEXT(word, which, without, sentence)                                                       \
	{.name = word,                                                                             \
	 .kind = GN_MIO_TEXT,                                                                      \
	 .setting = which,                                                                         \
	 .value = 1,                                                                               \
	 .text = without,                                                                          \
	 .help = sentence}

static const struct gn_mio_option option[] = {
	SWITCH("private", GN_PF_CACHE, GN_PRIVATE_CACHE, "A cache for this file alone."),
	NUMBER("global", GN_PF_CACHE, 0, 0, GN_GLOBAL_CACHES - 1,
	       "The cache of that number, shared by the process's files; it has the sizes of the "
	       "file "
	       "that was opened first."),
	NUMBER("cache_size", GN_PF_CACHE_SIZE, 64 * KIB, 16384, GIB, "Bytes of the cache."),
	NUMBER("page_size", GN_PF_PAGE_SIZE, 4 * KIB, 4096, GIB,
	       "Bytes of a page of the cache; requests of a page or more are not kept."),
	NUMBER("prefetch", GN_PF_PREFETCH, 1, 1, 100, "Pages of the cache to read ahead."),
	NUMBER("stride", GN_PF_STRIDE, 1, 1, GIB, "From one of these pages to the next, in pages."),
	SWITCH("release", GN_PF_RELEASE, 1,
	       "A global cache gives its memory back with its last file."),
	SWITCH("norelease", GN_PF_RELEASE, 0, "A global cache keeps its memory."),
	SWITCH("retain", GN_PF_RETAIN, 1,
	       "A global cache keeps a file's pages after its close, for a reopen of the same file "
	       "with the same size and times."),
	SWITCH("noretain", GN_PF_RETAIN, 0, "Pages go with the file's close."),
	SWITCH("asynchronous", GN_PF_ASYNCHRONOUS, 1, "Threads and the kernel read ahead."),
	SWITCH("synchronous", GN_PF_ASYNCHRONOUS, 0, "No threads; pages ahead are waited for."),
	SWITCH("noasynchronous", GN_PF_ASYNCHRONOUS, 0, "The same as synchronous."),
	SWITCH("direct", GN_PF_DIRECT, 1, "Pages of the cache are read past the kernel's."),
	SWITCH("nodirect", GN_PF_DIRECT, 0, "Nothing is read past the kernel's cache."),
	SWITCH("listio", GN_PF_LISTIO, 1, "Threads are given half a window of requests at once."),
	SWITCH("nolistio", GN_PF_LISTIO, 0, "Threads are given a request whenever a page is done."),
	SWITCH("auto", GN_PF_ENGINE, GN_ENGINE_AUTO,
	       "What reads ahead is chosen by pattern, device and measurement."),
	SWITCH("advise", GN_PF_ENGINE, GN_ENGINE_ADVICE,
	       "The kernel is told of the next requests."),
	SWITCH("stream", GN_PF_ENGINE, GN_ENGINE_STREAM,
	       "Threads read pages of 1 MiB past the kernel's cache."),
	SWITCH("noahead", GN_PF_ENGINE, GN_ENGINE_NONE, "Only pages of the cache are read ahead."),
	NUMBER("window", GN_PF_WINDOW, 8192 * KIB, 3072 * KIB, 65536 * KIB,
	       "Bytes of memory that threads read ahead into, for each file."),
	SWITCH("bytes", GN_PF_UNIT, 1, "Statistics in bytes."),
	SWITCH("kbytes", GN_PF_UNIT, KIB, "Statistics in KiB."),
	SWITCH("mbytes", GN_PF_UNIT, KIB *KIB, "Statistics in MiB."),
	SWITCH("gbytes", GN_PF_UNIT, GIB, "Statistics in GiB."),
	SWITCH("tbytes", GN_PF_UNIT, GIB *KIB, "Statistics in TiB."),
	TEXT("stats", GN_PF_STATS, "mioout", "Where statistics go at the close."),
	SWITCH("nostats", GN_PF_STATS, 0, "No statistics."),
	NUMBER("inter", GN_PF_INTER, 30, 1, 64, "Statistics at this signal too."),
	SWITCH("nointer", GN_PF_INTER, 0, "Statistics at the close only."),
	TEXT("tag", GN_PF_TAG, "", "Begins each line of the statistics."),
	SWITCH("notag", GN_PF_TAG, 0, "Nothing begins them."),
	SWITCH("pffw", GN_PF_PFFW, 1, "Accepted without effect: its meaning is not documented."),
	SWITCH("nopffw", GN_PF_PFFW, 0, "Accepted without effect: its meaning is not documented."),
	SWITCH("memcpy", GN_PF_MEMCPY, 1, "Accepted without effect: data are always copied."),
};

/* `direct` has a third value by default: nodirect of the original would forbid what helps most. */
static const struct gn_mio_setting defaults[GN_PF_SETTINGS] = {
	[GN_PF_CACHE_SIZE] = {.number = 64 * KIB},
	[GN_PF_PAGE_SIZE] = {.number = 4 * KIB},
	[GN_PF_PREFETCH] = {.number = 1},
	[GN_PF_STRIDE] = {.number = 1},
	[GN_PF_RELEASE] = {.number = 1},
	[GN_PF_ASYNCHRONOUS] = {.number = 1},
	[GN_PF_DIRECT] = {.number = 2},
	[GN_PF_ENGINE] = {.number = GN_ENGINE_AUTO},
	[GN_PF_WINDOW] = {.number = 8192 * KIB},
	[GN_PF_UNIT] = {.number = 1},
	[GN_PF_STATS] = {.number = 1, .text = "mioout"},
	[GN_PF_MEMCPY] = {.number = 1},
};

/* Where a layer below may hold writes, the descriptor does not show what the file has. */
static int descriptor(const struct gn_mio_layer *layer)
{
	for (const struct gn_mio_layer *below = layer->below; below; below = below->below) {
		if (below->below && below->module->flush)
			return -1;
	}
	return gn_mio_descriptor(layer);
}

static int pf_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	const struct gn_mio_setting *setting = layer->setting;
	struct gn_pf *pf = layer->state;
	struct stat status;
	int result = gn_mio_below_open(layer, file);

	if (result < 0)
		return result;
	pf->layer = layer;
	pf->fd = descriptor(layer);
	pf->direct.program_fd = -1;
	pf->last_fill = -1;
	pf->may_read = (file->flags & O_ACCMODE) != O_WRONLY && !(file->flags & O_DIRECT);
	if (gn_pf_status(pf, &status) || !S_ISREG(status.st_mode)) {
		pf->is_aside = 1;
		return result;
	}
	pf->prefetch.layer = layer;
	pf->prefetch.fd = pf->fd;
	pf->prefetch.may_thread = setting[GN_PF_ASYNCHRONOUS].number != 0;
	pf->prefetch.may_direct = setting[GN_PF_DIRECT].number != 0;
	pf->prefetch.is_in_batches = setting[GN_PF_LISTIO].number != 0;
	pf->prefetch.choice = (enum gn_prefetch_engine)setting[GN_PF_ENGINE].number;
	pf->prefetch.window_bytes = (size_t)setting[GN_PF_WINDOW].number;
	pf->prefetch.read_ahead_kib = -1;
	gn_pf_begin(pf, &status);
	if (!pf->is_aside && setting[GN_PF_DIRECT].number == 1 && pf->page_bytes % 4096 == 0)
		pf->direct =
			(struct gn_direct_file){pf->fd, 0, status.st_dev, status.st_ino, -1, 0};
	return result;
}

/* Who waits for a lock wants to see what was written under it. */
static int is_lock(int command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
	       command == F_OFD_SETLKW;
}

static int pf_control(struct gn_mio_layer *layer, int command, void *argument)
{
	struct gn_pf *pf = layer->state;
	int result = gn_mio_below_control(layer, command, argument);

	/* With O_DIRECT a read that is not aligned has to fail. */
	if (command == F_SETFL && result >= 0)
		pf->may_read = (layer->file->flags & O_ACCMODE) != O_WRONLY &&
			       !((intptr_t)argument & O_DIRECT);
	if (command == F_SETFL)
		pf->page = NULL;
	if (is_lock(command) && !pf->is_aside && pf->process == gn_cache_process)
		gn_pf_forget(pf);
	return result;
}

static int pf_drop(struct gn_mio_layer *layer)
{
	struct gn_pf *pf = layer->state;
	int below;

	if (!pf->is_aside && pf->process == gn_cache_process)
		gn_pf_forget(pf);
	below = gn_mio_below_drop(layer);
	return below == -ENOSYS ? 0 : below;
}

static int pf_close(struct gn_mio_layer *layer)
{
	struct gn_pf *pf = layer->state;

	if (!pf->is_aside && pf->process == gn_cache_process) {
		const int is_retained = layer->setting[GN_PF_RETAIN].number != 0 &&
					layer->setting[GN_PF_CACHE].number != GN_PRIVATE_CACHE;

		gn_prefetch_close(&pf->prefetch);
		gn_direct_file_close(&pf->direct);
		gn_page_cache_close_file(pf->cache, pf->file, is_retained);
		gn_page_cache_close(pf->cache,
				    layer->setting[GN_PF_RELEASE].number && !is_retained);
		gn_inode_close(pf->inode);
		pf->is_aside = 1;
		pf->page = NULL;
	}
	return gn_mio_below_close(layer);
}

const struct gn_mio_module gn_mio_pf = {
	.version = GN_MIO_VERSION,
	.state_bytes = sizeof(struct gn_pf),
	.name = "pf",
	.summary = "A cache for reads, and prefetch by what was measured to help.",
	.option = option,
	.n_options = sizeof(option) / sizeof(*option),
	.n_settings = GN_PF_SETTINGS,
	.defaults = defaults,
	.open = pf_open,
	.read = gn_pf_read,
	.write = gn_pf_write,
	.truncate = gn_pf_truncate,
	.control = pf_control,
	.drop = pf_drop,
	.close = pf_close,
	.tell = gn_pf_tell,
};
