/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* R'G'B' to X'Y'Z' of cinema, against formulas and vectors in double precision. */
#include "common/shared/xyz.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static double expected_xyz(const double *row, const double rgb[3])
{
  double x = row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2];
  return 4095 * pow(x * 48.0 / 52.37, 1 / 2.6);
}

/* The looked-up base is at most one code below the result of a search for the threshold. */
static void check_bases(const Cj2kXyzTables *tables)
{
  for (int c = 1; c < 4096; c++) {
    float at = tables->threshold[c];
    uint32_t low = tables->base[(uint32_t)(sqrtf(sqrtf(at)) * (float)CJ2K_XYZ_BINS)];
    g_assert_cmpint(c - (int)low, <=, 1);
    g_assert_cmpint(c - (int)low, >=, 0);
  }
}

static void test_xyz(void)
{
  static const double matrix[3][3] = {{0.412391, 0.357584, 0.180481},
                                      {0.212639, 0.715169, 0.072192},
                                      {0.019331, 0.119195, 0.950532}};
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);
  int32_t row[3][1000], in[3][1000];
  cj2k_xyz_tables_init(tables, 12, CJ2K_TRANSFER_GAMMA26, CJ2K_PRIMARIES_BT709);
  for (int i = 0; i < 1000; i++)
    for (int k = 0; k < 3; k++)
      in[k][i] = row[k][i] = g_test_rand_int_range(0, i < 500 ? 4096 : 64);
  cj2k_rgb_to_xyz(tables, row[0], row[1], row[2], 1000);
  for (int i = 0; i < 1000; i++) {
    double rgb[3];
    for (int k = 0; k < 3; k++)
      rgb[k] = pow(in[k][i] / 4095.0, 2.6);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(row[k][i] - expected_xyz(matrix[k], rgb)), <=, 0.55);
  }
  /* ST 428-1: white of 48 cd/m2 in D65. */
  row[0][0] = row[1][0] = row[2][0] = 4095;
  row[0][1] = row[1][1] = row[2][1] = 0;
  cj2k_rgb_to_xyz(tables, row[0], row[1], row[2], 2);
  g_assert_cmpint(row[1][0], ==, 3960);
  g_assert_cmpint(row[0][1] | row[1][1] | row[2][1], ==, 0);
  check_bases(tables);
  for (unsigned depth = 8; depth <= 16; depth += 4)
    for (int transfer = CJ2K_TRANSFER_BT709; transfer <= CJ2K_TRANSFER_PQ; transfer++) {
      cj2k_xyz_tables_init(tables, (uint8_t)depth, (Cj2kTransfer)transfer, CJ2K_PRIMARIES_AUTO);
      g_assert_cmpfloat(tables->linear[0], ==, 0);
      g_assert_cmpfloat(tables->linear[(1 << depth) - 1], ==, 1);
      /* The two parts of a curve meet with a small step, because their constants are rounded. */
      for (int v = 1; v < 1 << depth; v++)
        g_assert_cmpfloat(tables->linear[v], >, tables->linear[v - 1] - 6e-5f);
    }
  g_free(tables);
}

/* 12 bit R'G'B' to X'Y'Z' by colour-science 0.4.7 of PyPI in double precision:
 * normalised_primary_matrix() of the colour space's primaries and white, eotf_ST2084() and its
 * inverse, 48 / 52.37 with the power of 2.6, values above 1 clipped. */
static const struct {
  Cj2kPrimaries primaries;
  Cj2kTransfer transfer;
  int32_t rgb[3];
  double xyz[3];
} xyz_vectors[] = {
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {2816.71, 2183.24, 868.09}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2666.38, 3480.99, 1747.49}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2049.80, 1440.98, 3883.52}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {1938, 2096, 3093}, {2167.39, 2093.12, 2990.61}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {3893, 142, 590}, {2681.26, 2078.03, 930.24}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {3370, 3885, 1020}, {3179.71, 3552.05, 1865.19}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {93, 260, 126}, {179.02, 224.03, 150.88}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {81, 248, 77}, {166.74, 212.51, 120.12}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3709.49, 3415.63, 2357.01}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3646.52, 3950.40, 3157.15}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3342.48, 2933.50, 4073.23}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {1676, 2637, 2251}, {2312.08, 2520.33, 2344.69}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {351, 112, 3545}, {2782.26, 2382.87, 3522.46}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {3086, 3431, 2204}, {3171.37, 3341.27, 2683.13}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {245, 98, 135}, {182.30, 149.41, 140.27}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {236, 37, 90}, {164.52, 122.99, 95.47}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {3329.34, 2368.18, 0.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {1882.38, 3410.26, 1002.04}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {1998.09, 1335.99, 4051.24}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {509, 1857, 4001}, {2049.04, 1877.98, 3963.71}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {549, 1570, 1651}, {1044.93, 1368.02, 1647.84}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {3702, 833, 2057}, {3080.53, 2222.69, 2036.99}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {78, 5, 225}, {119.26, 80.78, 222.60}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {18, 84, 149}, {78.19, 79.51, 147.75}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3900.05, 3509.76, 0.01}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3243.53, 3927.22, 2517.67}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3312.82, 2846.13, 4095.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {1987, 478, 4017}, {3247.61, 2784.43, 4042.52}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {3068, 3938, 377}, {3296.17, 3791.46, 2361.59}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {2968, 1200, 2216}, {2789.33, 2411.19, 2241.61}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {277, 83, 217}, {244.40, 174.61, 222.99}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {48, 96, 290}, {141.49, 114.07, 297.42}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {3001.73, 2246.28, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2378.44, 3436.68, 1202.61}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2125.05, 1493.88, 4026.09}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {1724, 2113, 1199}, {1676.49, 1915.04, 1259.80}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {474, 1739, 2553}, {1558.20, 1624.99, 2525.34}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {1866, 3181, 1486}, {2192.61, 2767.89, 1622.14}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {183, 231, 275}, {209.19, 218.26, 273.20}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {128, 11, 215}, {134.89, 97.35, 211.38}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3782.26, 3448.61, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3514.76, 3935.94, 2725.24}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3384.31, 2975.23, 4095.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {2165, 3572, 1881}, {3018.97, 3415.01, 2371.58}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {1507, 255, 1872}, {1510.05, 1227.02, 1889.06}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {2626, 3154, 3492}, {3074.20, 3121.80, 3520.05}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {64, 177, 241}, {152.84, 167.01, 247.69}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {78, 103, 251}, {141.24, 120.32, 256.28}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3793.96, 3960.04, 3889.61}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {2900.80, 2170.75, 0.00}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2417.41, 3492.99, 1222.31}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2013.48, 1415.44, 3814.70}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {2382, 2086, 2759}, {2206.22, 2135.73, 2594.74}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {2092, 4017, 3084}, {2846.15, 3555.97, 2983.41}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {221, 605, 2232}, {1122.46, 868.09, 2080.61}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {245, 20, 204}, {188.60, 139.73, 190.05}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {227, 236, 262}, {219.68, 228.34, 247.73}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4047.15, 4095.00, 4074.98}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3743.17, 3408.98, 0.00}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3533.54, 3954.28, 2743.87}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3321.72, 2912.83, 4053.25}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {784, 2274, 3286}, {2573.28, 2421.64, 3244.88}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {1466, 783, 1963}, {1503.81, 1255.77, 1924.59}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {334, 901, 3503}, {2720.95, 2328.35, 3459.76}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {200, 258, 252}, {219.68, 247.09, 247.35}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {262, 93, 141}, {197.02, 154.50, 136.08}},
};

/* The same for HLG: oetf_inverse_BT2100_HLG(), ootf_BT2100_HLG() with a black level of 0, its gamma
 * for the peak, or 1.2 * 1.111^log2(peak / 1000) outside of 400 to 2000 cd/m2, and PQ. */
static const struct {
  Cj2kPrimaries primaries;
  double peak;
  int32_t rgb[3];
  double xyz[3];
} hlg_vectors[] = {
    {CJ2K_PRIMARIES_BT2020, 1000, {4095, 4095, 4095}, {3056.05, 3078.73, 3116.82}},
    {CJ2K_PRIMARIES_BT2020, 1000, {4095, 0, 0}, {2759.46, 2373.84, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 1000, {0, 4095, 0}, {2201.40, 2871.07, 1555.86}},
    {CJ2K_PRIMARIES_BT2020, 1000, {0, 0, 4095}, {2063.75, 1652.21, 2853.54}},
    {CJ2K_PRIMARIES_BT2020, 1000, {2747, 3297, 92}, {2183.59, 2416.93, 1149.76}},
    {CJ2K_PRIMARIES_BT2020, 1000, {3309, 1920, 2110}, {2309.83, 2087.50, 1910.28}},
    {CJ2K_PRIMARIES_BT2020, 1000, {2581, 1170, 4012}, {2277.04, 1941.04, 2859.88}},
    {CJ2K_PRIMARIES_BT2020, 1000, {220, 1138, 1570}, {1058.53, 1210.19, 1530.91}},
    {CJ2K_PRIMARIES_BT2020, 1000, {171, 122, 39}, {238.67, 222.43, 79.84}},
    {CJ2K_PRIMARIES_BT2020, 1000, {13, 0, 14}, {9.65, 5.62, 12.12}},
    {CJ2K_PRIMARIES_BT2020, 400, {4095, 4095, 4095}, {2650.01, 2672.31, 2709.83}},
    {CJ2K_PRIMARIES_BT2020, 400, {4095, 0, 0}, {2456.69, 2082.89, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 400, {0, 4095, 0}, {1855.03, 2497.17, 1260.82}},
    {CJ2K_PRIMARIES_BT2020, 400, {0, 0, 4095}, {1884.67, 1489.61, 2657.54}},
    {CJ2K_PRIMARIES_BT2020, 400, {609, 4092, 782}, {1871.52, 2497.13, 1386.99}},
    {CJ2K_PRIMARIES_BT2020, 400, {2672, 3073, 960}, {1843.62, 2015.77, 1234.95}},
    {CJ2K_PRIMARIES_BT2020, 400, {1156, 1781, 1078}, {1254.08, 1435.19, 1211.87}},
    {CJ2K_PRIMARIES_BT2020, 400, {3990, 727, 3676}, {2467.45, 2093.98, 2438.41}},
    {CJ2K_PRIMARIES_BT2020, 400, {239, 253, 34}, {393.22, 431.30, 121.31}},
    {CJ2K_PRIMARIES_BT2020, 400, {117, 188, 147}, {264.45, 324.82, 301.11}},
    {CJ2K_PRIMARIES_BT2020, 300, {4095, 4095, 4095}, {2524.44, 2546.53, 2583.70}},
    {CJ2K_PRIMARIES_BT2020, 300, {4095, 0, 0}, {2352.37, 1983.80, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 300, {0, 4095, 0}, {1748.14, 2378.85, 1172.57}},
    {CJ2K_PRIMARIES_BT2020, 300, {0, 0, 4095}, {1808.66, 1421.34, 2572.94}},
    {CJ2K_PRIMARIES_BT2020, 300, {2727, 2771, 2715}, {1803.55, 1834.82, 1849.78}},
    {CJ2K_PRIMARIES_BT2020, 300, {249, 3928, 2275}, {1719.99, 2289.47, 1718.82}},
    {CJ2K_PRIMARIES_BT2020, 300, {3700, 1111, 1480}, {2144.34, 1822.33, 1340.39}},
    {CJ2K_PRIMARIES_BT2020, 300, {3603, 765, 263}, {2082.60, 1749.98, 493.35}},
    {CJ2K_PRIMARIES_BT2020, 300, {112, 203, 36}, {237.99, 330.54, 108.06}},
    {CJ2K_PRIMARIES_BT2020, 300, {261, 102, 68}, {383.46, 302.91, 152.15}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4095, 4095, 4095}, {3365.63, 3388.30, 3426.34}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4095, 0, 0}, {2992.08, 2600.61, 0.01}},
    {CJ2K_PRIMARIES_BT2020, 2000, {0, 4095, 0}, {2475.66, 3158.09, 1798.70}},
    {CJ2K_PRIMARIES_BT2020, 2000, {0, 0, 4095}, {2202.97, 1780.26, 3002.95}},
    {CJ2K_PRIMARIES_BT2020, 2000, {2230, 3667, 3620}, {2628.64, 2906.44, 3028.38}},
    {CJ2K_PRIMARIES_BT2020, 2000, {3572, 1255, 75}, {2615.33, 2291.82, 630.45}},
    {CJ2K_PRIMARIES_BT2020, 2000, {3187, 2897, 3157}, {2610.76, 2555.40, 2674.40}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4, 155, 2061}, {1025.82, 762.22, 1638.12}},
    {CJ2K_PRIMARIES_BT2020, 2000, {100, 131, 279}, {214.35, 200.41, 371.24}},
    {CJ2K_PRIMARIES_BT2020, 2000, {60, 158, 97}, {130.70, 197.60, 154.34}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {4095, 4095, 4095}, {3056.05, 3078.73, 3116.82}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {4095, 0, 0}, {2628.93, 2303.58, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {0, 4095, 0}, {2461.90, 2881.75, 1734.77}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {0, 0, 4095}, {2153.86, 1785.13, 2872.13}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1208, 3302, 627}, {2006.27, 2353.24, 1431.29}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1296, 486, 610}, {1146.85, 996.98, 894.59}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1151, 2861, 2373}, {1889.89, 2113.62, 2039.66}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1837, 694, 3272}, {1848.93, 1567.59, 2360.79}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {239, 70, 17}, {272.14, 213.33, 38.77}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {95, 43, 239}, {198.34, 142.74, 343.06}},
};

static void test_hlg_vectors(void)
{
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);

  for (size_t i = 0; i < G_N_ELEMENTS(hlg_vectors); i++) {
    int32_t v[3];
    memcpy(v, hlg_vectors[i].rgb, sizeof v);
    cj2k_xyz_tables_init(tables, 12, CJ2K_TRANSFER_HLG, hlg_vectors[i].primaries);
    cj2k_xyz_tables_init_hlg(tables, hlg_vectors[i].peak);
    cj2k_rgb_to_xyz(tables, &v[0], &v[1], &v[2], 1);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(v[k] - hlg_vectors[i].xyz[k]), <=, 0.75);
  }
  int32_t black[3] = {0, 0, 0};
  cj2k_rgb_to_xyz(tables, &black[0], &black[1], &black[2], 1);
  g_assert_cmpint(black[0] | black[1] | black[2], ==, 0);
  g_free(tables);
}

static void test_xyz_vectors(void)
{
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);

  for (size_t i = 0; i < G_N_ELEMENTS(xyz_vectors); i++) {
    int32_t v[3];
    memcpy(v, xyz_vectors[i].rgb, sizeof v);
    cj2k_xyz_tables_init(tables, 12, xyz_vectors[i].transfer, xyz_vectors[i].primaries);
    cj2k_rgb_to_xyz(tables, &v[0], &v[1], &v[2], 1);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(v[k] - xyz_vectors[i].xyz[k]), <=, 0.75);
  }
  check_bases(tables); /* of PQ */
  g_free(tables);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/xyz/formulas", test_xyz);
  g_test_add_func("/xyz/vectors", test_xyz_vectors);
  g_test_add_func("/xyz/vectors-hlg", test_hlg_vectors);
  return g_test_run();
}
