/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kaplan-Meier curve of a clinical trial. The estimate of still being in remission after week
 * i is the product of 1 - d/n over all weeks up to i, d of n patients at risk having relapsed: a
 * cumulative product. Reads a CSV with the published values and fails where ours round to others.
 *
 *   survival examples/freireich.csv
 */
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = 1000 };

typedef struct row {
    int week, ended, at_risk;
    double published;
} row;

static int read_rows(const char *path, row *rows)
{
    char line[256];
    int count = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    /* Comments and the line of names have no four numbers. */
    while (count < MOST_ROWS && fgets(line, sizeof line, file)) {
        row *r = &rows[count];
        count += sscanf(line, "%d,%d,%d,%lf", &r->week, &r->ended, &r->at_risk, &r->published) == 4;
    }
    fclose(file);
    return count;
}

int main(int argc, char **argv)
{
    row rows[MOST_ROWS];
    char word[64];
    double *factor, *curve;
    int count, wrong = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: survival FILE.csv\n");
        return 2;
    }
    count = read_rows(argv[1], rows);
    factor = get_array((size_t)count, sizeof *factor);
    curve = get_array((size_t)count, sizeof *curve);
    for (int i = 0; i < count; i++) {
        factor[i] = 1 - (double)rows[i].ended / rows[i].at_risk;
    }
    snprintf(word, sizeof word, "cumprod:f64:%d:axis=0", count);
    scan(word, factor, curve);
    printf("week  relapsed/at risk  in remission  published\n");
    for (int i = 0; i < count; i++) {
        int same = fabs(curve[i] - rows[i].published) <= 0.0005 + 1e-9;
        printf("%4d  %7d/%-8d  %12.3f  %9.3f%s\n", rows[i].week, rows[i].ended, rows[i].at_risk,
               curve[i], rows[i].published, same ? "" : "  differs");
        wrong += !same;
    }
    free(factor);
    free(curve);
    return wrong || count == 0;
}
