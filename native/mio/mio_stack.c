#include "mio_stack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "mio_heap.h"
#include "mio_output.h"

/* Each layer knows its stack, which the interface of modules does not have. */
struct stack_layer {
	struct gn_mio_layer layer; /* first: a pointer to it is one to this */
	struct gn_mio_stack *stack;
};

struct gn_mio_stack {
	struct gn_mio_open file;     /* as the program asked for it */
	struct gn_mio_layer program; /* above all layers: calls go to what is below it */
	struct gn_mio_memory memory;
	int descriptor;
	uint32_t n;
	struct stack_layer *layers; /* from the uppermost */
};

/* --- layers ----------------------------------------------------------------------------------- */

static int copy_settings(struct gn_mio_stack *stack, struct gn_mio_layer *layer,
			 const struct gn_mio_invocation *invocation)
{
	const uint32_t n = invocation->module->n_settings;
	struct gn_mio_setting *setting =
		gn_mio_memory_take(&stack->memory, n * sizeof(struct gn_mio_setting));

	if (!setting)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const char *text = invocation->setting[i].text;

		setting[i].number = invocation->setting[i].number;
		if (text)
			setting[i].text = gn_mio_memory_text(&stack->memory, text, strlen(text));
		if (text && !setting[i].text)
			return -ENOMEM;
	}
	layer->setting = setting;
	return 0;
}

static int add_layer(struct gn_mio_stack *stack, const struct gn_mio_invocation *invocation)
{
	struct stack_layer *own = &stack->layers[stack->n];
	struct gn_mio_layer *above = stack->n ? &stack->layers[stack->n - 1].layer : NULL;

	own->stack = stack;
	own->layer.module = invocation->module;
	own->layer.file = &stack->file;
	own->layer.above = above;
	own->layer.state = gn_mio_memory_take(&stack->memory, invocation->module->state_bytes);
	if (!own->layer.state || copy_settings(stack, &own->layer, invocation))
		return -ENOMEM;
	*(above ? &above->below : &stack->program.below) = &own->layer;
	stack->n++;
	return 0;
}

static int copy_file(struct gn_mio_stack *stack, const struct gn_mio_open *file)
{
	const char *logical = file->logical_name;

	stack->file = *file;
	stack->file.path = gn_mio_memory_text(&stack->memory, file->path, strlen(file->path));
	if (logical)
		stack->file.logical_name =
			gn_mio_memory_text(&stack->memory, logical, strlen(logical));
	return stack->file.path && !!stack->file.logical_name == !!logical ? 0 : -ENOMEM;
}

static void destroy(struct gn_mio_stack *stack)
{
	gn_mio_memory_free(&stack->memory);
	gn_mio_heap_give(stack);
}

/* A layer may have filled the descriptor in without anything being open. */
static int open_layers(struct gn_mio_stack *stack, const struct gn_mio_list *list,
		       const struct gn_mio_open *file)
{
	struct gn_mio_open asked;
	int result = copy_file(stack, file);

	stack->layers = gn_mio_memory_take(&stack->memory, list->n * sizeof(struct stack_layer));
	if (!stack->layers)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->n && !result; i++)
		result = add_layer(stack, &list->layer[i]);
	if (result)
		return result;
	asked = stack->file;
	result = gn_mio_below_open(&stack->program, &asked);
	return result < 0 ? result : 0;
}

int gn_mio_stack_open(struct gn_mio_stack **stack, const struct gn_mio_list *list,
		      const struct gn_mio_open *file)
{
	struct gn_mio_stack *opened = gn_mio_heap_take(sizeof(*opened));
	int result;

	if (!opened)
		return -ENOMEM;
	opened->descriptor = -1;
	result = open_layers(opened, list, file);
	if (result)
		destroy(opened);
	else
		*stack = opened;
	return result;
}

int gn_mio_stack_close(struct gn_mio_stack *stack)
{
	const int result = gn_mio_below_close(&stack->program);

	gn_mio_stack_tell(stack, true);
	destroy(stack);
	return result;
}

/* --- calls ------------------------------------------------------------------------------------ */

ssize_t gn_mio_stack_read(struct gn_mio_stack *stack, void *to, size_t bytes, int64_t offset)
{
	return gn_mio_below_read(&stack->program, to, bytes, offset);
}

ssize_t gn_mio_stack_write(struct gn_mio_stack *stack, const void *from, size_t bytes,
			   int64_t offset)
{
	return gn_mio_below_write(&stack->program, from, bytes, offset);
}

int gn_mio_stack_seek(struct gn_mio_stack *stack, int64_t from, int64_t to)
{
	return gn_mio_below_seek(&stack->program, from, to);
}

int gn_mio_stack_status(struct gn_mio_stack *stack, struct stat *status)
{
	return gn_mio_below_status(&stack->program, status);
}

int gn_mio_stack_truncate(struct gn_mio_stack *stack, int64_t bytes)
{
	return gn_mio_below_truncate(&stack->program, bytes);
}

int gn_mio_stack_sync(struct gn_mio_stack *stack, int data_only)
{
	return gn_mio_below_sync(&stack->program, data_only);
}

int gn_mio_stack_control(struct gn_mio_stack *stack, int command, void *argument)
{
	return gn_mio_below_control(&stack->program, command, argument);
}

int gn_mio_stack_flush(struct gn_mio_stack *stack)
{
	return gn_mio_below_flush(&stack->program);
}

int gn_mio_stack_drop(struct gn_mio_stack *stack)
{
	return gn_mio_below_drop(&stack->program);
}

void gn_mio_stack_forked(struct gn_mio_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		struct gn_mio_layer *layer = &stack->layers[i].layer;

		if (layer->module->forked)
			layer->module->forked(layer);
	}
}

/* --- reports ---------------------------------------------------------------------------------- */

/* NULL: the module has no such option. */
static const struct gn_mio_setting *setting_of(const struct gn_mio_layer *layer, const char *name,
					       enum gn_mio_option_kind kind)
{
	const struct gn_mio_module *module = layer->module;

	for (uint32_t i = 0; i < module->n_options; i++) {
		const struct gn_mio_option *option = &module->option[i];

		if (option->kind == kind && !strcmp(option->name, name))
			return &layer->setting[option->setting];
	}
	return NULL;
}

void gn_mio_stack_tell(struct gn_mio_stack *stack, int is_final)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		struct gn_mio_layer *layer = &stack->layers[i].layer;
		const struct gn_mio_setting *stats = setting_of(layer, "stats", GN_MIO_TEXT);
		const struct gn_mio_setting *inter = setting_of(layer, "inter", GN_MIO_NUMBER);
		struct gn_mio_output *output;

		if (!layer->module->tell || (stats && !stats->text))
			continue;
		if (!is_final && inter && !inter->number)
			continue;
		output = gn_mio_output_begin(stats ? stats->text : NULL);
		layer->module->tell(layer, output, is_final);
		gn_mio_output_end(output);
	}
}

void gn_mio_stack_prepare_fork(struct gn_mio_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		const struct gn_mio_layer *layer = &stack->layers[i].layer;
		const struct gn_mio_setting *stats = setting_of(layer, "stats", GN_MIO_TEXT);

		/* Of a number 0 the module means that it has nothing to tell. */
		if (layer->module->tell && stats && stats->text && stats->number)
			gn_mio_output_create(stats->text);
	}
}

int gn_mio_stack_signal(const struct gn_mio_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		const struct gn_mio_setting *inter =
			setting_of(&stack->layers[i].layer, "inter", GN_MIO_NUMBER);

		if (inter && inter->number > 0)
			return (int)inter->number;
	}
	return 0;
}

int gn_mio_stack_holds_writes(const struct gn_mio_stack *stack)
{
	/* The lowest has a `flush` for the others to end at. */
	for (uint32_t i = 0; i + 1 < stack->n; i++)
		if (stack->layers[i].layer.module->flush)
			return 1;
	return 0;
}

/* --- descriptors ------------------------------------------------------------------------------ */

int gn_mio_stack_descriptor(const struct gn_mio_stack *stack)
{
	return stack->descriptor;
}

void gn_mio_stack_set_descriptor(struct gn_mio_stack *stack, int fd)
{
	stack->descriptor = fd;
}

const struct gn_mio_open *gn_mio_stack_file(const struct gn_mio_stack *stack)
{
	return &stack->file;
}

int gn_mio_descriptor(const struct gn_mio_layer *layer)
{
	return ((const struct stack_layer *)layer)->stack->descriptor;
}

void gn_mio_set_descriptor(struct gn_mio_layer *layer, int fd)
{
	((struct stack_layer *)layer)->stack->descriptor = fd;
}
