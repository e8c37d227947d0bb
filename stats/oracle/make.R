# SPDX-License-Identifier: MIT
# Prints the values that the tests of stats/ expect, to 15 digits: Rscript stats/oracle/make.R
# Needs r-cran-car (apt-get install --no-install-recommends: what it recommends would replace Boost 1.81).
# The data is made by a generator that oracle/data.h repeats exactly, or comes with R (PlantGrowth, sleep).

options(digits = 15)

# Park and Miller's generator: its products are exact in doubles.
state <- 0
uniform <- function() {
  state <<- (16807 * state) %% 2147483647
  state / 2147483647
}
noise <- function() uniform() + uniform() + uniform() - 1.5

show <- function(name, ...) cat(sprintf("%-34s %s\n", name, paste(sprintf("%.15g", c(...)), collapse = "  ")))
show_aov <- function(name, model) {
  strata <- summary(model)
  for (i in seq_along(strata)) {
    table <- if (inherits(strata, "summary.aovlist")) strata[[i]][[1]] else strata[[i]]
    stratum <- names(strata)[i]
    for (r in seq_len(nrow(table)))
      show(paste(name, stratum, trimws(rownames(table)[r]), sep = " | "), unlist(table[r, ], use.names = FALSE))
  }
}

# Programs of different lengths; level j changes program s by an effect of its own; every block has its own speed.
programs <- function(seed, subjects, a, b, blocks) {
  state <<- seed
  rows <- list()
  for (s in seq_len(subjects)) {
    base <- 2e8 + 7e8 * uniform()
    effect <- matrix(0, a, b)
    for (i in seq_len(a)) for (j in seq_len(b))
      effect[i, j] <- 1 - 0.03 * (i - 1) + 0.01 * (j - 1) + 0.02 * noise()
    for (r in seq_len(blocks)) {
      speed <- 1 + 0.01 * noise()
      for (i in seq_len(a)) for (j in seq_len(b)) {
        wall <- round(base * effect[i, j] * speed * (1 + 0.01 * noise()))
        rows[[length(rows) + 1]] <- data.frame(bench = s, opt = i, aslr = j, block = r, wall = wall)
      }
    }
  }
  data <- do.call(rbind, rows)
  for (name in c("bench", "opt", "aslr", "block")) data[[name]] <- factor(data[[name]])
  data
}

cat("# within subjects, one treatment\n")
d <- programs(11, 6, 2, 1, 5)
show("checksum", sum(d$wall))
show_aov("one", aov(log(wall) ~ opt + Error(bench / opt), d))
show_aov("pooled", aov(log(wall) ~ opt + bench, d))
d1 <- d[d$bench == 1, ]
t <- t.test(log(wall) ~ opt, d1, subset = TRUE)
show("bench 1 welch", -t$statistic, t$parameter, t$p.value, exp(-rev(t$conf.int)))
x <- log(d1$wall[d1$opt == 1]); y <- log(d1$wall[d1$opt == 2])
t <- t.test(y, x, paired = TRUE)
show("bench 1 paired", exp(t$estimate), exp(t$conf.int), t$p.value)
t <- t.test(y, x, paired = TRUE, conf.level = 0.9)
show("bench 1 paired 90", exp(t$conf.int))
m <- sapply(1:6, function(s) mean(log(d$wall[d$bench == s & d$opt == 2])) - mean(log(d$wall[d$bench == s & d$opt == 1])))
t <- t.test(m)
show("suite ratio", exp(t$estimate), exp(t$conf.int), t$p.value)
t <- t.test(x)
show("bench 1 opt 1 geometric mean", exp(t$estimate), exp(t$conf.int), sd(d1$wall[d1$opt == 1]))

cat("# within subjects, the paper's shape\n")
d <- programs(5, 18, 2, 1, 30)
show("checksum", sum(d$wall))
show_aov("paper", aov(log(wall) ~ opt + Error(bench / opt), d))
show("published", pf(c(3.235, 1.335), 1, 17, lower.tail = FALSE))

cat("# within subjects, two treatments, raw scale\n")
d <- programs(23, 5, 2, 3, 4)
show("checksum", sum(d$wall))
show_aov("two", aov(wall ~ opt * aslr + Error(bench / (opt * aslr)), d))

cat("# within subjects, lost trials: cell means\n")
d <- programs(11, 6, 2, 1, 5)
d <- d[!(seq_len(nrow(d)) %in% c(4, 18, 19, 33)), ]
cells <- aggregate(log(wall) ~ bench + opt, d, mean)
names(cells)[3] <- "y"
show_aov("cells", aov(y ~ opt + Error(bench / opt), cells))
show("harmonic", 12 / sum(1 / table(d$bench, d$opt)))

cat("# blocked factorial, unbalanced: type II by comparing models\n")
d <- programs(7, 1, 2, 3, 6)
d <- d[!(seq_len(nrow(d)) %in% c(2, 9, 10, 23, 36)), ]
d$y <- log(d$wall)
show("checksum", sum(d$wall))
full <- lm(y ~ block + opt * aslr, d)
type2 <- function(name, small, large) {
  ss <- deviance(small) - deviance(large)
  df <- df.residual(small) - df.residual(large)
  f <- ss / df / (deviance(full) / df.residual(full))
  show(name, df, ss, f, pf(f, df, df.residual(full), lower.tail = FALSE))
}
type2("block", lm(y ~ opt * aslr, d), full)
type2("opt", lm(y ~ block + aslr, d), lm(y ~ block + opt + aslr, d))
type2("aslr", lm(y ~ block + opt, d), lm(y ~ block + opt + aslr, d))
type2("opt:aslr", lm(y ~ block + opt + aslr, d), full)
show("Residuals", df.residual(full), deviance(full))
contrast <- function(name, model, treatment, level) {
  grid <- expand.grid(block = levels(d$block), opt = levels(d$opt), aslr = levels(d$aslr))
  x <- model.matrix(delete.response(terms(model)), grid, xlev = model$xlevels)
  l <- colMeans(x[grid[[treatment]] == level, ]) - colMeans(x[grid[[treatment]] == "1", ])
  estimate <- sum(l * coef(model))
  se <- sqrt(drop(t(l) %*% vcov(model) %*% l))
  half <- qt(0.975, df.residual(model)) * se
  p <- 2 * pt(abs(estimate / se), df.residual(model), lower.tail = FALSE)
  show(name, exp(estimate), exp(estimate - half), exp(estimate + half), p)
}
contrast("opt 2/1", full, "opt", "2")
contrast("aslr 2/1", full, "aslr", "2")
contrast("aslr 3/1", full, "aslr", "3")

cat("# the same data complete\n")
d <- programs(7, 1, 2, 3, 6)
show_aov("complete", aov(log(wall) ~ block + opt * aslr, d))

cat("# a crossing that lacks a cell\n")
d <- d[!(d$opt == 2 & d$aslr == 3), ]
d$y <- log(d$wall)
full <- lm(y ~ block + opt * aslr, d)
type2("opt", lm(y ~ block + aslr, d), lm(y ~ block + opt + aslr, d))
type2("aslr", lm(y ~ block + opt, d), lm(y ~ block + opt + aslr, d))
type2("opt:aslr", lm(y ~ block + opt + aslr, d), full)
show("Residuals", df.residual(full), deviance(full))

cat("# nested: 6 seeds of 3 runs in each of 2 levels\n")
seeds <- function(seed, levels, seeds, runs) {
  state <<- seed
  rows <- list()
  for (i in seq_len(levels)) for (j in seq_len(seeds)) {
    layout <- 0.03 * noise()
    for (r in seq_len(runs)) {
      wall <- round(4e8 * (1 - 0.02 * (i - 1)) * (1 + layout) * (1 + 0.005 * noise()))
      rows[[length(rows) + 1]] <- data.frame(opt = i, seed = j, wall = wall)
    }
  }
  data <- do.call(rbind, rows)
  data$opt <- factor(data$opt)
  data$seed <- factor(data$seed)
  data
}
d <- seeds(3, 2, 6, 3)
show("checksum", sum(d$wall))
model <- suppressWarnings(aov(log(wall) ~ opt + Error(opt:seed), d))
show_aov("nested", model)
between <- anova(lm(log(wall) ~ opt / seed, d))
show("seeds in opt", unlist(between["opt:seed", ]))
ms <- between[["Mean Sq"]]
show("components", (ms[2] - ms[3]) / 3, ms[3])

cat("# nested with lost runs: components at which the weighted mean square of the seeds' means is that of the runs\n")
d <- d[!(seq_len(nrow(d)) %in% c(1, 2, 14, 30)), ]
between <- anova(lm(log(wall) ~ opt / seed, d))
within <- between["Residuals", "Mean Sq"]
n <- table(d$opt, d$seed)
m <- tapply(log(d$wall), list(d$opt, d$seed), mean)
excess <- function(r) {
  w <- n / (1 + n * r)
  sum(w * (m - rowSums(w * m) / rowSums(w))^2) / between["opt:seed", "Df"] - within
}
ratio <- uniroot(excess, c(0, 1000), tol = 1e-13)$root
show("components", ratio * within, within, between["opt:seed", "Pr(>F)"])

cat("# data that comes with R\n")
show_aov("PlantGrowth", aov(weight ~ group, PlantGrowth))
t <- t.test(extra ~ group, sleep)
show("sleep", t$statistic, t$parameter, t$p.value, t$conf.int)
t <- t.test(PlantGrowth$weight[1:10])
show("control", t$estimate, t$conf.int, sd(PlantGrowth$weight[1:10]))

cat("# three treatments, unbalanced: type II by comparing models\n")
d <- programs(31, 4, 2, 3, 2)
d <- d[!(seq_len(nrow(d)) %in% c(3, 11, 12, 20, 34, 35, 47)), ]
d$y <- log(d$wall)
show("checksum", sum(d$wall))
full <- lm(y ~ bench + opt * aslr * block, d)
type2("bench", lm(y ~ opt * aslr * block, d), full)
type2("opt", lm(y ~ bench + aslr * block, d), lm(y ~ bench + opt + aslr * block, d))
type2("aslr", lm(y ~ bench + opt * block, d), lm(y ~ bench + aslr + opt * block, d))
type2("block", lm(y ~ bench + opt * aslr, d), lm(y ~ bench + block + opt * aslr, d))
type2("opt:aslr", lm(y ~ bench + opt * block + aslr * block, d), lm(y ~ bench + (opt + aslr + block)^2, d))
type2("opt:block", lm(y ~ bench + opt * aslr + aslr * block, d), lm(y ~ bench + (opt + aslr + block)^2, d))
type2("aslr:block", lm(y ~ bench + opt * aslr + opt * block, d), lm(y ~ bench + (opt + aslr + block)^2, d))
type2("opt:aslr:block", lm(y ~ bench + (opt + aslr + block)^2, d), full)
show("Residuals", df.residual(full), deviance(full))

cat("# sums of squares of type III, unbalanced (car::Anova with sum-to-zero contrasts)\n")
suppressMessages(library(car))
d <- programs(7, 1, 2, 3, 6)
d <- d[!(seq_len(nrow(d)) %in% c(2, 9, 10, 23, 36)), ]
sums <- list(block = contr.sum, opt = contr.sum, aslr = contr.sum)
table <- Anova(lm(log(wall) ~ block + opt * aslr, d, contrasts = sums), type = 3)
for (name in rownames(table)[-1]) show(paste("type III |", name), unlist(table[name, ]))
table <- Anova(lm(log(wall) ~ block + opt * aslr, d), type = 2)
for (name in rownames(table)) show(paste("car type II |", name), unlist(table[name, ]))

cat("# the paper's procedure: raw times, 18 programs, 2 levels, 30 runs\n")
d <- programs(5, 18, 2, 1, 30)
show_aov("raw", aov(wall ~ opt + Error(bench / opt), d))
for (s in c(1, 2, 10)) {
  x <- d$wall[d$bench == s & d$opt == 1]
  y <- d$wall[d$bench == s & d$opt == 2]
  show(paste("bench", s, "Shapiro-Wilk"), shapiro.test(x)$p.value, shapiro.test(y)$p.value)
  show(paste("bench", s, "Student"), t.test(x, y, var.equal = TRUE)$p.value)
  show(paste("bench", s, "signed-rank"), wilcox.test(y, x, paired = TRUE)$p.value)
  show(paste("bench", s, "rank-sum"), wilcox.test(y, x)$p.value)
}

cat("# differences within blocks and their tests; variance and interaction ratios\n")
d <- programs(41, 1, 2, 2, 20)
d$y <- log(d$wall)
show("checksum", sum(d$wall))
x <- sapply(1:20, function(b) mean(d$y[d$block == b & d$opt == 1]))
y <- sapply(1:20, function(b) mean(d$y[d$block == b & d$opt == 2]))
show("paired t", exp(mean(y - x)), t.test(y, x, paired = TRUE)$p.value)
show("signed-rank", wilcox.test(y, x, paired = TRUE)$p.value)
full <- lm(y ~ block + opt * aslr, d)
show("residuals Shapiro-Wilk", shapiro.test(residuals(full))$p.value)
m <- tapply(d$y, list(d$opt, d$aslr), mean)
did <- m[2, 2] - m[2, 1] - m[1, 2] + m[1, 1]
se <- sqrt(deviance(full) / df.residual(full) * 4 / 20)
show("interaction", exp(did), exp(did - qt(0.975, 57) * se), exp(did + qt(0.975, 57) * se), 2 * pt(-abs(did / se), 57))
cells <- split(d$y, list(d$opt, d$aslr))
v <- sapply(cells, var)
k <- mean(sapply(cells, function(z) length(z) * sum((z - mean(z))^4) / sum((z - mean(z))^2)^2))
se1 <- (k - 17 / 20) / 19
spread <- function(name, w) {
  l <- sum(w * log(v)); s <- sqrt(sum(w^2 * se1))
  show(name, exp(l), exp(l - qnorm(0.975) * s), exp(l + qnorm(0.975) * s), 2 * pnorm(-abs(l / s)))
}
spread("variance opt", c(-1, 1, -1, 1) / 2)
spread("variance opt:aslr", c(1, -1, -1, 1))
medians <- ave(d$y, d$opt, d$aslr, FUN = median)
show("Brown-Forsythe", anova(lm(abs(d$y - medians) ~ interaction(d$opt, d$aslr)))[1, "F value"],
     anova(lm(abs(d$y - medians) ~ interaction(d$opt, d$aslr)))[1, "Pr(>F)"])
e <- matrix(d$y, nrow = 4)  # cells in rows, blocks in columns
e <- e - rowMeans(e)
h <- c((e[1, ] - e[2, ]) / sqrt(2), (e[1, ] + e[2, ] - 2 * e[3, ]) / sqrt(6),
       (e[1, ] + e[2, ] + e[3, ] - 3 * e[4, ]) / sqrt(12))
lag1 <- function(x) { x <- x - mean(x); sum(x[-1] * x[-length(x)]) / sum(x^2) }
r <- c(lag1(h[1:20]), lag1(h[21:40]), lag1(h[41:60]))
z <- sum((r + 1 / 20) / sqrt(18^2 / (20^2 * 19))) / sqrt(3)
show("Helmert", sum(h^2), mean(r), 2 * pnorm(-abs(z)))

cat("# partial eta squared, the interval of the noncentral F, omega squared\n")
share <- function(f, df1, df2, alpha) {
  ncp <- function(p) uniroot(function(l) pf(f, df1, df2, l) - p, c(0, 1000), tol = 1e-12)$root
  low <- if (pf(f, df1, df2) < 1 - alpha / 2) 0 else ncp(1 - alpha / 2)
  high <- ncp(alpha / 2)
  n <- df1 + df2 + 1
  c(f * df1 / (f * df1 + df2), low / (low + n), high / (high + n), max(0, df1 * (f - 1) / (df1 * (f - 1) + n)))
}
show("F 26.42 (1, 5)", share(26.4224680723745, 1, 5, 0.1))

cat("# each term in its own stratum of the blocks; Greenhouse and Geisser's epsilon\n")
d <- programs(7, 1, 2, 3, 6)
show("checksum", sum(d$wall))
show_aov("blocks", aov(log(wall) ~ opt * aslr + Error(block / (opt * aslr)), d))
y <- tapply(log(d$wall), list(d$block, d$opt, d$aslr), mean)
paired <- function(name, x) { t <- t.test(x); show(name, exp(t$estimate), exp(t$conf.int), t$p.value) }
paired("opt 2", rowMeans(y[, 2, ]) - rowMeans(y[, 1, ]))
paired("aslr 2", rowMeans(y[, , 2]) - rowMeans(y[, , 1]))
paired("aslr 3", rowMeans(y[, , 3]) - rowMeans(y[, , 1]))
wide <- cbind(y[, 1, ], y[, 2, ])
frame <- data.frame(opt = factor(rep(1:2, each = 3)), aslr = factor(rep(1:3, 2)))
adjusted <- summary(car::Anova(lm(wide ~ 1), idata = frame, idesign = ~ opt * aslr, type = 3), multivariate = FALSE)
print(adjusted$pval.adjustments, digits = 15)
