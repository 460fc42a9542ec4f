/*
 * What a module of Modular I/O is: a layer between a program's calls on a file and the system's.
 *
 * A file has a stack of layers. The uppermost is called by the program's calls; each may call the
 * one below it, and the lowest (`aix`) calls the system. All requests have an offset: the position
 * of a descriptor is kept above the stack. Functions return what they say or a negative errno, and
 * leave the program's errno alone. Calls of a file come from one thread at a time.
 */
#ifndef GNOMON_MIO_MODULE_H
#define GNOMON_MIO_MODULE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define GN_MIO_VERSION 1u

/* How a request without an offset says so: of a pipe or terminal, or at the end (O_APPEND). */
#define GN_MIO_NO_OFFSET INT64_MIN

struct gn_mio_layer;
struct gn_mio_output; /* where statistics are written (mio_output.h) */

/* An option, as `name` or `name=value` in a specification. */
enum gn_mio_option_kind {
	GN_MIO_SWITCH, /* `number` becomes `value` */
	GN_MIO_NUMBER, /* an integer from `least` to `most`, with a unit k, m, g or t */
	GN_MIO_TEXT,   /* a text */
};

struct gn_mio_option {
	const char *name;
	enum gn_mio_option_kind kind;
	uint32_t setting; /* which of the module's settings it changes */
	int64_t value;	  /* of a switch; of others what the option means without a value */
	int64_t least, most;
	const char *text; /* of a text without a value */
	const char *help; /* a sentence for the reference */
};

/* A setting of a layer, as its options left it. */
struct gn_mio_setting {
	int64_t number;
	const char *text; /* NULL: none */
};

/* The file that is opened, for all its layers. */
struct gn_mio_open {
	const char *path;	  /* as the program named it */
	const char *logical_name; /* that it was matched by; NULL: its path */
	int flags;		  /* of open(2); layers may change them for those below */
	mode_t mode;
	int64_t bufsiz; /* of struct mio_extra; 0: none */
	int taskid;
};

struct gn_mio_module {
	uint32_t version;     /* GN_MIO_VERSION */
	uint32_t state_bytes; /* of a layer's `state`, which is zero before `open` */
	const char *name;
	const char *summary;
	const struct gn_mio_option *option;
	uint32_t n_options;
	uint32_t n_settings;
	const struct gn_mio_setting *defaults; /* n_settings */

	/* Each may be NULL: then the layer below is called in its place. A layer's `open` calls
	 * gn_mio_below_open() itself. */
	int (*open)(struct gn_mio_layer *layer, struct gn_mio_open *file);
	ssize_t (*read)(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset);
	ssize_t (*write)(struct gn_mio_layer *layer, const void *from, size_t bytes,
			 int64_t offset);
	/* The program moved its position: for statistics and for who guesses what comes. */
	int (*seek)(struct gn_mio_layer *layer, int64_t from, int64_t to);
	int (*status)(struct gn_mio_layer *layer, struct stat *status);
	int (*truncate)(struct gn_mio_layer *layer, int64_t bytes);
	int (*sync)(struct gn_mio_layer *layer, int data_only);
	int (*control)(struct gn_mio_layer *layer, int command, void *argument); /* fcntl(2) */
	/* What it holds of writes goes below: before what others could see (fork, exec, dup, mmap,
	 * stat, a second open, an exit). */
	int (*flush)(struct gn_mio_layer *layer);
	/* What it holds of reads may be another's by now (a lock, a changed size or mtime). */
	int (*drop)(struct gn_mio_layer *layer);
	/* Also where an error is returned the layer is closed. */
	int (*close)(struct gn_mio_layer *layer);
	/* What it has to tell, at close and at the signal for intermediate statistics. */
	void (*tell)(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final);
};

struct gn_mio_layer {
	const struct gn_mio_module *module;
	struct gn_mio_layer *below;	      /* NULL: of the lowest */
	struct gn_mio_layer *above;	      /* NULL: of the uppermost */
	const struct gn_mio_setting *setting; /* n_settings */
	const struct gn_mio_open *file;
	void *state;
};

/* The next layer that has such a function; -ENOSYS below the lowest. */
int gn_mio_below_open(struct gn_mio_layer *layer, struct gn_mio_open *file);
ssize_t gn_mio_below_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset);
ssize_t gn_mio_below_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			   int64_t offset);
int gn_mio_below_seek(struct gn_mio_layer *layer, int64_t from, int64_t to);
int gn_mio_below_status(struct gn_mio_layer *layer, struct stat *status);
int gn_mio_below_truncate(struct gn_mio_layer *layer, int64_t bytes);
int gn_mio_below_sync(struct gn_mio_layer *layer, int data_only);
int gn_mio_below_control(struct gn_mio_layer *layer, int command, void *argument);
int gn_mio_below_flush(struct gn_mio_layer *layer);
int gn_mio_below_drop(struct gn_mio_layer *layer);
int gn_mio_below_close(struct gn_mio_layer *layer);

/* The system's descriptor of the file, for who starts requests by himself; -1: there is none. */
int gn_mio_descriptor(const struct gn_mio_layer *layer);

#endif
