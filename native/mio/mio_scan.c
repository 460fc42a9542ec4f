#include "mio_scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mio_number.h"

static int is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

void gn_mio_skip_blanks(struct gn_mio_scan *scan)
{
	while (is_blank(scan->text[scan->offset]))
		scan->offset++;
}

/* The length of a word, which blanks or what has a meaning in a specification end. */
static size_t word_length(const struct gn_mio_scan *scan)
{
	return strcspn(scan->text + scan->offset, "/|,=[]{}: \t\n\v\f\r");
}

static int is_end(const struct gn_mio_scan *scan, const char *ends)
{
	const char c = scan->text[scan->offset];

	return !c || strchr(ends, c);
}

int gn_mio_scan_module(struct gn_mio_scan *scan, const char *ends,
		       const struct gn_mio_module **module)
{
	const char *word;
	size_t length;

	gn_mio_skip_blanks(scan);
	word = scan->text + scan->offset;
	length = word_length(scan);
	if (!length)
		return gn_mio_refuse(scan->error, scan->offset, "the name of a module is missing");
	*module = gn_mio_registry_find(scan->defaults->registry, word, length);
	if (!*module) {
		char names[160] = "";
		const struct gn_mio_registry *registry = scan->defaults->registry;

		for (uint32_t i = 0; i < registry->n; i++) {
			const size_t used = strlen(names);

			snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
				 registry->module[i]->name);
		}
		return gn_mio_refuse(scan->error, scan->offset,
				     "there is no module '%.*s'; there are %s",
				     (int)(length < 40 ? length : 40), word, names);
	}
	scan->offset += length;
	gn_mio_skip_blanks(scan);
	if (!is_end(scan, ends) && scan->text[scan->offset] != '/')
		return gn_mio_refuse(scan->error, scan->offset,
				     "'/' and an option, or '%c', is missing behind the module %s",
				     ends[0], (*module)->name);
	return 0;
}

static const struct gn_mio_option *option_of(const struct gn_mio_module *module, const char *word,
					     size_t length)
{
	for (uint32_t i = 0; i < module->n_options; i++) {
		const char *name = module->option[i].name;

		if (strlen(name) == length && !memcmp(name, word, length))
			return &module->option[i];
	}
	return NULL;
}

/* What is behind `=`, without braces or blanks around. */
static int scan_value(struct gn_mio_scan *scan, const char *ends, size_t *begin, size_t *length)
{
	const char *text = scan->text;
	size_t end;

	gn_mio_skip_blanks(scan);
	*begin = scan->offset;
	if (text[scan->offset] == '{') {
		const char *brace = strchr(text + scan->offset, '}');

		if (!brace)
			return gn_mio_refuse(scan->error, scan->offset,
					     "'}' is missing for this '{'");
		++*begin;
		end = (size_t)(brace - text);
		scan->offset = end + 1;
		*length = end - *begin;
		gn_mio_skip_blanks(scan);
		return 0;
	}
	while (!is_end(scan, ends) && text[scan->offset] != '/')
		scan->offset++;
	end = scan->offset;
	while (end > *begin && is_blank(text[end - 1]))
		end--;
	*length = end - *begin;
	return 0;
}

static int set_number(struct gn_mio_scan *scan, const struct gn_mio_option *option, size_t begin,
		      size_t length, int64_t *to)
{
	const int shown = (int)(length < 40 ? length : 40);
	const char *text = scan->text + begin;
	int64_t number;
	const int result = gn_mio_number(text, length, &number);

	if (result == -EINVAL)
		return gn_mio_refuse(scan->error, begin,
				     "%s=%.*s is no integer; write it in base 10, in base 8 as "
				     "017 or in base 16 as 0xf, and k, m, g or t behind it",
				     option->name, shown, text);
	if (result || number < option->least || number > option->most)
		return gn_mio_refuse(scan->error, begin,
				     "%s=%.*s is out of range; %s is from %lld to %lld",
				     option->name, shown, text, option->name,
				     (long long)option->least, (long long)option->most);
	*to = number;
	return 0;
}

static int scan_option(struct gn_mio_scan *scan, const char *ends,
		       const struct gn_mio_module *module, struct gn_mio_setting *settings)
{
	const char *word = scan->text + scan->offset;
	const size_t length = word_length(scan), name_offset = scan->offset;
	const int shown = (int)(length < 40 ? length : 40);
	const struct gn_mio_option *option = option_of(module, word, length);
	struct gn_mio_setting *setting;
	size_t begin = 0, value_length = 0;
	int result;

	if (!length)
		return gn_mio_refuse(scan->error, scan->offset, "an option of %s is missing",
				     module->name);
	if (!option)
		return gn_mio_refuse(scan->error, scan->offset, "%s has no option '%.*s'",
				     module->name, shown, word);
	setting = &settings[option->setting];
	scan->offset += length;
	gn_mio_skip_blanks(scan);
	if (scan->text[scan->offset] != '=') {
		setting->number = option->value;
		if (option->kind == GN_MIO_TEXT)
			setting->text = option->text;
		return 0;
	}
	scan->offset++;
	if (option->kind == GN_MIO_SWITCH)
		return gn_mio_refuse(scan->error, name_offset, "the option %s has no value",
				     option->name);
	result = scan_value(scan, ends, &begin, &value_length);
	if (result)
		return result;
	if (option->kind == GN_MIO_NUMBER)
		return set_number(scan, option, begin, value_length, &setting->number);
	setting->number = option->value;
	setting->text = gn_mio_memory_text(scan->memory, scan->text + begin, value_length);
	return setting->text ? 0 : -ENOMEM;
}

int gn_mio_scan_options(struct gn_mio_scan *scan, const char *ends,
			const struct gn_mio_module *module, struct gn_mio_setting *setting)
{
	while (scan->text[scan->offset] == '/') {
		int result;

		scan->offset++;
		gn_mio_skip_blanks(scan);
		result = scan_option(scan, ends, module, setting);
		if (result)
			return result;
		gn_mio_skip_blanks(scan);
		if (!is_end(scan, ends) && scan->text[scan->offset] != '/')
			return gn_mio_refuse(scan->error, scan->offset,
					     "'/' and an option, or '%c', is missing here",
					     ends[0]);
	}
	return 0;
}

struct gn_mio_setting *gn_mio_default_settings(struct gn_mio_scan *scan,
					       const struct gn_mio_module *module)
{
	const struct gn_mio_defaults *defaults = scan->defaults;
	const size_t bytes = module->n_settings * sizeof(struct gn_mio_setting);
	struct gn_mio_setting *copy = gn_mio_memory_take(scan->memory, bytes);
	uint32_t i = 0;

	while (i < defaults->registry->n && defaults->registry->module[i] != module)
		i++;
	if (copy && bytes && i < defaults->registry->n)
		memcpy(copy, defaults->setting[i] ? defaults->setting[i] : module->defaults, bytes);
	return copy;
}

static int add_default_layer(struct gn_mio_scan *scan, struct gn_mio_list *list, uint32_t place,
			     const struct gn_mio_module *module)
{
	struct gn_mio_setting *setting = gn_mio_default_settings(scan, module);

	if (!setting)
		return -ENOMEM;
	memmove(&list->layer[place + 1], &list->layer[place],
		(list->n++ - place) * sizeof(*list->layer));
	list->layer[place] = (struct gn_mio_invocation){module, setting};
	return 0;
}

static int scan_layer(struct gn_mio_scan *scan, struct gn_mio_list *list)
{
	struct gn_mio_invocation *layer = &list->layer[list->n];
	size_t offset;
	int result;

	gn_mio_skip_blanks(scan);
	offset = scan->offset;
	/* `mio` and `aix` may have to be added. */
	if (list->n >= GN_MIO_LAYERS_MAX - 2)
		return gn_mio_refuse(scan->error, offset, "a file has at most %u modules",
				     GN_MIO_LAYERS_MAX - 2);
	result = gn_mio_scan_module(scan, "|]", &layer->module);
	if (result)
		return result;
	if (layer->module == &gn_mio_top && list->n)
		return gn_mio_refuse(scan->error, offset,
				     "mio is the program's side of a file: "
				     "it stands first or is left out");
	if (list->n && list->layer[list->n - 1].module == &gn_mio_aix)
		return gn_mio_refuse(scan->error, offset,
				     "aix calls the system: nothing comes "
				     "behind it");
	layer->setting = gn_mio_default_settings(scan, layer->module);
	if (!layer->setting)
		return -ENOMEM;
	list->n++;
	return gn_mio_scan_options(scan, "|]", layer->module, layer->setting);
}

int gn_mio_scan_list(struct gn_mio_scan *scan, struct gn_mio_list *list)
{
	int result = 0;

	gn_mio_skip_blanks(scan);
	if (!is_end(scan, "]"))
		result = scan_layer(scan, list);
	while (!result && scan->text[scan->offset] == '|') {
		scan->offset++;
		result = scan_layer(scan, list);
	}
	if (!result && (!list->n || list->layer[0].module != &gn_mio_top))
		result = add_default_layer(scan, list, 0, &gn_mio_top);
	if (!result && list->layer[list->n - 1].module != &gn_mio_aix)
		result = add_default_layer(scan, list, list->n, &gn_mio_aix);
	return result;
}
