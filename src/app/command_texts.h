#pragma once
// The texts around the flags in the help of the commands. Internal to app. Constants.

namespace weir::app {

inline constexpr const char* kAbout =
    "weir holds a fleet to its rate limits: a reverse proxy beside each copy of a service, all of\n"
    "which share their counts by gossip.";

inline constexpr const char* kExamples =
    "Examples:\n"
    "  weir run --upstream http://127.0.0.1:3000 --quotas limits.yaml --route '/**=shop'\n"
    "                                           limit a service, without any other file\n"
    "  weir run --config weir.yaml              serve, as the file says\n"
    "  weir run --config weir.yaml --upstream http://127.0.0.1:3000\n"
    "                                           the same in front of another service\n"
    "  weir validate --config weir.yaml         every mistake, with its place\n"
    "  weir key gossip.key                      a new key for cluster.key_file\n"
    "  weir quota list                          what is in force, and where it comes from\n"
    "  weir quota set shop/acme --rate 200r/s --why 'load test' --expires 2h\n"
    "                                           change one limit in the whole fleet\n"
    "  weir status                              health, files, peers\n"
    "Every setting has a flag and a variable: --cluster-key-file is WEIR_CLUSTER_KEY_FILE. A flag\n"
    "wins over its variable, the variable over the file. 'weir COMMAND --help' tells more.";

inline constexpr const char* kRunExamples =
    "Signals: SIGTERM finishes what is in flight and ends (a second one at once), SIGHUP reads "
    "the\n"
    "files again. Changed quota files are noticed by themselves.";

inline constexpr const char* kSetExamples =
    "Only what is named changes; before and after are shown. Examples:\n"
    "  weir quota set s3/b1 --rate 200r/s\n"
    "  weir quota set s3/b1 --low 1s --high 500r\n"
    "  weir quota set s3/b1 --rate 50MiB/s --of response-bytes\n"
    "  weir quota set s3/b1 --mode shadow --why 'watching first'\n"
    "  weir quota set s3/b1 --high default        back to the default burst\n"
    "  weir quota set s3/b1 --absent              hide the file's quota\n"
    "  weir quota set s3/b1 --expires never       a change that would expire stays\n"
    "  weir quota set --rate 5r/s -- -odd-name    -- ends the flags\n"
    "Taken back by 'weir quota rm s3/b1'.";

inline constexpr const char* kKeyExamples =
    "All sidecars of a fleet share one key: gossip is sealed with it, and whoever has it is\n"
    "trusted. A file holds one key or two; the first one seals, both are accepted. What is\n"
    "printed are ids (as `weir status`, logs and metrics show them), never a key.\n"
    "  weir key gossip.key             a new key in a new file, readable by its owner only\n"
    "  weir key --show gossip.key      the ids of its keys\n"
    "A rotation without a gap takes three steps. Bring the file to every sidecar after each (they\n"
    "notice by themselves) and wait until `weir status` shows it everywhere:\n"
    "  weir key --add gossip.key       1. a second key, accepted and not yet used\n"
    "  weir key --swap gossip.key      2. the new one seals, the old one is still accepted\n"
    "  weir key --drop gossip.key      3. the old one goes";

inline constexpr const char* kApplyExamples =
    "Only what differs changes; each quota becomes an override, 'weir quota rm' takes it back.\n"
    "  weir quota apply --dry-run --detailed-exitcode sale.yaml   what would change\n"
    "  weir quota apply sale.yaml --why 'sale' --expires 2d       for two days";

}  // namespace weir::app
