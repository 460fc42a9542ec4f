/*
 * A stack of layers on a real file, for tests of modules without the library: the lowest layer
 * calls the system, and fails or falls short where a test says so.
 */
#ifndef GNOMON_TESTS_MIO_LAYER_FOR_TESTS_H
#define GNOMON_TESTS_MIO_LAYER_FOR_TESTS_H

#include "mio_module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_LAYERS 4

struct mio_stack {
	struct gn_mio_layer layer[MOST_LAYERS];
	struct gn_mio_setting setting[MOST_LAYERS][32];
	struct gn_mio_open file;
	int fd;
	/* Of the lowest layer. */
	int fail_reads, fail_writes, fail_syncs; /* errno; 0: none */
	size_t most_bytes;			 /* of a request; 0: all */
	unsigned long reads, writes;
};

static inline struct mio_stack *stack_of(const struct gn_mio_layer *lowest)
{
	return lowest->state;
}

static inline long result_of(long result)
{
	return result < 0 ? -errno : result;
}

static int lowest_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	stack_of(layer)->fd = open(file->path, file->flags, file->mode);
	return stack_of(layer)->fd < 0 ? -errno : 0;
}

static ssize_t lowest_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	struct mio_stack *stack = stack_of(layer);

	stack->reads++;
	if (stack->fail_reads)
		return -stack->fail_reads;
	if (stack->most_bytes && bytes > stack->most_bytes)
		bytes = stack->most_bytes;
	return result_of(pread(stack->fd, to, bytes, offset));
}

static ssize_t lowest_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			    int64_t offset)
{
	struct mio_stack *stack = stack_of(layer);

	stack->writes++;
	if (stack->fail_writes)
		return -stack->fail_writes;
	if (stack->most_bytes && bytes > stack->most_bytes)
		bytes = stack->most_bytes;
	if (offset == GN_MIO_NO_OFFSET)
		return result_of(write(stack->fd, from, bytes));
	return result_of(pwrite(stack->fd, from, bytes, offset));
}

static int lowest_status(struct gn_mio_layer *layer, struct stat *status)
{
	return (int)result_of(fstat(stack_of(layer)->fd, status));
}

static int lowest_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	return (int)result_of(ftruncate(stack_of(layer)->fd, bytes));
}

static int lowest_sync(struct gn_mio_layer *layer, int data_only)
{
	(void)data_only;
	return -stack_of(layer)->fail_syncs;
}

static int lowest_control(struct gn_mio_layer *layer, int command, void *argument)
{
	return (int)result_of(fcntl(stack_of(layer)->fd, command, argument));
}

static int lowest_close(struct gn_mio_layer *layer)
{
	int result = (int)result_of(close(stack_of(layer)->fd));

	stack_of(layer)->fd = -1;
	return result;
}

static const struct gn_mio_module lowest_module = {
	.version = GN_MIO_VERSION,
	.name = "aix",
	.open = lowest_open,
	.read = lowest_read,
	.write = lowest_write,
	.status = lowest_status,
	.truncate = lowest_truncate,
	.sync = lowest_sync,
	.control = lowest_control,
	.close = lowest_close,
};

#define CALL_BELOW(function, ...)                                                                  \
	do {                                                                                       \
		for (layer = layer->below; layer; layer = layer->below) {                          \
			if (layer->module->function)                                               \
				return layer->module->function(layer, ##__VA_ARGS__);              \
		}                                                                                  \
		return -ENOSYS;                                                                    \
	} while (0)

int gn_mio_below_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	CALL_BELOW(open, file);
}

ssize_t gn_mio_below_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	CALL_BELOW(read, to, bytes, offset);
}

ssize_t gn_mio_below_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			   int64_t offset)
{
	CALL_BELOW(write, from, bytes, offset);
}

int gn_mio_below_seek(struct gn_mio_layer *layer, int64_t from, int64_t to)
{
	CALL_BELOW(seek, from, to);
}

int gn_mio_below_status(struct gn_mio_layer *layer, struct stat *status)
{
	CALL_BELOW(status, status);
}

int gn_mio_below_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	CALL_BELOW(truncate, bytes);
}

int gn_mio_below_sync(struct gn_mio_layer *layer, int data_only)
{
	CALL_BELOW(sync, data_only);
}

int gn_mio_below_control(struct gn_mio_layer *layer, int command, void *argument)
{
	CALL_BELOW(control, command, argument);
}

int gn_mio_below_flush(struct gn_mio_layer *layer)
{
	CALL_BELOW(flush);
}

int gn_mio_below_drop(struct gn_mio_layer *layer)
{
	CALL_BELOW(drop);
}

int gn_mio_below_close(struct gn_mio_layer *layer)
{
	CALL_BELOW(close);
}

int gn_mio_descriptor(const struct gn_mio_layer *layer)
{
	while (layer->below)
		layer = layer->below;
	return stack_of(layer)->fd;
}

void gn_mio_print(struct gn_mio_output *output, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf((FILE *)output, format, list);
	va_end(list);
}

/* Sets what `name` or `name=number` of the options sets. */
static inline void stack_set(struct mio_stack *stack, int index, const char *word)
{
	const struct gn_mio_module *module = stack->layer[index].module;
	const size_t length = strcspn(word, "=");

	for (uint32_t i = 0; i < module->n_options; i++) {
		const struct gn_mio_option *option = &module->option[i];
		struct gn_mio_setting *setting = &stack->setting[index][option->setting];

		if (strlen(option->name) != length || strncmp(option->name, word, length) != 0)
			continue;
		if (option->kind == GN_MIO_TEXT)
			setting->text = word[length] ? word + length + 1 : option->text;
		else
			setting->number =
				word[length] ? strtoll(word + length + 1, NULL, 0) : option->value;
		return;
	}
	fprintf(stderr, "there is no option %s\n", word);
	abort();
}

/* Puts a layer below those that are there; the lowest comes with stack_open(). */
static inline int stack_add(struct mio_stack *stack, const struct gn_mio_module *module)
{
	int n = 0;

	while (stack->layer[n].module)
		n++;
	stack->layer[n].module = module;
	stack->layer[n].setting = stack->setting[n];
	stack->layer[n].file = &stack->file;
	if (module->n_settings)
		memcpy(stack->setting[n], module->defaults,
		       module->n_settings * sizeof(*module->defaults));
	stack->layer[n].state =
		module->state_bytes ? calloc(1, module->state_bytes) : (void *)stack;
	if (n) {
		stack->layer[n].above = &stack->layer[n - 1];
		stack->layer[n - 1].below = &stack->layer[n];
	}
	return n;
}

static inline int stack_open(struct mio_stack *stack, const char *path, int flags)
{
	struct gn_mio_layer *top = &stack->layer[0];

	stack->file.path = path;
	stack->file.flags = flags;
	stack->file.mode = 0600;
	stack->fd = -1;
	stack_add(stack, &lowest_module);
	return top->module->open(top, &stack->file);
}

#define CALL_TOP(stack, function, ...)                                                             \
	((stack)->layer[0].module->function                                                        \
		 ? (stack)->layer[0].module->function(&(stack)->layer[0], ##__VA_ARGS__)           \
		 : gn_mio_below_##function(&(stack)->layer[0], ##__VA_ARGS__))

static inline ssize_t stack_read(struct mio_stack *stack, void *to, size_t bytes, int64_t offset)
{
	return CALL_TOP(stack, read, to, bytes, offset);
}

static inline ssize_t stack_write(struct mio_stack *stack, const void *from, size_t bytes,
				  int64_t offset)
{
	return CALL_TOP(stack, write, from, bytes, offset);
}

static inline int stack_status(struct mio_stack *stack, struct stat *status)
{
	return CALL_TOP(stack, status, status);
}

static inline int stack_truncate(struct mio_stack *stack, int64_t bytes)
{
	return CALL_TOP(stack, truncate, bytes);
}

static inline int stack_sync(struct mio_stack *stack)
{
	return CALL_TOP(stack, sync, 0);
}

static inline int stack_flush(struct mio_stack *stack)
{
	return CALL_TOP(stack, flush);
}

static inline int stack_drop(struct mio_stack *stack)
{
	return CALL_TOP(stack, drop);
}

/* Closes the file, and forgets the layers. */
static inline int stack_close(struct mio_stack *stack)
{
	int result = CALL_TOP(stack, close);

	for (int i = 0; i < MOST_LAYERS; i++) {
		if (stack->layer[i].state != stack)
			free(stack->layer[i].state);
	}
	memset(stack, 0, sizeof(*stack));
	return result;
}

#endif
