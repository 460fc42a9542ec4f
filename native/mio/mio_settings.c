#include "mio_settings.h"

#include <errno.h>
#include <gnomon/clock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mio_debug.h"
#include "stderr_line.h"

static struct gn_mio_settings settings;

/* Not in the frames of its callers, which a signal's stack has to have room for. */
static __attribute__((noinline)) void report(const struct gn_mio_error *error, const char *name,
					     const char *text)
{
	char lines[640];
	struct iovec texts[] = {{.iov_base = "gnomon: "}, {.iov_base = lines}};

	gn_mio_error_text(error, name, text, lines, sizeof(lines));
	gn_stderr_line(texts, sizeof(texts) / sizeof(*texts));
}

/* The program may change its environment later. */
static const char *copy_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

static void print_definitions(void)
{
	struct gn_mio_output *output = gn_mio_output_begin(NULL);

	for (uint32_t i = 0; i < settings.registry.n; i++)
		gn_mio_print_module(output, settings.registry.module[i]);
	gn_mio_output_end(output);
}

static void read_variables(void)
{
	struct gn_mio_variables *variables = &settings.variables;

	variables->stats = copy_of("MIO_STATS");
	variables->debug = copy_of("MIO_DEBUG");
	variables->files = copy_of("MIO_FILES");
	variables->defaults = copy_of("MIO_DEFAULTS");
	variables->include_path = copy_of("MIO_INCLUDE_PATH");
}

static void read_modules(void)
{
	const char *paths = getenv("GNOMON_MIO_MODULES");
	struct gn_mio_error error;

	gn_mio_registry_begin(&settings.registry);
	if (paths && gn_mio_registry_load(&settings.registry, paths, &error))
		report(&error, "GNOMON_MIO_MODULES", paths);
}

/* Settings without the text are those of the modules. */
static void read_defaults(const char *text)
{
	struct gn_mio_error error = {0, "there is no memory"};

	gn_mio_defaults_read(&settings.module_defaults, &settings.registry, NULL, &error);
	if (!gn_mio_defaults_read(&settings.defaults, &settings.registry, text, &error))
		return;
	report(&error, "MIO_DEFAULTS", text);
	gn_mio_defaults_free(&settings.defaults);
	gn_mio_defaults_read(&settings.defaults, &settings.registry, NULL, &error);
}

static void read_files(const char *text)
{
	struct gn_mio_error error = {0, "there is no memory"};

	if (gn_mio_files_read(&settings.files, &settings.defaults, text, &error)) {
		report(&error, "MIO_FILES", text ? text : "");
		gn_mio_files_free(&settings.files);
		text = NULL;
		gn_mio_files_read(&settings.files, &settings.defaults, text, &error);
	}
	gn_mio_files_read(&settings.module_files, &settings.module_defaults, text, &error);
}

static void read_settings(void)
{
	struct gn_mio_error error;

	gn_clock_init();
	read_variables();
	read_modules();
	if (settings.variables.debug &&
	    gn_mio_debug_read(settings.variables.debug, &settings.debug, &error))
		report(&error, "MIO_DEBUG", settings.variables.debug);
	gn_mio_output_configure(&settings.variables, settings.debug);
	read_defaults(settings.variables.defaults);
	read_files(settings.variables.files);
	if (settings.debug & GN_MIO_DEBUG_DEF)
		print_definitions();
}

const struct gn_mio_settings *gn_mio_settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &settings;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* NULL: no rule is for the file. */
static const struct gn_mio_list *list_of(const struct gn_mio_request *request,
					 const struct gn_mio_files *files)
{
	const struct gn_mio_open *file = &request->file;
	const char *name = file->logical_name ? file->logical_name : file->path;
	const char *name_template = NULL;
	const struct gn_mio_rule *rule = NULL;

	if (request->is_plain)
		return NULL;
	if (!request->skips_files)
		rule = gn_mio_files_match(files, name, &name_template);
	if (settings.debug & GN_MIO_DEBUG_ENV) {
		struct gn_mio_output *output = gn_mio_output_begin(NULL);

		if (rule)
			gn_mio_print(output, "MIO_FILES: %s is matched by %s %s\n", name,
				     name_template, rule->text);
		else
			gn_mio_print(output, "MIO_FILES: %s is matched by nothing\n", name);
		gn_mio_output_end(output);
	}
	return rule ? rule->list : NULL;
}

static void print_open(const struct gn_mio_request *request, const struct gn_mio_list *list,
		       int result)
{
	const struct gn_mio_open *file = &request->file;
	struct gn_mio_output *output;

	if (!(settings.debug & (GN_MIO_DEBUG_OPEN | GN_MIO_DEBUG_MODULES)))
		return;
	output = gn_mio_output_begin(NULL);
	if (settings.debug & GN_MIO_DEBUG_OPEN)
		gn_mio_print(output, "MIO_open64: %s oflags=0x%x mode=0%o: %s\n", file->path,
			     (unsigned int)file->flags, (unsigned int)file->mode,
			     result ? "failed" : "opened");
	if (settings.debug & GN_MIO_DEBUG_MODULES) {
		gn_mio_print(output, "MIO modules of %s: ", file->path);
		gn_mio_print_list(output, list);
		gn_mio_print(output, "\n");
	}
	gn_mio_output_end(output);
}

static int open_stack(struct gn_mio_stack **stack, const struct gn_mio_request *request,
		      const struct gn_mio_list *list)
{
	const int result = gn_mio_stack_open(stack, list, &request->file);

	print_open(request, list, result);
	return result;
}

/* Of a call that has modules itself: their list is in no other call's frame, for which a signal's
 * stack would have to have room. */
static __attribute__((noinline)) int open_modules(struct gn_mio_stack **stack,
						  const struct gn_mio_request *request,
						  const struct gn_mio_defaults *defaults)
{
	struct gn_mio_list list = {0};
	struct gn_mio_error error = {0, "there is no memory"};
	int result = gn_mio_list_read(&list, defaults, request->modules, &error);

	if (result == -EINVAL)
		report(&error, "modules of MIO_open64", request->modules);
	if (!result)
		result = open_stack(stack, request, &list);
	gn_mio_list_free(&list);
	return result;
}

int gn_mio_request_open(struct gn_mio_stack **stack, const struct gn_mio_request *request)
{
	const struct gn_mio_settings *own = gn_mio_settings();
	const struct gn_mio_defaults *defaults =
		request->skips_defaults ? &own->module_defaults : &own->defaults;
	const struct gn_mio_files *files =
		request->skips_defaults ? &own->module_files : &own->files;
	const struct gn_mio_list *list = list_of(request, files);

	if (!list && request->modules && !request->is_plain)
		return open_modules(stack, request, defaults);
	return open_stack(stack, request, list ? list : &files->plain);
}
