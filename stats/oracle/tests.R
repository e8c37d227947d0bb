# SPDX-License-Identifier: MIT
# Prints tests_expected.h, what the tests of stats/'s functions of plain samples expect of R 4.2:
#   Rscript stats/oracle/tests.R >stats/oracle/tests_expected.h && clang-format-19 -i stats/oracle/tests_expected.h
# Needs r-base-core and r-cran-nortest. All samples are drawn here, with the seed below.

suppressMessages(library(nortest))
options(digits = 17)
set.seed(20130316)

put <- function(name, ...) {
  values <- as.numeric(c(...))
  stopifnot(all(is.finite(values)))
  cat(sprintf("inline constexpr std::array<double, %d> %s{%s};\n", length(values), name,
              paste(sprintf("%.17g", values), collapse = ", ")))
}
root <- function(f, low, high) uniroot(f, c(low, high), tol = 1e-14, maxiter = 10000)$root

cat("// SPDX-License-Identifier: MIT\n// Made by tests.R: do not edit.\n#pragma once\n\n#include <array>\n\n")
cat("namespace stab::stats::oracle::r {\n\n")

cat("// Samples.\n")
normal3 <- rnorm(3); normal5 <- rnorm(5, 10); normal11 <- rnorm(11); normal12 <- rnorm(12, 3, 2)
normal40 <- 1e9 * exp(rnorm(40, 0, 0.01)); skew30 <- rexp(30); skew60 <- rexp(60); ties25 <- round(rnorm(25, 5, 2))
outlier <- c(rnorm(99), 1000)
for (name in c("normal3", "normal5", "normal11", "normal12", "normal40", "skew30", "skew60", "ties25", "outlier"))
  put(name, get(name))

cat("\n// Normality: W, p of Shapiro-Wilk; A, p of Anderson-Darling.\n")
sw <- function(x) { t <- shapiro.test(x); c(t$statistic, t$p.value) }
ad <- function(x) { t <- ad.test(x); c(t$statistic, t$p.value) }
for (name in c("normal3", "normal5", "normal11", "normal12", "normal40", "skew30", "skew60", "ties25", "outlier"))
  put(paste0("shapiro_", name), sw(get(name)))
for (name in c("normal11", "normal12", "normal40", "skew30", "skew60", "ties25", "outlier"))
  put(paste0("anderson_", name), ad(get(name)))
# Park and Miller's generator (data.h), 5000 uniforms from state 77 as they come, and as normal scores.
state <- 77
uniform <- function() { state <<- (16807 * state) %% 2147483647; state / 2147483647 }
u <- sapply(1:5000, function(i) uniform())
put("shapiro_uniform_5000", sw(u))
put("shapiro_uniform_4999", sw(u[-5000]))
put("anderson_uniform_5000", ad(u))
put("shapiro_sum_5000", sw(sapply(seq(1, 4998, 3), function(i) sum(u[i:(i + 2)]))))

cat("\n// Equal variances, on the groups normal12, skew30, ties25: F, p.\n")
groups <- list(normal12, skew30, ties25)
variances <- function(center) {
  g <- factor(rep(seq_along(groups), lengths(groups)))
  a <- anova(lm(unlist(lapply(groups, function(x) abs(x - center(x)))) ~ g))
  c(a[["F value"]][1], a[["Pr(>F)"]][1])
}
put("levene_groups", variances(mean))
put("brown_forsythe_groups", variances(median))

cat("\n// Independence: r of acf, z and p of Moran; runs: below, above, runs, exact p, p of the normal approximation.\n")
moran <- function(x) {
  n <- length(x); r <- acf(x, lag.max = 1, plot = FALSE)$acf[2]
  z <- (r + 1 / n) / sqrt((n - 2)^2 / (n^2 * (n - 1)))
  c(r, z, 2 * pnorm(-abs(z)))
}
runs <- function(x) {
  s <- sign(x - median(x)); s <- s[s != 0]
  a <- sum(s < 0); b <- sum(s > 0); r <- length(rle(s)$lengths); n <- a + b
  d <- sapply(2:n, function(k) if (k %% 2 == 0) 2 * choose(a - 1, k / 2 - 1) * choose(b - 1, k / 2 - 1) else
    choose(a - 1, (k - 1) / 2) * choose(b - 1, (k - 3) / 2) + choose(a - 1, (k - 3) / 2) * choose(b - 1, (k - 1) / 2)) / choose(n, a)
  m <- 2 * a * b / n + 1; v <- 2 * a * b * (2 * a * b - n) / (n^2 * (n - 1))
  c(a, b, r, min(1, 2 * min(sum(d[2:n <= r]), sum(d[2:n >= r]))), 2 * pnorm(-abs((r - m) / sqrt(v))))
}
walk60 <- as.numeric(arima.sim(list(ar = 0.5), 60)); walk300 <- as.numeric(arima.sim(list(ar = 0.2), 300))
put("walk60", walk60); put("walk300", walk300)
put("moran_walk60", moran(walk60)); put("moran_normal40", moran(normal40))
put("runs_walk60", runs(walk60)); put("runs_walk300", runs(walk300)); put("runs_ties25", runs(ties25))

cat("\n// Two samples: t, df, p, interval of b - a.\n")
t_of <- function(t) c(t$statistic, t$parameter, t$p.value, t$conf.int)
put("student", t_of(t.test(normal12, normal11, var.equal = TRUE)))
before <- rnorm(20, 100, 10); after <- before + rnorm(20, 1, 2)
put("before", before); put("after", after)
put("paired", t_of(t.test(after, before, paired = TRUE)))

cat("\n// Wilcoxon: statistic, p, shift, interval (root finding to 1e-12 where R does it).\n")
w_of <- function(w) c(w$statistic, w$p.value, w$estimate, w$conf.int)
wilcox <- function(...) suppressWarnings(wilcox.test(..., conf.int = TRUE, tol.root = 1e-12))
put("rank_sum_exact", w_of(wilcox(normal12, normal11)))
put("rank_sum_30_49", w_of(wilcox(skew60[1:49], skew30)))
shift_of <- function(w, shift) c(w$statistic, w$p.value, shift, w$conf.int)  # R's own root is anywhere between two middle pairs
walsh <- function(x) { m <- outer(x, x, "+") / 2; m[upper.tri(m, TRUE)] }
put("rank_sum_normal", shift_of(wilcox(skew60, skew30), median(outer(skew60, skew30, "-"))))
put("rank_sum_ties", wilcox(round(normal12), ties25)$statistic, wilcox(round(normal12), ties25)$p.value)
put("rank_sum_3_3", w_of(wilcox(c(4, 5.5, 6), c(1, 2.5, 3), conf.level = 0.9)))
put("signed_rank_exact", w_of(wilcox(after, before, paired = TRUE)))
put("signed_rank_normal", shift_of(wilcox(skew60, rev(skew60) * 1.1 + 0.001, paired = TRUE), median(walsh(skew60 - (rev(skew60) * 1.1 + 0.001)))))
put("signed_rank_ties", wilcox(ties25, rep(4, 25), paired = TRUE)$statistic, wilcox(ties25, rep(4, 25), paired = TRUE)$p.value)
put("pwilcox_7_9", pwilcox(0:63, 7, 9)); put("psignrank_10", psignrank(0:55, 10))
put("pwilcox_49_49", pwilcox(c(500, 900, 1100, 1200), 49, 49)); put("psignrank_49", psignrank(c(200, 400, 550, 612), 49))

cat("\n// Permutation test: p over all arrangements.\n")
permutation <- function(a, b) {
  all <- c(a, b); observed <- abs(sum(a) - mean(all) * length(a))
  sums <- combn(length(all), length(a), function(i) sum(all[i])) - mean(all) * length(a)
  mean(abs(sums) >= observed - 1e-9)
}
put("permutation_5_11", permutation(normal5 - 10, normal11))
put("permutation_5_3", permutation(normal5, normal3 + 9))

cat("\n// Within strata (base normal12[1:2], level ties25[1:2]; normal12[3:5], ties25[3:4]; normal12[6], ties25[5:7]): statistic, p of\n")
cat("// the mean difference and of van Elteren's sum of ranks, over all arrangements.\n")
strata <- list(list(1:2, 1:2), list(3:5, 3:4), list(6, 5:7))
stratified <- function(scores, factor) {
  parts <- lapply(strata, function(s) {
    all <- scores(c(normal12[s[[1]]], ties25[s[[2]]])); m <- length(s[[2]]); n <- length(s[[1]])
    apply(cbind(n + seq_len(m), combn(n + m, m)), 2, function(i) (sum(all[i]) - m * mean(all)) * factor(n, m))
  })
  sums <- rowSums(expand.grid(lapply(parts, function(p) p[-1]))); observed <- sum(sapply(parts, `[`, 1))
  c(observed, mean(abs(sums) >= abs(observed) - 1e-9))
}
put("permutation_strata", stratified(identity, function(n, m) (1 / n + 1 / m) / 3))
put("van_elteren", stratified(rank, function(n, m) 1 / (n + m + 1)))

cat("\n// Studentized range: rows of q, groups, df, tail; and of tail, groups, df, q. By nested integrate(), not ptukey,\n")
cat("// which errs by up to 1e-4 for 2 degrees of freedom. The tail is integrated over the logarithm of the deviation.\n")
normal_range <- function(w, k) sapply(w, function(x) integrate(function(z) k * dnorm(z) * (pnorm(z)^(k - 1) -
  (pnorm(z) - pnorm(z - x))^(k - 1)), -9, 15, rel.tol = 1e-12, abs.tol = 1e-15, subdivisions = 2000)$value)
range_tail <- function(q, k, df) {
  density <- function(s) 2 * exp(2 * s) * df * dchisq(df * exp(2 * s), df)
  low <- log(qchisq(1e-15, df) / df) / 2; high <- log(qchisq(1e-15, df, lower.tail = FALSE) / df) / 2
  cuts <- seq(low, high, length.out = 13)
  sum(sapply(1:12, function(i) integrate(function(s) density(s) * normal_range(q * exp(s), k), cuts[i], cuts[i + 1],
    rel.tol = 1e-10, abs.tol = 1e-14, subdivisions = 2000)$value))
}
g <- expand.grid(q = c(0.5, 2, 3.5, 5, 8), k = c(2, 3, 10, 40), df = c(2, 5, 17, 1000))
tails <- mapply(range_tail, g$q, g$k, g$df)
put("tukey_tails", as.vector(t(cbind(g$q, g$k, g$df, tails))))
deviation <- abs(ptukey(g$q, g$k, g$df, lower.tail = FALSE) - tails)
cat(sprintf("// ptukey's own largest deviation from these: df 2: %.1e; df 5: %.1e; df 17 and 1000: %.1e\n",
            max(deviation[g$df == 2]), max(deviation[g$df == 5]), max(deviation[g$df > 5])))
put("tukey_quantiles", unlist(lapply(list(c(0.05, 3, 10), c(0.01, 6, 24), c(0.05, 2, 8), c(0.001, 4, 100)),
  function(r) c(r, uniroot(function(q) range_tail(q, r[2], r[3]) - r[1], c(2, 9), tol = 1e-11)$root))))
tukey <- function(formula, data) { t <- TukeyHSD(aov(formula, data))[[1]]; as.vector(t(t)) }
put("plant_growth", PlantGrowth$weight)
put("plant_growth_tukey", tukey(weight ~ group, PlantGrowth))
put("plant_growth_unequal_tukey", tukey(weight ~ group, PlantGrowth[-c(1, 2, 3, 30), ]))

cat("\n// Shares of variance: eta squared, omega squared, interval.\n")
shares <- function(f, df1, df2, alpha) {
  lambda <- function(share) if (pf(f, df1, df2) < share) 0 else root(function(l) pf(f, df1, df2, l) - share, 0, 500)
  l <- c(lambda(1 - alpha), lambda(alpha)); n <- df1 + df2 + 1
  c(f * df1 / (f * df1 + df2), max(0, df1 * (f - 1) / (df1 * (f - 1) + n)), l / (l + n))
}
a <- anova(lm(weight ~ group, PlantGrowth)); put("plant_growth_sums", a[["Sum Sq"]])
put("shares_plant_growth", shares(a[["F value"]][1], 2, 27, 0.05)); put("shares_of_nothing", shares(0.225, 2, 27, 0.05))
put("shares_of_many_levels", shares(1.13139, 99, 200, 0.05))

cat("\n// Variance components of 8 groups in 1, 2 or 4 cells: between, its interval, within, its interval, p. Written out.\n")
components <- function(x, g, cells, alpha) {
  keep <- tapply(x, g, length); m <- tapply(x, g, mean); cell <- (seq_along(m) - 1) %/% (8 / cells)
  d1 <- length(m) - cells; d2 <- length(x) - length(m); within <- sum((x - m[g])^2) / d2
  ms <- function(r) sum(sapply(split(seq_along(m), cell), function(i) {
    w <- keep[i] / (1 + keep[i] * r); sum(w * (m[i] - weighted.mean(m[i], w))^2) })) / d1
  ratio <- function(f) if (ms(0) < f * within) 0 else root(function(r) ms(r) - f * within, 0, 1e4)
  share <- c(1 - alpha / 2, alpha / 2); f <- qf(share, d1, d2)
  c(ratio(1) * within, sapply(f, ratio) * within * f * d1 / qchisq(share, d1), within, d2 * within / qchisq(share, d2),
    pf(ms(0) / within, d1, d2, lower.tail = FALSE))
}
g <- factor(rep(1:8, each = 5)); layouts <- rep(rnorm(8), each = 5) + rnorm(40)
put("layouts", layouts)
put("components_balanced", components(layouts, g, 1, 0.05)); put("components_of_two_cells", components(layouts, g, 2, 0.05))
lost <- -c(1, 2, 3, 11, 12, 13, 14, 22, 40); put("components_unbalanced", components(layouts[lost], g[lost], 1, 0.05))
put("components_of_four_cells", components(layouts[lost], g[lost], 4, 0.1))

cat("\n// Power: rows of n, difference, sd, alpha, power; of n, power, detectable; groups, n, between, within, power.\n")
put("power_two", unlist(lapply(list(c(20, 1, 1, 0.05), c(5, 0.5, 1, 0.05), c(100, 0.01, 0.05, 0.01), c(3, 4, 1, 0.05)), function(r)
  c(r, power.t.test(r[1], r[2], r[3], r[4], strict = TRUE)$power))))
put("power_paired", unlist(lapply(list(c(20, 1, 1, 0.05), c(5, 0.5, 1, 0.05), c(2, 5, 1, 0.1)), function(r)
  c(r, power.t.test(r[1], r[2], r[3], r[4], type = "paired", strict = TRUE)$power))))
put("detectable_two", unlist(lapply(list(c(10, 0.8), c(30, 0.9)), function(r)
  c(r, power.t.test(r[1], NULL, 2, 0.05, r[2], strict = TRUE, tol = 1e-13)$delta))))
put("needed_two", ceiling(power.t.test(NULL, 0.3, 1, 0.05, 0.9, strict = TRUE, tol = 1e-12)$n),
  ceiling(power.t.test(NULL, 3, 1, 0.05, 0.8, strict = TRUE, tol = 1e-12)$n))
put("needed_paired", ceiling(power.t.test(NULL, 0.3, 1, 0.05, 0.9, type = "paired", strict = TRUE, tol = 1e-12)$n))
put("power_anova", unlist(lapply(list(c(4, 5, 1, 3), c(2, 10, 0.5, 1), c(6, 3, 2, 2)), function(r)
  c(r, power.anova.test(r[1], r[2], r[3], r[4])$power))))

cat("\n// Noncentral distributions: rows of t, df, delta, P; f, df1, df2, lambda, P.\n")
put("noncentral_t", unlist(lapply(list(c(2, 10, 1), c(-1, 3, 0.5), c(5, 30, 6), c(0.5, 1, -2)), function(r) c(r, pt(r[1], r[2], r[3])))))
put("noncentral_f", unlist(lapply(list(c(2, 3, 20, 4), c(5, 1, 7, 10), c(0.3, 6, 100, 0.5)), function(r) c(r, pf(r[1], r[2], r[3], r[4])))))

cat("\n// Alpha spending, two-sided: boundaries by the recursion with Simpson's rule; fifths at 5 %, and 0.25, 0.3, 0.7, 1 at 1 %.\n")
boundaries <- function(t, alpha) {
  spend <- 4 * pnorm(-qnorm(1 - alpha / 4) / sqrt(t)); z <- qnorm(1 - spend[1] / 2); m <- 2001
  simpson <- function(limit) rep(c(2, 4), length.out = m) * replace(replace(rep(1, m), 1, 0.5), m, 0.5) * (2 * limit / (m - 1)) / 3
  limit <- z * sqrt(t[1]); x <- seq(-limit, limit, length.out = m); g <- dnorm(x, 0, sqrt(t[1])) * simpson(limit)
  for (k in 2:length(t)) {
    s <- sqrt(t[k] - t[k - 1])
    cross <- function(c) 2 * sum(g * pnorm((c * sqrt(t[k]) - x) / s, lower.tail = FALSE)) - (spend[k] - spend[k - 1])
    z[k] <- root(cross, 0.5, 20)
    limit <- z[k] * sqrt(t[k]); y <- seq(-limit, limit, length.out = m)
    g <- colSums(g * outer(x, y, function(u, v) dnorm(v - u, 0, s))) * simpson(limit); x <- y
  }
  z
}
put("boundaries_equal", boundaries(1:5 / 5, 0.05)); put("boundaries_uneven", boundaries(c(0.25, 0.3, 0.7, 1), 0.01))

cat("\n// Padding study, 4 seeds with 3 trials in each arm: mean, interval, p.\n")
arm1 <- matrix(rnorm(12, 100, 2), 4); arm2 <- matrix(rnorm(12, 102, 2), 4)
t <- t.test(100 * (rowMeans(arm2) / rowMeans(arm1) - 1))
put("padding_before", t(arm1)); put("padding_after", t(arm2)); put("padding", t$estimate, t$conf.int, t$p.value)

cat("\n}  // namespace stab::stats::oracle::r\n")
