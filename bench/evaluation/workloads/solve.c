// SPDX-License-Identifier: MIT
// Reads a linear program from its stdin, solves it by the simplex method, and then by branching on its integers. glpsol
// itself prints times, so its output is never the same twice.
#include <stdio.h>

#include "glpk.h"

static void print(glp_prob* problem, const char* title, double value,
                  double (*column)(glp_prob*, int)) {
  printf("%s %.6f\n", title, value);
  for (int i = 1; i <= glp_get_num_cols(problem); ++i)
    printf("%s %.5f\n", glp_get_col_name(problem, i), column(problem, i) + 0.0000001);
}

int main() {
  glp_term_out(GLP_OFF);
  glp_prob* problem = glp_create_prob();
  if (glp_read_lp(problem, NULL, "/proc/self/fd/0") != 0) return 1;
  glp_smcp simplex;
  glp_init_smcp(&simplex);
  if (glp_simplex(problem, &simplex) != 0) return 2;
  print(problem, "simplex", glp_get_obj_val(problem), glp_get_col_prim);
  glp_iocp branch;
  glp_init_iocp(&branch);
  branch.gmi_cuts = branch.mir_cuts = branch.cov_cuts = GLP_ON;
  if (glp_intopt(problem, &branch) != 0) return 3;
  print(problem, "integers", glp_mip_obj_val(problem), glp_mip_col_val);
  glp_delete_prob(problem);
  return 0;
}
