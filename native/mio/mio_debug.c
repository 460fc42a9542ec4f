#include "mio_debug.h"

#include <string.h>
#include <strings.h>

int gn_mio_debug_read(const char *text, unsigned int *debug, struct gn_mio_error *error)
{
	static const struct {
		const char *name;
		unsigned int bits;
	} keyword[] = {
		{"ALL", GN_MIO_DEBUG_ALL},
		{"ENV", GN_MIO_DEBUG_ENV},
		{"OPEN", GN_MIO_DEBUG_OPEN},
		{"MODULES", GN_MIO_DEBUG_MODULES},
		{"TIMESTAMP", GN_MIO_DEBUG_TIMESTAMP},
		{"DEF", GN_MIO_DEBUG_DEF},
	};
	const size_t n_keywords = sizeof(keyword) / sizeof(*keyword);
	size_t offset = 0;

	*debug = 0;
	for (;;) {
		size_t length, i = 0;

		offset += strspn(text + offset, " \t\n,:|");
		length = strcspn(text + offset, " \t\n,:|");
		if (!length)
			return 0;
		while (i < n_keywords && (strlen(keyword[i].name) != length ||
					  strncasecmp(keyword[i].name, text + offset, length)))
			i++;
		if (i == n_keywords)
			return gn_mio_refuse(error, offset,
					     "there is no keyword '%.*s'; there are ALL, ENV, "
					     "OPEN, MODULES, TIMESTAMP and DEF",
					     (int)(length < 40 ? length : 40), text + offset);
		*debug |= keyword[i].bits;
		offset += length;
	}
}

/* The option that leads to a setting; NULL: none of them does. */
static const struct gn_mio_option *option_for(const struct gn_mio_module *module, uint32_t number,
					      const struct gn_mio_setting *setting)
{
	for (uint32_t i = 0; i < module->n_options; i++) {
		const struct gn_mio_option *option = &module->option[i];

		if (option->setting == number &&
		    (option->kind != GN_MIO_SWITCH || option->value == setting->number))
			return option;
	}
	return NULL;
}

static void print_setting(struct gn_mio_output *output, const struct gn_mio_module *module,
			  uint32_t number, const struct gn_mio_setting *setting)
{
	const struct gn_mio_option *option = option_for(module, number, setting);

	/* A switch says more than the number that it stands for. */
	for (uint32_t i = 0; i < module->n_options; i++)
		if (module->option[i].kind == GN_MIO_SWITCH &&
		    module->option[i].setting == number &&
		    module->option[i].value == setting->number)
			option = &module->option[i];
	if (!option)
		return;
	gn_mio_print(output, "/%s", option->name);
	if (option->kind == GN_MIO_NUMBER)
		gn_mio_print(output, "=%lld", (long long)setting->number);
	if (option->kind == GN_MIO_TEXT)
		gn_mio_print(output, "={%s}", setting->text ? setting->text : "");
}

static int is_default(const struct gn_mio_setting *setting, const struct gn_mio_setting *usual)
{
	if (!setting->text != !usual->text || setting->number != usual->number)
		return 0;
	return !setting->text || !strcmp(setting->text, usual->text);
}

void gn_mio_print_list(struct gn_mio_output *output, const struct gn_mio_list *list)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct gn_mio_module *module = list->layer[i].module;
		const struct gn_mio_setting *setting = list->layer[i].setting;

		gn_mio_print(output, "%s%s", i ? " | " : "", module->name);
		for (uint32_t j = 0; j < module->n_settings; j++)
			if (!is_default(&setting[j], &module->defaults[j]))
				print_setting(output, module, j, &setting[j]);
	}
}

void gn_mio_print_module(struct gn_mio_output *output, const struct gn_mio_module *module)
{
	gn_mio_print(output, "MIO definition of %s: %s\n  code_defaults=", module->name,
		     module->summary ? module->summary : "");
	for (uint32_t i = 0; i < module->n_settings; i++)
		print_setting(output, module, i, &module->defaults[i]);
	gn_mio_print(output, "\n");
	for (uint32_t i = 0; i < module->n_options; i++) {
		const struct gn_mio_option *option = &module->option[i];
		const long long usual = module->defaults[option->setting].number;

		if (option->kind == GN_MIO_NUMBER)
			gn_mio_print(output, "  %s=(%lld,%lld,%lld)", option->name,
				     (long long)option->least, (long long)option->most, usual);
		else if (option->kind == GN_MIO_TEXT)
			gn_mio_print(output, "  %s={%s}", option->name,
				     option->text ? option->text : "");
		else
			gn_mio_print(output, "  %s", option->name);
		gn_mio_print(output, "  %s\n", option->help ? option->help : "");
	}
}
