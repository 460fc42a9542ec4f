/*
 * Made from src/gnomon/metrics/data by packaging/compile_metrics_c.py. Texts are offsets into
 * hpm_texts, lists of texts stand there one after the other; names are numbers in hpm_names.
 */
#ifndef GNOMON_HPM_METRIC_TABLE_H
#define GNOMON_HPM_METRIC_TABLE_H

#include <stdint.h>

/* The deepest that a program stacks, which the compiler of the table checks. */
#define HPM_STACK_MAX 32

enum hpm_op_kind {
	HPM_OP_NUMBER,
	HPM_OP_NAME,
	HPM_OP_NEGATE,
	HPM_OP_ADD,
	HPM_OP_SUBTRACT,
	HPM_OP_MULTIPLY,
	HPM_OP_DIVIDE,
	HPM_OP_LESS,
	HPM_OP_LESS_EQUAL,
	HPM_OP_GREATER,
	HPM_OP_GREATER_EQUAL,
	HPM_OP_EQUAL,
	HPM_OP_UNEQUAL,
	HPM_OP_AND,
	HPM_OP_OR,
	HPM_OP_ABS,
	HPM_OP_MAX,
	HPM_OP_MIN,
	HPM_OP_SQRT,
	HPM_OP_SUM,
};

/* A step of a postfix program: gnomon.metrics.formula_ast.Step. */
struct hpm_op {
	double number;
	uint8_t kind;
	uint8_t operands;
	uint16_t name;
};

/* What a formula may name, and the names that stand for it, best first. */
struct hpm_name_row {
	uint32_t text;
	uint16_t first_alias;
	uint16_t aliases;
	uint8_t is_constant;
	uint8_t is_pattern;
};

enum hpm_domain_rule {
	HPM_DOMAIN_ANY,
	HPM_DOMAIN_SAME,
	HPM_DOMAIN_ALL,
	HPM_DOMAIN_USER,
};

/* A metric, or a quantity that metrics share. The formula has "\1NUMBER\2" for each name. */
struct hpm_definition {
	uint32_t name;
	uint32_t unit;
	uint32_t title;
	uint32_t description;
	uint32_t formula;
	uint32_t cpus;
	uint16_t n_cpus;
	uint16_t first_op;
	uint16_t ops;
	uint16_t first_condition_op;
	uint16_t condition_ops;
	uint16_t first_used;
	uint16_t used;
	uint16_t first_condition_used;
	uint16_t condition_used;
	uint16_t domain;
	uint16_t result; /* of a quantity: its own number among the names */
	double limit;	 /* what no value can be above, 0 for none */
	double limit_per_cpu;
};

struct hpm_group_row {
	int number;
	uint32_t name;
	uint32_t description;
	uint32_t events;
	uint32_t cpus;
	int n;
	int n_cpus;
};

/* Double-precision operations that a core can do in a cycle, by libpfm4's name of its PMU. */
struct hpm_peak_row {
	uint32_t cpu;
	double flops;
};

extern const char hpm_texts[];
extern const struct hpm_name_row hpm_names[];
extern const unsigned short hpm_names_sorted[]; /* numbers in the order of the names' bytes */
extern const unsigned short hpm_aliases[];
extern const unsigned short hpm_used[];
extern const struct hpm_op hpm_ops[];
extern const struct hpm_definition hpm_quantities[];
extern const struct hpm_definition hpm_metric_definitions[];
extern const struct hpm_group_row hpm_group_rows[];
extern const struct hpm_peak_row hpm_peaks[];
extern const int hpm_peak_count;
extern const int hpm_name_count;
extern const int hpm_quantity_count;
extern const int hpm_definition_count;
extern const int hpm_group_count;

#endif
