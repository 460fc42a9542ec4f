#include "mio_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mio_heap.h"
#include "mio_scan.h"
#include "mio_template.h"
#include "system_calls.h"

static int check_length(const char *text, struct gn_mio_error *error)
{
	if (strnlen(text, GN_MIO_TEXT_MAX + 1) <= GN_MIO_TEXT_MAX)
		return 0;
	return gn_mio_refuse(error, GN_MIO_TEXT_MAX, "the text has more than %u bytes",
			     GN_MIO_TEXT_MAX);
}

/* --- MIO_DEFAULTS ----------------------------------------------------------------------------- */

static struct gn_mio_setting **defaults_place(struct gn_mio_defaults *defaults,
					      const struct gn_mio_module *module)
{
	uint32_t i = 0;

	while (defaults->registry->module[i] != module)
		i++;
	return &defaults->setting[i];
}

static int scan_default(struct gn_mio_scan *scan, struct gn_mio_defaults *defaults)
{
	const struct gn_mio_module *module;
	struct gn_mio_setting **setting;
	int result = gn_mio_scan_module(scan, ",", &module);

	if (result)
		return result;
	setting = defaults_place(defaults, module);
	if (!*setting)
		*setting = gn_mio_default_settings(scan, module);
	if (!*setting)
		return -ENOMEM;
	return gn_mio_scan_options(scan, ",", module, *setting);
}

int gn_mio_defaults_read(struct gn_mio_defaults *defaults, const struct gn_mio_registry *registry,
			 const char *text, struct gn_mio_error *error)
{
	struct gn_mio_scan scan = {text, 0, defaults, &defaults->memory, error};
	int result;

	*defaults = (struct gn_mio_defaults){.registry = registry};
	if (!text)
		return 0;
	result = check_length(text, error);
	if (result)
		return result;
	gn_mio_skip_blanks(&scan);
	if (!text[scan.offset])
		return 0;
	result = scan_default(&scan, defaults);
	while (!result && text[scan.offset] == ',') {
		scan.offset++;
		result = scan_default(&scan, defaults);
	}
	return result;
}

void gn_mio_defaults_free(struct gn_mio_defaults *defaults)
{
	gn_mio_memory_free(&defaults->memory);
}

/* --- MIO_FILES -------------------------------------------------------------------------------- */

static int is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int check_template(const struct gn_mio_scan *scan, size_t begin, size_t end)
{
	const char *stars = memmem(scan->text + begin, end - begin, "**", 2);

	if (begin == end)
		return gn_mio_refuse(scan->error, begin, "the name of a file is missing");
	if (stars && (size_t)(stars - scan->text) + 2 < end)
		return gn_mio_refuse(scan->error, (size_t)(stars - scan->text) + 2,
				     "'**' stands for the rest of a path: nothing comes behind it");
	return 0;
}

/* Templates up to the opening bracket, which is there. */
static int scan_templates(struct gn_mio_scan *scan, struct gn_mio_rule *rule)
{
	const size_t list_end = scan->offset + strcspn(scan->text + scan->offset, "[");
	uint32_t n = 1;

	for (size_t i = scan->offset; i < list_end; i++)
		n += scan->text[i] == ':';
	rule->name_template = gn_mio_memory_take(scan->memory, n * sizeof(*rule->name_template));
	if (!rule->name_template)
		return -ENOMEM;
	while (rule->n_templates < n) {
		const char *text = scan->text;
		size_t begin, end;
		int result;

		gn_mio_skip_blanks(scan);
		begin = scan->offset;
		scan->offset += strcspn(text + begin, ":[");
		for (end = scan->offset; end > begin && is_blank(text[end - 1]);)
			end--;
		result = check_template(scan, begin, end);
		if (result)
			return result;
		rule->name_template[rule->n_templates] =
			gn_mio_memory_text(scan->memory, text + begin, end - begin);
		if (!rule->name_template[rule->n_templates++])
			return -ENOMEM;
		scan->offset++;
	}
	return 0;
}

static int scan_rule(struct gn_mio_scan *scan, struct gn_mio_rule *rule)
{
	const size_t begin = scan->offset;
	const size_t names = strcspn(scan->text + begin, "[]");
	struct gn_mio_list *list;
	size_t bracket;
	int result;

	if (scan->text[begin + names] != '[')
		return gn_mio_refuse(scan->error, begin + names,
				     "'[' and modules are missing behind names of files");
	result = scan_templates(scan, rule);
	if (result)
		return result;
	bracket = scan->offset - 1;
	list = gn_mio_memory_take(scan->memory, sizeof(*list));
	if (!list)
		return -ENOMEM;
	rule->list = list;
	result = gn_mio_scan_list(scan, list);
	if (result)
		return result;
	if (scan->text[scan->offset] != ']')
		return gn_mio_refuse(scan->error, bracket, "']' is missing for this '['");
	scan->offset++;
	rule->text = gn_mio_memory_text(scan->memory, scan->text + bracket, scan->offset - bracket);
	gn_mio_skip_blanks(scan);
	return rule->text ? 0 : -ENOMEM;
}

int gn_mio_files_read(struct gn_mio_files *files, const struct gn_mio_defaults *defaults,
		      const char *text, struct gn_mio_error *error)
{
	struct gn_mio_scan scan = {text ? text : "", 0, defaults, &files->memory, error};
	uint32_t n_rules = 0;
	int result;

	*files = (struct gn_mio_files){0};
	result = gn_mio_list_read(&files->plain, defaults, NULL, error);
	if (result || !text)
		return result;
	result = check_length(text, error);
	if (result)
		return result;
	for (const char *bracket = text; (bracket = strchr(bracket, '[')); bracket++)
		n_rules += n_rules < GN_MIO_RULES_MAX;
	files->rule = gn_mio_memory_take(&files->memory, n_rules * sizeof(*files->rule));
	if (!files->rule)
		return -ENOMEM;
	gn_mio_skip_blanks(&scan);
	while (!result && text[scan.offset]) {
		/* Each takes a bracket; a rule that cannot be read for want of it is refused. */
		struct gn_mio_rule rule = {0};

		if (files->n == GN_MIO_RULES_MAX)
			return gn_mio_refuse(error, scan.offset,
					     "there are more than %u lists of modules",
					     GN_MIO_RULES_MAX);
		result = scan_rule(&scan, &rule);
		if (!result)
			files->rule[files->n++] = rule;
	}
	return result;
}

void gn_mio_files_free(struct gn_mio_files *files)
{
	gn_mio_list_free(&files->plain);
	gn_mio_memory_free(&files->memory);
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * Where the kernel has a file: with links resolved. A file that is to be made is in its folder. Of
 * the heap, as threads may have small stacks; NULL: it is not known.
 */
static char *resolve(const char *path)
{
	char *resolved = gn_mio_heap_take(2 * PATH_MAX), *folder = resolved + PATH_MAX;
	const char *leaf = strrchr(path, '/'), *added = "";
	int fd = gn_mio_system_open(path, O_PATH | O_CLOEXEC, 0);
	char link[32];
	long n = 0;

	leaf = leaf ? leaf + 1 : path;
	if (resolved && fd < 0 && leaf - path < PATH_MAX) {
		memcpy(folder, path, (size_t)(leaf - path));
		fd = gn_mio_system_open(*folder ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC,
					0);
		added = leaf;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (resolved && fd >= 0)
		n = gn_mio_system_link(link, resolved, PATH_MAX - 1);
	if (fd >= 0)
		gn_mio_system_close(fd);
	if (n > 0 && (size_t)n + 1 + strlen(added) < PATH_MAX) {
		snprintf(resolved + n, PATH_MAX - (size_t)n, "%s%s", *added ? "/" : "", added);
		return resolved;
	}
	gn_mio_heap_give(resolved);
	return NULL;
}

const struct gn_mio_rule *gn_mio_files_match(const struct gn_mio_files *files, const char *path,
					     const char **name_template)
{
	const struct gn_mio_rule *match = NULL;
	bool is_asked = false;
	char *resolved = NULL;

	for (uint32_t i = 0; i < files->n && !match; i++) {
		const struct gn_mio_rule *rule = &files->rule[i];

		for (uint32_t j = 0; j < rule->n_templates && !match; j++) {
			*name_template = rule->name_template[j];
			if (gn_mio_template_matches(*name_template, path))
				match = rule;
			if (match || **name_template != '/')
				continue;
			if (!is_asked)
				resolved = resolve(path);
			is_asked = true;
			if (resolved && gn_mio_template_matches(*name_template, resolved))
				match = rule;
		}
	}
	gn_mio_heap_give(resolved);
	return match;
}

/* --- modules alone ---------------------------------------------------------------------------- */

int gn_mio_list_read(struct gn_mio_list *list, const struct gn_mio_defaults *defaults,
		     const char *text, struct gn_mio_error *error)
{
	struct gn_mio_scan scan = {text ? text : "", 0, defaults, &list->memory, error};
	size_t bracket;
	int has_bracket, result;

	*list = (struct gn_mio_list){0};
	result = check_length(scan.text, error);
	if (result)
		return result;
	gn_mio_skip_blanks(&scan);
	bracket = scan.offset;
	has_bracket = scan.text[bracket] == '[';
	scan.offset += (size_t)has_bracket;
	result = gn_mio_scan_list(&scan, list);
	if (result)
		return result;
	if (has_bracket && scan.text[scan.offset++] != ']')
		return gn_mio_refuse(error, bracket, "']' is missing for this '['");
	gn_mio_skip_blanks(&scan);
	if (scan.text[scan.offset])
		return gn_mio_refuse(error, scan.offset, "nothing comes behind the modules");
	return 0;
}

void gn_mio_list_free(struct gn_mio_list *list)
{
	gn_mio_memory_free(&list->memory);
}
