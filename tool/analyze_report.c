#include "analyze_report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze_figure.h"
#include "console.h"
#include "machine.h"
#include "run_folder.h"

struct report {
    char *page_path, *list_path; /* without .tmp */
    FILE *page, *list;
    study *study; /* of the section under way; borrowed */
    int failures;
};

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Firn: the analyses</title>\n<style>\n"
    "body{font:17px/1.55 Georgia,serif;color:#222;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem}\n"
    "h1,h2,h3,b,th,figcaption,.role{font-family:system-ui,sans-serif}\n"
    "h1{font-size:2rem;margin-bottom:0}h2{margin-top:3.5rem;border-top:3px solid #0072b2;"
    "padding-top:.6rem}\n"
    ".role{float:left;clear:left;width:6.5rem;color:#0072b2;font-size:.85rem;padding-top:.15rem}\n"
    ".said{margin:0 0 1rem 7rem}figure{margin:1.5rem 0;text-align:center}\n"
    "figure svg{max-width:100%;height:auto}figcaption{font-size:.9rem;color:#444;text-align:left}\n"
    "table{border-collapse:collapse;margin:1rem 0;font-size:.92rem}\n"
    "td,th{border-bottom:1px solid #ddd;padding:.3rem .7rem;text-align:left;vertical-align:top}\n"
    ".yes{color:#007a55}.no{color:#c00;font-weight:bold}\n"
    "code{font-size:.88em}@media(max-width:40rem){.role{float:none}.said{margin-left:0}}\n"
    "</style></head><body>\n";

static FILE *open_temporary(const char *path, int *code)
{
    char *temporary = new_text("%s.tmp", path);
    FILE *file = fopen(temporary, "w");
    if (!file) {
        console_error("%s: %s", temporary, strerror(errno));
        *code = FIRN_NO_OUTPUT;
    }
    free(temporary);
    return file;
}

/* Rename when `keep`, else remove. */
static int settle(FILE *file, const char *path, bool keep)
{
    char *temporary = new_text("%s.tmp", path);
    int code = 0;
    bool good = !file || !ferror(file);
    if (file && fclose(file) != 0)
        good = false;
    if (keep && !(good && rename(temporary, path) == 0)) {
        console_error("%s: %s", path, strerror(errno));
        code = FIRN_NO_OUTPUT;
    }
    if (!keep || code)
        unlink(temporary);
    free(temporary);
    return code;
}

report *report_begin(const char *folder, bool quick)
{
    report *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->page_path = new_text("%s/report.html", folder);
    r->list_path = new_text("%s/conclusions.csv", folder);
    int code = 0;
    r->page = open_temporary(r->page_path, &code);
    r->list = open_temporary(r->list_path, &code);
    if (code) {
        report_end(&r, code);
        return NULL;
    }
    char machine[256], date[64];
    machine_text(machine);
    time_t now = time(NULL);
    strftime(date, sizeof date, "%-d %B %Y", localtime(&now));
    fprintf(
        r->page,
        "%s<h1>Snow by the material point method: what holds, and how well</h1>\n"
        "<p>Four questions about the method of Stomakhin et al. (<i>A material point method for "
        "snow simulation</i>, 2013), answered by running it: is it stable, which materials can it "
        "do, does the result depend on the resolution, and what does it cost? A master&rsquo;s "
        "thesis asked them first; where its answers differ from these, the difference is "
        "explained. Every number below was measured by <code>firn analyze%s</code>, and the data "
        "of each figure lie beside this file as CSV.</p>\n"
        "<p><small>Firn %s on %s, %s.</small></p>\n",
        HEAD, quick ? " --quick" : "", firn_version(), machine, date);
    fprintf(r->list, "study,name,value,low,high,holds\n");
    return r;
}

int report_end(report **handle, int code)
{
    report *r = *handle;
    if (!r)
        return code;
    if (r->page)
        fputs("</body></html>\n", r->page);
    int page = settle(r->page, r->page_path, code == 0);
    int list = settle(r->list, r->list_path, code == 0 && page == 0);
    free(r->page_path);
    free(r->list_path);
    free(r);
    *handle = NULL;
    return code ? code : page ? page : list;
}

void report_study(report *r, study *s, const char *title)
{
    r->study = s;
    fprintf(r->page, "<h2 id=\"%s\">%s</h2>\n", s->name, title);
}

void report_say(report *r, const char *role, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(r->page, "<div class=\"role\">%s</div><div class=\"said\">", role);
    vfprintf(r->page, format, args);
    fputs("</div>\n", r->page);
    va_end(args);
}

void report_figure(report *r, const char *name, int height, const char *csv, const char *caption,
                   const char *format, ...)
{
    if (r->study->code)
        return;
    char *script = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&script, format, args) < 0)
        abort();
    va_end(args);
    r->study->code = figure_draw(r->study->folder, name, height, script);
    free(script);
    if (r->study->code)
        return;
    fputs("<figure>\n", r->page);
    r->study->code = figure_inline(r->study->folder, name, r->page);
    fprintf(r->page, "<figcaption>%s <code>%s</code></figcaption></figure>\n", caption, csv);
}

static void print_range(FILE *out, double low, double high, const char *unit)
{
    if (isinf(high))
        fprintf(out, "at least %.4g%s", low, unit);
    else if (isinf(low))
        fprintf(out, "at most %.4g%s", high, unit);
    else
        fprintf(out, "%.4g to %.4g%s", low, high, unit);
}

void report_conclusion(report *r, const char *name, double value, double low, double high,
                       const char *unit, const char *meaning)
{
    bool holds = value >= low && value <= high;
    r->failures += !holds;
    fprintf(r->list, "%s,%s,%.10g,%.10g,%.10g,%d\n", r->study->name, name, value, low, high, holds);
    fprintf(
        r->page, "<div class=\"role %s\">%s</div><div class=\"said\">%s: <b>%.4g%s</b>, expected ",
        holds ? "yes" : "no", holds ? "&#10003; holds" : "&#10007; fails", meaning, value, unit);
    print_range(r->page, low, high, unit);
    fputs(".</div>\n", r->page);
}

int report_failures(const report *r)
{
    return r->failures;
}
