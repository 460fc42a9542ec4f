/*
 * The hypervisor that this machine runs under, by the traces that it leaves.
 *
 * Source: the x86 `hypervisor` flag (CPUID 1, ECX bit 31), DMI as in
 * Documentation/ABI/testing/sysfs-firmware-dmi, /sys/hypervisor, ACPI table headers, device trees,
 * clock sources.
 */
#include "host_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "read_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CPUINFO_BYTES                                                                              \
	8192 /* the first CPU's flags come long before; all CPUs take milliseconds                 \
	      */

#define QEMU_REMEDY                                                                                \
	"libvirt: `<features><pmu state='on'/></features>` and CPU mode host-passthrough; qemu: "  \
	"`-cpu host,pmu=on`"

static const char any_remedy[] =
	"switch the virtual PMU on where the virtual machine is configured, or run on the host";

static const char *const pmu_remedies[][2] = {
	{"KVM", QEMU_REMEDY},
	{"KVM/QEMU", QEMU_REMEDY},
	{"Firecracker",
	 "Firecracker has no virtual PMU: run on the host or on a bare-metal instance"},
	{"VMware", "switch on 'Virtualize CPU performance counters' in the machine's CPU settings "
		   "(vpmc.enable = \"TRUE\" in its .vmx file)"},
	{"Hyper-V", "on the host, with the machine off: `Set-VMProcessor NAME -Perfmon @('pmu')`"},
	{"Xen", "boot the Xen host with `vpmu=on`"},
	{"VirtualBox", "VirtualBox has no virtual PMU: run on the host, or under KVM"},
	{"PowerVM", "on the HMC, allow performance information collection for this partition"},
};

static const char *const cloud_remedies[][2] = {
	{"AWS", "take a .metal instance, or a size that fills a whole socket"},
	{"GCP", "create the instance with `--performance-monitoring-unit=standard` (machine types "
		"that have it: see its documentation), or take a bare-metal one"},
	{"Azure", "Azure has no setting for it: take a bare-metal machine"},
};

/* Field of /sys/class/dmi/id, what it begins with, product, cloud. */
static const char *const dmi[][4] = {
	{"sys_vendor", "Amazon EC2", "KVM", "AWS"},
	{"bios_vendor", "Amazon EC2", "KVM", "AWS"},
	{"bios_version", "4.2.amazon", "Xen", "AWS"},
	{"product_name", "Google Compute Engine", "KVM", "GCP"},
	{"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Hyper-V", "Azure"},
	{"sys_vendor", "Alibaba Cloud", "KVM", "Alibaba Cloud"},
	{"sys_vendor", "OpenStack Foundation", "KVM", "OpenStack"},
	{"sys_vendor", "DigitalOcean", "KVM", "DigitalOcean"},
	{"sys_vendor", "Hetzner", "KVM", "Hetzner"},
	{"sys_vendor", "VMware", "VMware", ""},
	{"product_name", "VMware", "VMware", ""},
	{"product_name", "VirtualBox", "VirtualBox", ""},
	{"sys_vendor", "innotek GmbH", "VirtualBox", ""},
	{"sys_vendor", "Xen", "Xen", ""},
	{"product_name", "KVM", "KVM", ""},
	{"sys_vendor", "QEMU", "KVM/QEMU", ""},
	{"product_name", "Standard PC", "KVM/QEMU", ""},
};

static const char *const clocks[][2] = {
	{"kvm-clock", "KVM"}, {"hyperv_clocksource_tsc_page", "Hyper-V"}, {"xen", "Xen"}};

__attribute__((format(printf, 4, 5))) static int
set_make(struct gn_hypervisor *host, const char *kind, const char *cloud, const char *evidence, ...)
{
	va_list arguments;

	snprintf(host->kind, sizeof(host->kind), "%s", kind);
	host->cloud = cloud;
	va_start(arguments, evidence);
	vsnprintf(host->evidence, sizeof(host->evidence), evidence, arguments);
	va_end(arguments);
	return 1;
}

static int begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

/* Firecracker has no DMI; its ACPI tables (readable by root) and its command line tell. */
static int by_firmware(const char *root, struct gn_hypervisor *host)
{
	char text[GN_FILE_MAX];

	gn_file_start(text, 33, "%s/sys/firmware/acpi/tables/DSDT", root);
	if (strstr(text, "FIRECK"))
		return set_make(host, "Firecracker", "", "ACPI tables of FIRECK");
	gn_file_start(text, sizeof(text), "%s/proc/cmdline", root);
	lower(text);
	return strstr(text, "firecracker") ? set_make(host, "Firecracker", "", "/proc/cmdline") : 0;
}

static void dmi_field(const char *root, const char *field, char *line, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/dmi/id/%s", field);
	gn_line_in(line, size, root, path);
}

/* 1; 0: DMI does not tell; -1: it tells that there is none. */
static int by_dmi(const char *root, struct gn_hypervisor *host)
{
	char line[256], product[256];

	dmi_field(root, "product_name", product, sizeof(product));
	for (size_t i = 0; i < COUNT(dmi); i++) {
		dmi_field(root, dmi[i][0], line, sizeof(line));
		if (!begins(line, dmi[i][1]))
			continue;
		if (!strcmp(dmi[i][3], "AWS") && strstr(product, ".metal"))
			return -1;
		return set_make(host, dmi[i][2], dmi[i][3], "DMI %s: %s", dmi[i][0], line);
	}
	dmi_field(root, "sys_vendor", line, sizeof(line));
	if (strcmp(line, "Microsoft Corporation") || !begins(product, "Virtual Machine"))
		return 0;
	return set_make(host, "Hyper-V", "", "DMI product_name: Virtual Machine");
}

/* What a POWER or arm64 machine's device tree says. */
static int by_device_tree(const char *root, struct gn_hypervisor *host)
{
	static const char *const makes[][2] = {{"xen", "Xen"}, {"kvm", "KVM"}};
	static const char tree[] = "proc/device-tree", virtual[] = "linux,dummy-virt";
	char text[GN_FILE_MAX], model[256];

	gn_file_start(text, sizeof(text), "%s/%s/hypervisor/compatible", root, tree);
	for (size_t i = 0; i < COUNT(makes); i++)
		if (strstr(text, makes[i][0]))
			return set_make(host, makes[i][1], "", "/%s/hypervisor", tree);
	gn_line_in(model, sizeof(model), root, "proc/device-tree/model");
	snprintf(text, sizeof(text), "%s", model);
	lower(text);
	if (strstr(text, "qemu"))
		return set_make(host, "KVM/QEMU", "", "/%s/model: %s", tree, model);
	if (gn_file_exists("%s/%s/ibm,partition-name", root, tree))
		return set_make(host, "PowerVM", "", "/%s/ibm,partition-name", tree);
	gn_file_start(text, sizeof(text), "%s/%s/compatible", root, tree);
	if (!strstr(text, virtual))
		return 0;
	return set_make(host, "KVM/QEMU", "", "/%s/compatible: %s", tree, virtual);
}

static int by_clock(const char *root, struct gn_hypervisor *host)
{
	char line[256], *rest = line, *word;

	gn_line_in(line, sizeof(line), root,
		   "sys/devices/system/clocksource/clocksource0/available_clocksource");
	while ((word = strsep(&rest, " \t")))
		for (size_t i = 0; i < COUNT(clocks); i++)
			if (!strcmp(word, clocks[i][0]))
				return set_make(host, clocks[i][1], "", "clock source %s", word);
	return 0;
}

static int by_kernel(const char *root, struct gn_hypervisor *host)
{
	char type[64], kind[64];

	gn_line_in(type, sizeof(type), root, "sys/hypervisor/type");
	if (*type) {
		snprintf(kind, sizeof(kind), "%s", type);
		lower(kind);
		if (*kind >= 'a' && *kind <= 'z')
			*kind = (char)(*kind - 'a' + 'A');
		return set_make(host, kind, "", "/sys/hypervisor/type: %s", type);
	}
	if (by_device_tree(root, host))
		return 1;
	if (gn_has_names("%s/sys/bus/vmbus/devices", root) > 0)
		return set_make(host, "Hyper-V", "", "/sys/bus/vmbus");
	return by_clock(root, host);
}

static int has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return 1;
	return 0;
}

static const char *remedy_of(const struct gn_hypervisor *host)
{
	for (size_t i = 0; i < COUNT(cloud_remedies); i++)
		if (!strcmp(host->cloud, cloud_remedies[i][0]))
			return cloud_remedies[i][1];
	for (size_t i = 0; i < COUNT(pmu_remedies); i++)
		if (!strcmp(host->kind, pmu_remedies[i][0]))
			return pmu_remedies[i][1];
	return any_remedy;
}

int gn_hypervisor(const char *root, struct gn_hypervisor *host)
{
	char cpuinfo[CPUINFO_BYTES + 1], flags[CPUINFO_BYTES];
	int is_known;

	gn_file_start(cpuinfo, sizeof(cpuinfo), "%s/proc/cpuinfo", root);
	gn_keyed_value(cpuinfo, "flags", flags, sizeof(flags));
	if (*flags && !has_word(flags, "hypervisor"))
		return 0;
	is_known = by_firmware(root, host);
	if (!is_known)
		is_known = by_dmi(root, host);
	if (is_known <= 0)
		is_known = by_kernel(root, host);
	if (!is_known && !*flags)
		return 0;
	if (!is_known)
		set_make(host, "", "", "/proc/cpuinfo: flag hypervisor");
	snprintf(host->name, sizeof(host->name), "%s%s%s",
		 *host->kind ? host->kind : "of unknown make", *host->cloud ? " at " : "",
		 host->cloud);
	host->pmu_remedy = remedy_of(host);
	return 1;
}
