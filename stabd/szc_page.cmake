# SPDX-License-Identifier: MIT
# szc's own help as a manual page: -DSZC=PROGRAM -DPAGE=FILE. Its first line says what it is.
execute_process(COMMAND ${SZC} --stab-help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\e" help "${help}")
string(REPLACE "-" "\\-" help "${help}")
string(REPLACE "'" "\\(aq" help "${help}")
string(REPLACE "\"" "\\(dq" help "${help}")
string(REPLACE "\n." "\n\\&." help "${help}")
string(REGEX MATCH "^[^:]*: ([^\n]*)\\.\n(.*)$" matched "${help}")
if(NOT matched)
  message(FATAL_ERROR "the help of szc has no first line 'NAME: what it is.'")
endif()
file(WRITE ${PAGE} ".TH SZC 1\n.SH NAME\nszc, szc++ \\- ${CMAKE_MATCH_1}\n.SH SYNOPSIS\n\\fBszc\\fR [OPTIONS OF CLANG] FILE ...\n.SH DESCRIPTION\n.EX\n${CMAKE_MATCH_2}.EE\n.SH SEE ALSO\n.BR stabctl (1)\n")
