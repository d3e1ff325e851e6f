/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Light along camera rays. A volume of soft glowing spheres is sampled along one ray a pixel; a
 * sample of opacity alpha lets 1 - alpha of the light behind it pass. What reaches the eye from
 * sample i is alpha_i times the product of 1 - alpha over all samples before it. Volume rendering
 * and radiance fields compute these weights. Here one kernel makes them from the opacities: an
 * exclusive cumulative product along the last axis of a 3-D array, with 1-x before and x*y behind.
 *
 *   rays PICTURE.png
 */
#include "common.h"
#include "png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Changing these needs no more than changing them: the word is made of them. */
enum { HEIGHT = 240, WIDTH = 320, SAMPLES = 256 };

/* Lengths are in picture heights, y up, z away from the eye; rays run along z from 0 to 1. */
typedef struct sphere {
    float x, y, z, radius, density;
    float color[3];
} sphere;

static const sphere spheres[] = {
    { -0.22f, 0.02f, 0.45f, 0.34f, 9.0f, { 1.00f, 0.45f, 0.20f } },
    { 0.26f, -0.08f, 0.60f, 0.36f, 7.0f, { 0.25f, 0.60f, 1.00f } },
    { 0.12f, 0.24f, 0.25f, 0.16f, 30.0f, { 0.95f, 0.90f, 0.40f } },
    { -0.40f, -0.30f, 0.25f, 0.13f, 40.0f, { 0.45f, 0.90f, 0.45f } },
    { 0.48f, 0.30f, 0.75f, 0.20f, 25.0f, { 0.85f, 0.40f, 0.90f } },
};

enum { SPHERES = sizeof spheres / sizeof *spheres };

static const float light[3] = { -0.48f, 0.64f, -0.60f };

/* Opacity and colour of the volume at a sample of a pixel's ray. */
static float look_up(int row, int column, int sample, float color[3])
{
    float x = ((float)column + 0.5f - WIDTH / 2.0f) / HEIGHT;
    float y = (HEIGHT / 2.0f - (float)row - 0.5f) / HEIGHT;
    float z = ((float)sample + 0.5f) / SAMPLES;
    float density = 0;
    color[0] = color[1] = color[2] = 0;
    for (int i = 0; i < SPHERES; i++) {
        const sphere *s = &spheres[i];
        float dx = (x - s->x) / s->radius, dy = (y - s->y) / s->radius;
        float dz = (z - s->z) / s->radius;
        float inside = 1 - dx * dx - dy * dy - dz * dz;
        if (inside > 0) {
            float here = s->density * inside * inside;
            float lit = dx * light[0] + dy * light[1] + dz * light[2];
            float shade = 0.25f + (lit > 0 ? 1.1f * lit : 0);
            density += here;
            for (int c = 0; c < 3; c++) {
                color[c] += here * shade * s->color[c];
            }
        }
    }
    for (int c = 0; c < 3 && density > 0; c++) {
        color[c] /= density;
    }
    return density * 4 / (density * 4 + SAMPLES);
}

/* The opacity of each sample: the scan's input. */
static void fill(float *alpha)
{
    float color[3];
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column++) {
            for (int sample = 0; sample < SAMPLES; sample++) {
                *alpha++ = look_up(row, column, sample, color);
            }
        }
    }
}

static uint8_t to_byte(float value)
{
    return (uint8_t)lrintf(255 * powf(value > 1 ? 1 : value, 1 / 2.2f));
}

/* Sums what every sample sends to the eye. The rest of the light comes from an evening sky. */
static void composite(const float *weights, uint8_t *rgb)
{
    for (int pixel = 0; pixel < HEIGHT * WIDTH; pixel++) {
        const float *w = weights + (size_t)pixel * SAMPLES;
        float height = (float)(pixel / WIDTH) / HEIGHT;
        float sky[3] = { 0.10f * height, 0.06f * height, 0.12f }, sum[3] = { 0 }, seen = 0;
        for (int sample = 0; sample < SAMPLES; sample++) {
            float color[3];
            if (w[sample] > 0) {
                look_up(pixel / WIDTH, pixel % WIDTH, sample, color);
                seen += w[sample];
                for (int c = 0; c < 3; c++) {
                    sum[c] += w[sample] * color[c];
                }
            }
        }
        for (int c = 0; c < 3; c++) {
            *rgb++ = to_byte(sum[c] + (seen < 1 ? 1 - seen : 0) * sky[c]);
        }
    }
}

/* The picture in letters, 64 columns wide; a letter is about twice as high as wide. */
static void draw_text(const uint8_t *rgb)
{
    static const char ramp[] = " .:-=+*#%@";
    enum { STEP_X = WIDTH / 64, STEP_Y = 2 * STEP_X };
    for (int row = 0; row + STEP_Y <= HEIGHT; row += STEP_Y) {
        for (int column = 0; column + STEP_X <= WIDTH; column += STEP_X) {
            int sum = 0;
            for (int i = 0; i < STEP_X * STEP_Y; i++) {
                const uint8_t *p = rgb + 3 * ((row + i / STEP_X) * WIDTH + column + i % STEP_X);
                sum += 2 * p[0] + 5 * p[1] + p[2];
            }
            putchar(ramp[sum / (STEP_X * STEP_Y) * ((int)sizeof ramp - 1) / (8 * 256)]);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    size_t count = (size_t)HEIGHT * WIDTH * SAMPLES;
    char word[80];
    float *alpha, *weights;
    uint8_t *rgb;
    int status = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: rays PICTURE.png\n");
        return 2;
    }
    alpha = get_array(count, sizeof *alpha);
    weights = get_array(count, sizeof *weights);
    rgb = get_array((size_t)HEIGHT * WIDTH, 3);
    fill(alpha);
    snprintf(word, sizeof word, "cumprod:f32:%dx%dx%d:axis=2,exclusive,map=1-x,post=x*y", HEIGHT,
             WIDTH, SAMPLES);
    scan(word, alpha, weights);
    composite(weights, rgb);
    draw_text(rgb);
    if (png_write(argv[1], rgb, WIDTH, HEIGHT) != 0) {
        perror(argv[1]);
        status = 1;
    } else {
        printf("written to %s\n", argv[1]);
    }
    free(alpha);
    free(weights);
    free(rgb);
    return status;
}
