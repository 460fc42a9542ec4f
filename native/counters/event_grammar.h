/* How names of events are written: the grammar of src/gnomon/counters/event_grammar.py. */
#ifndef GNOMON_COUNTERS_EVENT_GRAMMAR_H
#define GNOMON_COUNTERS_EVENT_GRAMMAR_H

#include <stdint.h>

#include "error_text.h"
#include "gnomon/gnomon.h"

/* What the letters after a name leave out. */
struct gn_modifiers {
	uint32_t exclude; /* enum gn_exclude */
	int domain;	  /* enum gn_domain; 0 if no letter says */
	int letters;	  /* how many there are */
};

/*
 * Takes the modifiers off a name: what is before them goes into base[GN_NAME_MAX].
 * GN_ENOEVNT, with the reason: letters that mean nothing to a count.
 */
int gn_modifiers(const char *name, char *base, struct gn_modifiers *modifiers,
		 struct gn_error_text *why);

/* A name takes up GN_NAME_MAX bytes, and each term two at least. */
#define GN_TERMS_MAX (GN_NAME_MAX / 2)

/* `pmu/term,term=value/` taken apart; value is NULL for a bare term. All of it lies in `text`. */
struct gn_terms {
	const char *pmu;
	int n;
	struct {
		const char *key;
		const char *value;
	} term[GN_TERMS_MAX];
	char text[GN_NAME_MAX];
};

/* 1: taken apart; 0: not of that form; GN_ENOEVNT: an empty term. */
int gn_terms(const char *base, struct gn_terms *terms, struct gn_error_text *why);

/*
 * A number as in C (0x10, 010, 8), blanks around it allowed, nothing else.
 * 0; -1: not a number; -2: more than 64 bits.
 */
int gn_number(const char *text, uint64_t *number);

/* Letters, digits and _, as well as whatever is not ASCII. */
int gn_is_word(char c);

/* Shell pattern: * ? [abc] [a-z] [!a-z]. A bracket that is not closed is itself. */
int gn_matches(const char *name, const char *pattern);

/* Compares ASCII letters without regard to case; 0 if equal. */
int gn_compare_folded(const char *first, const char *second);

/* Whether a text begins so, without regard to case. */
int gn_begins_folded(const char *text, const char *start);

/* The up to three known names that look most like a typed one, best first. */
#define GN_NEAREST 3

struct gn_nearest {
	char typed[GN_NAME_MAX];
	int n;
	char name[GN_NEAREST][GN_NAME_MAX];
	unsigned int distance[GN_NEAREST];
};

void gn_nearest_begin(struct gn_nearest *nearest, const char *typed);
void gn_nearest_try(struct gn_nearest *nearest, const char *name);

/* "; did you mean A or B?" into text[size], "" if there is none; returns text. */
const char *gn_nearest_text(const struct gn_nearest *nearest, char *text, size_t size);

/* Adds them to a sentence, or the remedy where there is none; returns the sentence's code. */
int gn_nearest_suggest(struct gn_nearest *nearest, struct gn_error_text *why, const char *remedy);

#endif
