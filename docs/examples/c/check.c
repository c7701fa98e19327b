/* The smallest program: it joins a fleet, checks one request, and prints the decision.
 *
 *     cc check.c $(pkg-config --cflags --libs weir) -o check
 *     ./check QUOTA [SETTING=VALUE ...] < quotas.yaml
 */
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

static int fail(const weir_error *error) {
    fprintf(stderr, "%s: %s\n", weir_code_text(error->code), error->message);
    return 1;
}

int main(int count, char **arguments) {
    static char quotas[65536];
    static char settings[4096];
    weir_error error = WEIR_ERROR_INIT;
    weir_options options = WEIR_OPTIONS_INIT;
    weir_decision decision = {0};
    weir_fleet *fleet = NULL;
    weir_worker *worker = NULL;
    int i;

    if (weir_abi_version() != WEIR_ABI_VERSION || count < 2) {
        fprintf(stderr, "usage: check QUOTA [SETTING=VALUE ...] < quotas.yaml\n");
        return 2;
    }
    for (i = 2; i < count; ++i) {
        strncat(settings, arguments[i], sizeof settings - strlen(settings) - 2);
        strcat(settings, "\n");
    }
    quotas[fread(quotas, 1, sizeof quotas - 1, stdin)] = '\0';
    options.settings = settings;
    options.quota_document = quotas;
    if (weir_open(&options, &fleet, &error) != WEIR_OK) return fail(&error);
    if (weir_worker_open(fleet, &worker, &error) != WEIR_OK) return fail(&error);

    decision.size = sizeof decision;
    weir_check(worker, arguments[1], strlen(arguments[1]), NULL, &decision);
    printf("%s %s remaining=%.0f retry_after=%.0f\n", decision.admitted ? "admitted" : "refused",
           decision.quota, decision.remaining, decision.retry_after_seconds);
    /* Here the program does what it asked for. */
    weir_finish(worker, &decision.charge);

    weir_close(fleet); /* and its workers */
    return decision.admitted ? 0 : 3;
}
