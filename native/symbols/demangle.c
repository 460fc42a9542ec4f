/*
 * C++ is demangled by the C++ runtime, whose business it is: libstdc++, or LLVM's libc++abi.
 *
 * Sources: Itanium C++ ABI, 5.1; names of modules' procedures as gfortran (trans-decl.c), Intel's
 * compilers and LLVM's flang (docs/BijectiveInternalNameUniquing.md) write them.
 */
#include "demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond, demanglers may take very long. */
#define MANGLED_MAX 8192

typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

static demangle_function *cxx_demangler(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	static demangle_function *demangle;
	static bool was_sought;

	for (size_t i = 0; !was_sought && !demangle && i < 2; i++) {
		void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

		memcpy(&demangle, &symbol, sizeof(symbol));
	}
	was_sought = true;
	return demangle;
}

/* `17h` and 16 hexadecimal digits close names of Rust before its own scheme. */
static bool is_old_rust(const char *name)
{
	const char *end = strstr(name, "17h");

	return end && strlen(end) >= 20 && end[19] == 'E' &&
	       strspn(end + 3, "0123456789abcdef") == 16;
}

/* `$LT$` and the like, in names of Rust that the C++ demangler has taken apart; the hash goes. */
static bool unescape_rust(const char *name, char *text, size_t size)
{
	static const struct {
		const char *escape, *stands_for;
	} escapes[] = {
		{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"}, {"$GT$", ">"},
		{"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"..", "::"},
	};
	size_t length = strlen(name), n = 0;

	if (length > 19 && !strncmp(name + length - 19, "::h", 3))
		length -= 19;
	for (size_t i = 0; i < length;) {
		const char *piece = name + i;
		char letter[2] = {*piece, 0};
		size_t taken = 1, n_piece;
		unsigned int code;
		int digits = 0;

		if (*piece == '_' && piece[1] == '$' && (!i || piece[-1] == ':')) {
			i++; /* a name may not begin with $ */
			continue;
		}
		for (size_t j = 0; j < sizeof(escapes) / sizeof(*escapes); j++)
			if (!strncmp(piece, escapes[j].escape, strlen(escapes[j].escape))) {
				taken = strlen(escapes[j].escape);
				piece = escapes[j].stands_for;
				break;
			}
		if (taken == 1 && sscanf(piece, "$u%2x$%n", &code, &digits) == 1 && digits &&
		    code >= ' ' && code < 0x7f) {
			letter[0] = (char)code;
			taken = (size_t)digits;
		}
		if (taken == 1 || digits)
			piece = letter;
		n_piece = strlen(piece);
		if (n + n_piece >= size)
			return false;
		memcpy(text + n, piece, n_piece);
		n += n_piece;
		i += taken;
	}
	text[n] = '\0';
	return true;
}

static bool demangle_cxx(const char *name, char *text, size_t size)
{
	demangle_function *demangle = cxx_demangler();
	int status = 0;
	char *demangled = demangle ? demangle(name, NULL, NULL, &status) : NULL;
	bool fits = demangled && strlen(demangled) < size;

	if (fits && is_old_rust(name))
		fits = unescape_rust(demangled, text, size);
	else if (fits)
		memcpy(text, demangled, strlen(demangled) + 1);
	free(demangled);
	return fits;
}

/* Two names with "::" between them. */
static bool join(const char *outer, size_t n_outer, const char *inner, size_t n_inner, char *text,
		 size_t size)
{
	return n_outer && n_inner &&
	       (size_t)snprintf(text, size, "%.*s::%.*s", (int)n_outer, outer, (int)n_inner,
				inner) < size;
}

/* gfortran: __module_MOD_procedure. */
static bool demangle_gfortran(const char *name, char *text, size_t size)
{
	const char *middle = strstr(name + 2, "_MOD_");

	return middle && join(name + 2, (size_t)(middle - name - 2), middle + 5, strlen(middle + 5),
			      text, size);
}

/* Intel's compilers: module_mp_procedure_. */
static bool demangle_intel(const char *name, char *text, size_t size)
{
	const char *middle = strstr(name, "_mp_");
	const size_t length = strlen(name);

	return middle && name[length - 1] == '_' && middle + 5 < name + length &&
	       join(name, (size_t)(middle - name), middle + 4,
		    (size_t)(name + length - 1 - middle - 4), text, size);
}

/* flang: _Q, then M module, S submodule, F procedure around it, P procedure. */
static bool demangle_flang(const char *name, char *text, size_t size)
{
	const char *part = name + 2;
	size_t n = 0;

	while (*part && strchr("MSFP", *part)) {
		const bool is_last = *part == 'P';
		size_t length = strcspn(++part, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		if (!length || n + length + 3 >= size)
			return false;
		if (n) {
			memcpy(text + n, "::", 2);
			n += 2;
		}
		memcpy(text + n, part, length);
		n += length;
		text[n] = '\0';
		part += length;
		if (is_last)
			return !*part;
	}
	return false;
}

bool gn_demangle(const char *name, char *text, size_t size)
{
	if (strlen(name) > MANGLED_MAX)
		return false;
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "___Z", 4))
		return demangle_cxx(name, text, size);
	if (!strncmp(name, "_R", 2))
		return gn_demangle_rust(name, text, size);
	if (!strncmp(name, "_Q", 2))
		return demangle_flang(name, text, size);
	if (!strncmp(name, "__", 2) && demangle_gfortran(name, text, size))
		return true;
	return islower((unsigned char)*name) && demangle_intel(name, text, size);
}
