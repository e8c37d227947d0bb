#!/usr/bin/env Rscript
# SPDX-License-Identifier: MIT
# Computes the numbers in the evaluation's tables again from its CSV files, without stabctl, and compares them with the
# tables in doc/evaluation.md:
#
#   bench/evaluation/recompute.R [--results FOLDER] [--page FILE] [PART...]
#
# It prints how many numbers it compared, and how many of them differ by more than their last digit. If any number does,
# it exits with 1. It compares the limits of an interval only if stabctl found no correlation between blocks, because
# only such limits come from Student's t distribution.
args <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", args, value = TRUE)[1])))
parts <- commandArgs(trailingOnly = TRUE)
option <- function(name, default) {
  at <- match(name, parts)
  if (is.na(at)) return(default)
  value <- parts[at + 1]
  parts <<- parts[-c(at, at + 1)]
  value
}
results <- option("--results", file.path(here, "results"))
page <- readLines(option("--page", file.path(here, "../../doc/evaluation.md")))
known <- sub("^<!-- show (.*) -->$", "\\1", grep("^<!-- show .* -->$", page, value = TRUE))
if (!length(parts)) parts <- known
compared <- different <- limits <- apart <- 0

rows_of <- function(part) {
  files <- Sys.glob(file.path(results, paste0(part, ".*.csv")))
  tables <- lapply(files, read.csv, colClasses = c(seed = "character", layout_seed = "character"))
  all <- do.call(rbind, tables)
  all$compared <- if (is.null(all$relative_cpu)) all$cpu_ns else all$relative_cpu
  all[tolower(all$last) == "true" & tolower(all$warmup) == "false" & all$status == "ok", ]
}
table_of <- function(part) {
  from <- match(paste("<!-- show", part, "-->"), page)
  to <- from + match("<!-- end -->", page[from:length(page)]) - 2
  lines <- grep("^\\|", page[from:to], value = TRUE)
  cells <- lapply(strsplit(lines, "|", fixed = TRUE), function(x) trimws(x[-1]))
  cells[-(1:2)]
}
compare <- function(who, ours, theirs, step) {
  compared <<- compared + 1
  if (is.na(ours) != is.na(theirs) || (!is.na(ours) && abs(ours - theirs) > 0.5001 * step + 1e-9)) {
    different <<- different + 1
    cat(who, ": R has", ours, "and the table has", theirs, "\n")
  }
}
number <- function(text) suppressWarnings(as.numeric(sub(" .*$", "", sub("^< ", "", text))))

# A p-value as the tables show it: NA if the values can't be tested.
shown <- function(p) if (is.na(p)) NA else max(p, 1e-4)
shapiro <- function(values) if (length(values) < 3 || length(unique(values)) < 2) NA else shapiro.test(values)$p.value
welch <- function(a, b) if (var(a) == 0 && var(b) == 0) as.numeric(mean(a) == mean(b)) else t.test(a, b)$p.value

brown_forsythe <- function(values, group) {
  if (length(unique(group)) < 2) return(NA)
  distances <- abs(values - ave(values, group, FUN = median))
  anova(lm(distances ~ factor(group)))[1, "Pr(>F)"]
}
normality <- function(part) {
  all <- rows_of(part)
  periods <- c("3600000ms", "500ms", "15ms")
  for (row in table_of(part)) {
    own <- all[all$benchmark == row[1], ]
    for (i in 1:3) {
      values <- own$compared[own$period == periods[i]]
      compare(paste(part, row[1], periods[i]), shown(shapiro(values)), number(row[2 + i]), 1e-4)
      compare(paste(part, row[1], "sd"), 100 * sd(values) / mean(values), number(row[6 + i]), 0.01)
    }
    compare(paste(part, row[1], "spread"), shown(brown_forsythe(own$compared, own$period)), number(row[6]), 1e-4)
  }
}
# step: the change from one arm to another in percent, from the logarithms of the blocks that have both.
step <- function(who, own, from, to, cell) {
  a <- tapply(log(own$compared[own$arm == from]), own$block[own$arm == from], mean)
  b <- tapply(log(own$compared[own$arm == to]), own$block[own$arm == to], mean)
  both <- intersect(names(a), names(b))
  d <- b[both] - a[both]
  compare(who, 100 * (exp(mean(d)) - 1), number(cell), 0.01)
  printed <- as.numeric(regmatches(cell, gregexpr("[-+][0-9.]+", cell))[[1]])
  if (length(printed) < 3 || length(d) < 2) return(invisible())
  t <- 100 * (exp(mean(d) + c(-1, 1) * qt(0.975, length(d) - 1) * sd(d) / sqrt(length(d))) - 1)
  limits <<- limits + 1
  if (any(abs(t - printed[2:3]) > 0.00501)) apart <<- apart + 1
}
steps <- function(part, all, pairs) {
  for (row in table_of(part)) {
    own <- all[all$benchmark == row[1], ]
    for (i in seq_along(pairs)) if (nrow(own)) step(paste(part, row[1], pairs[[i]][2]), own, pairs[[i]][1], pairs[[i]][2], row[1 + i])
  }
  # The suite's answer: the mean over programs of their own mean changes, in blocks that have all arms. A program needs two
  # such blocks.
  arms <- unique(unlist(pairs))
  for (row in table_of(part)) if (grepl("these programs\\*\\*$|like these\\*\\*$", row[1])) for (i in seq_along(pairs)) {
    by_program <- tapply(seq_len(nrow(all)), all$benchmark, function(at) {
      own <- all[at, ]
      in_block <- tapply(own$arm, own$block, function(x) sum(arms %in% x))
      complete <- names(in_block)[in_block == length(arms)]
      if (length(complete) < 2) return(NA)
      own <- own[own$block %in% complete, ]
      mean(log(own$compared[own$arm == pairs[[i]][2]])) - mean(log(own$compared[own$arm == pairs[[i]][1]]))
    })
    compare(paste(part, row[1], pairs[[i]][2]), 100 * (exp(mean(by_program, na.rm = TRUE)) - 1), number(row[1 + i]), 0.01)
  }
}
overhead <- function(part) {
  all <- rows_of(part)
  on <- function(name) tolower(all[[name]]) == "true"
  all$arm <- ifelse(all$compiler == "clang", "clang", paste0(ifelse(on("code"), "c", ""), ifelse(on("stack"), "s", ""), ifelse(on("heap"), "h", "")))
  arms <- Filter(function(arm) arm %in% all$arm, c("", "c", "s", "h", "cs", "ch", "sh", "csh"))
  steps(part, all, lapply(arms, function(arm) c("clang", arm)))
}
levels_part <- function(part) {
  all <- rows_of(part)
  all$arm <- all$opt
  steps(part, all, if ("O1" %in% all$opt) list(c("O1", "O2"), c("O2", "O3")) else list(c("O2", "O3")))
}
bias <- function(part) {
  all <- rows_of(part)
  all$level <- all[[if (grepl("^bias_", part)) sub("^bias_", "", part) else "layout"]]
  for (row in table_of(part)) {
    own <- all[all$benchmark == row[1], ]
    lists <- Filter(function(x) length(x) > 1, split(own$compared, own$level))
    own <- own[own$level %in% names(lists), ]
    in_block <- table(own$block)
    own <- own[own$block %in% names(in_block)[in_block == length(lists)], ]
    blocks <- length(unique(own$block))
    if (length(lists) < 2 || blocks < 2) {
      for (i in 2:6) compare(paste(part, row[1]), NA, number(row[i]), 1)
      next
    }
    means <- tapply(own$compared, own$level, mean)
    # The error without the differences between blocks, which all levels share.
    error <- anova(lm(compared ~ factor(level) + factor(block), own))["Residuals", "Mean Sq"]
    luck <- max(0, var(means) - error / blocks)
    compare(paste(part, row[1], "luck"), 100 * sqrt(luck) / mean(means), number(row[2]), 0.01)
    compare(paste(part, row[1], "range"), 100 * (max(means) / min(means) - 1), number(row[3]), 0.01)
    compare(paste(part, row[1], "runs"), 100 * sqrt(mean(sapply(lists, var))) / mean(means), number(row[4]), 0.01)
    pairs <- combn(length(lists), 2)
    p <- apply(pairs, 2, function(pair) welch(lists[[pair[1]]], lists[[pair[2]]]))
    compare(paste(part, row[1], "share"), if (luck + error > 0) 100 * luck / (luck + error) else 0, number(row[5]), 1)
    compare(paste(part, row[1], "pairs"), 100 * mean(p < 0.05), number(row[6]), 0.1)
  }
}
cheap <- function(part) {
  plans <- c("cheap_fixed", "cheap_padding", "cheap_lld", "cheap_layouts")
  for (k in 1:4) {
    all <- rows_of(plans[k])
    for (row in table_of(part)) {
      own <- all[all$benchmark == row[1], ]
      if (!nrow(own)) next
      values <- tapply(log(own$compared), list(own$block, own$link_order), mean)
      values <- values[complete.cases(values), , drop = FALSE]
      if (nrow(values) < 2 || ncol(values) < 2) next
      pairs <- combn(ncol(values), 2)
      size <- min(20, nrow(values))
      p <- spread <- c()
      for (i in seq_len(ncol(pairs))) {
        changes <- values[, pairs[2, i]] - values[, pairs[1, i]]
        spread <- c(spread, var(changes))
        for (from in seq(1, length(changes) - size + 1, by = size)) {
          here <- changes[from + seq_len(size) - 1]
          p <- c(p, if (var(here) == 0) as.numeric(mean(here) == 0) else t.test(here)$p.value)
        }
      }
      luck <- var(colMeans(values)) - mean(spread) / 2 / nrow(values)
      build <- if (k %in% 2:3) own$link_ns[1] / 1e9 else 0
      once <- if (k %in% 2:3) 0 else own$link_ns[1] / 1e9
      runs <- 2 + (qnorm(0.975) + qnorm(0.8))^2 * mean(spread) / log(1.01)^2
      name <- paste(part, row[1], plans[k])
      compare(paste(name, "wrong"), 100 * mean(p < 0.05), number(row[3 * k - 1]), 1)
      compare(paste(name, "luck"), 100 * sqrt(max(0, luck)), number(row[3 * k]), 0.01)
      compare(paste(name, "minutes"), 2 * (runs * (mean(own$wall_ns) / 1e9 + build) + once) / 60, number(row[3 * k + 1]), 0.1)
    }
  }
}
layouts_again <- function(part) {
  first <- rows_of("layouts")
  all <- rows_of(part)
  on <- function(name) tolower(all[[name]]) == "true"
  all$part <- paste0(ifelse(on("code"), "c", ""), ifelse(on("stack"), "s", ""), ifelse(on("heap"), "h", ""))
  for (row in table_of(part)) {
    runs <- first[first$benchmark == row[1], ]
    runs <- runs[order(runs$compared), ]
    compare(paste(part, row[1], "chosen"), 100 * (runs$compared[nrow(runs)] / runs$compared[1] - 1), number(row[2]), 0.01)
    kinds <- c("csh", "c", "s", "h")
    for (i in 1:4) {
      own <- all[all$benchmark == row[1] & all$part == kinds[i], ]
      own$arm <- ifelse(own$layout == runs$layout[1], "fastest", "slowest")
      step(paste(part, row[1], kinds[i]), own, "fastest", "slowest", row[2 + i])
    }
  }
}
for (part in parts) {
  if (part == "normality") normality(part)
  else if (grepl("^overhead", part)) overhead(part)
  else if (grepl("^(bias|alone)_", part)) bias(part)
  else if (part == "cheap") cheap(part)
  else if (part == "layouts_again") layouts_again(part)
  else levels_part(part)
}
cat(compared, "numbers compared,", different, "differ;", limits, "intervals,", apart, "of them not Student's of the blocks alone\n")
quit(status = as.integer(different > 0))
