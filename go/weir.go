// Package weir makes a Go program a member of a weir fleet (cgo over libweir.so).
//
// A Fleet may be used by any goroutine. It has as many of the library's workers as goroutines can
// check at the same moment; each check uses a free one, which costs little. No check waits for the
// network.
package weir

// #cgo pkg-config: weir
// #include <stdlib.h>
// #include <weir/weir.h>
//
// // The texts of all names lie one after the other, because Go may not hand over pointers to
// // memory with pointers in it.
// static int32_t check_many(weir_worker* worker, const char* texts, const size_t* lengths,
//                           const size_t* counts, size_t lists, const weir_request* request,
//                           weir_decision* decision) {
//     weir_name names[WEIR_MOST_NAMES];
//     weir_name_list raw[WEIR_MOST_LISTS];
//     size_t named = 0;
//     for (size_t i = 0; i < lists; ++i) {
//         raw[i].names = names + named;
//         raw[i].count = counts[i];
//         for (size_t j = 0; j < counts[i]; ++j, ++named) {
//             names[named].text = texts;
//             names[named].length = lengths[named];
//             texts += lengths[named];
//         }
//     }
//     return weir_check_many(worker, raw, lists, request, decision);
// }
import "C"

import (
	"errors"
	"runtime"
	"time"
	"unsafe"
)

// Options are weir_options; empty strings mean nothing.
type Options struct {
	SettingsFile  string
	Settings      string // lines "key = value"
	QuotaDocument string
}

// Mode says what a check does.
type Mode int32

const (
	Charge               Mode = C.WEIR_CHARGE
	Peek                 Mode = C.WEIR_PEEK
	ChargeWithoutJudging Mode = C.WEIR_CHARGE_WITHOUT_JUDGING
)

// Decision is the result of a check.
type Decision struct {
	Admitted   bool
	Quota      string // set when refused and not hidden
	Remaining  float64
	RetryAfter time.Duration
	Wait       time.Duration // until it would be admitted for certain, if nobody else is; below 0: unknown
	Isolated   bool          // refused because the fleet cannot be heard and the quota is pessimistic
	AboveShare bool // refused because it asks for more than its share of a quota that sheds fairly
	charge     C.weir_charge
}

// Fleet is this process's membership.
type Fleet struct {
	fleet   *C.weir_fleet
	workers chan *C.weir_worker
}

// Open reads settings and quotas and joins the fleet.
func Open(options Options) (*Fleet, error) {
	if C.weir_abi_version() != C.WEIR_ABI_VERSION {
		return nil, errors.New("libweir.so speaks another version of the interface")
	}
	var raw C.weir_options
	raw.size = C.sizeof_weir_options
	for _, given := range []struct {
		text  string
		field **C.char
	}{
		{options.SettingsFile, &raw.settings_file},
		{options.Settings, &raw.settings},
		{options.QuotaDocument, &raw.quota_document},
	} {
		if given.text != "" {
			*given.field = C.CString(given.text)
			defer C.free(unsafe.Pointer(*given.field))
		}
	}
	failure := C.weir_error{size: C.sizeof_weir_error}
	var fleet *C.weir_fleet
	if C.weir_open(&raw, &fleet, &failure) != C.WEIR_OK {
		return nil, errors.New(C.GoString(&failure.message[0]))
	}
	opened := &Fleet{fleet: fleet, workers: make(chan *C.weir_worker, workerCount())}
	for len(opened.workers) < cap(opened.workers) {
		var worker *C.weir_worker
		if C.weir_worker_open(fleet, &worker, &failure) != C.WEIR_OK {
			opened.Close()
			return nil, errors.New(C.GoString(&failure.message[0]))
		}
		opened.workers <- worker
	}
	return opened, nil
}

func workerCount() int { return min(runtime.GOMAXPROCS(0), 64) }

// Close says goodbye to the fleet. No check may be running.
func (fleet *Fleet) Close() {
	C.weir_close(fleet.fleet)
	fleet.fleet = nil
}

// Check decides about one request of this weight under the quota and all quotas above it.
func (fleet *Fleet) Check(quota string, weight float64, mode Mode) Decision {
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	request := requestOf(weight, mode)
	raw := C.weir_decision{size: C.sizeof_weir_decision}
	name := unsafe.StringData(quota + "\x00")
	C.weir_check(worker, (*C.char)(unsafe.Pointer(name)), C.size_t(len(quota)), &request, &raw)
	return decisionOf(&raw)
}

// CheckMany decides about one request to which several quotas apply that are no parents of each
// other: of each list the first quota that exists, and all quotas above these. It is charged to all
// or none. There may be 4 lists with 16 names in all; a request with more is admitted unchecked.
func (fleet *Fleet) CheckMany(lists [][]string, weight float64, mode Mode) Decision {
	var texts []byte
	var lengths [C.WEIR_MOST_NAMES]C.size_t
	var counts [C.WEIR_MOST_LISTS]C.size_t
	named := 0
	for i, list := range lists {
		if i == len(counts) || named+len(list) > len(lengths) {
			return Decision{Admitted: true}
		}
		counts[i] = C.size_t(len(list))
		for _, name := range list {
			texts = append(texts, name...)
			lengths[named] = C.size_t(len(name))
			named++
		}
	}
	texts = append(texts, 0)
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	request := requestOf(weight, mode)
	raw := C.weir_decision{size: C.sizeof_weir_decision}
	C.check_many(worker, (*C.char)(unsafe.Pointer(&texts[0])), &lengths[0], &counts[0],
		C.size_t(len(lists)), &request, &raw)
	return decisionOf(&raw)
}

func requestOf(weight float64, mode Mode) C.weir_request {
	return C.weir_request{
		size: C.sizeof_weir_request, mode: C.int32_t(mode),
		requests: C.double(weight), cost: C.double(weight),
	}
}

func decisionOf(raw *C.weir_decision) Decision {
	decision := Decision{
		Admitted:   raw.admitted != 0,
		Remaining:  float64(raw.remaining),
		RetryAfter: time.Duration(float64(raw.retry_after_seconds) * float64(time.Second)),
		Wait:       time.Duration(float64(raw.wait_seconds) * float64(time.Second)),
		Isolated:   raw.reason == C.WEIR_REASON_ISOLATED,
		AboveShare: raw.reason == C.WEIR_REASON_ABOVE_SHARE,
		charge:     raw.charge,
	}
	if !decision.Admitted && raw.hidden == 0 {
		decision.Quota = C.GoStringN(raw.quota, C.int(raw.quota_length))
	}
	return decision
}

// Grant is the result of Obtain.
type Grant struct {
	Granted float64
	Decision
}

// Obtain takes as many of the wanted units as the quota and all quotas above it have free, at least
// minimum of them or nothing. A unit is one request of cost 1.
func (fleet *Fleet) Obtain(quota string, wanted, minimum float64) Grant {
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	raw := C.weir_decision{size: C.sizeof_weir_decision}
	name := unsafe.StringData(quota + "\x00")
	var granted C.double
	C.weir_obtain(worker, (*C.char)(unsafe.Pointer(name)), C.size_t(len(quota)), nil,
		C.double(wanted), C.double(minimum), &raw, &granted)
	return Grant{Granted: float64(granted), Decision: decisionOf(&raw)}
}

// Return gives back units that were obtained and not used.
func (fleet *Fleet) Return(grant *Grant, unused float64) {
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	C.weir_return(worker, &grant.charge, C.double(unused))
}

// Finish says that the request has ended: limits of requests in flight do not count it any more. To
// be called once for every admitted request, also with the Decision of a Grant.
func (fleet *Fleet) Finish(decision *Decision) {
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	C.weir_finish(worker, &decision.charge)
}

// Refund gives the charge back, because the request never reached its service, and finishes it.
func (fleet *Fleet) Refund(decision *Decision) {
	worker := <-fleet.workers
	defer func() { fleet.workers <- worker }()
	C.weir_refund(worker, &decision.charge)
}

// LivePeers counts the other members that are alive.
func (fleet *Fleet) LivePeers() int { return int(C.weir_live_peers(fleet.fleet)) }

// Metrics returns the metrics in Prometheus' text format.
func (fleet *Fleet) Metrics() (string, error) {
	failure := C.weir_error{size: C.sizeof_weir_error}
	var text *C.char
	var length C.size_t
	if C.weir_metrics(fleet.fleet, &text, &length, &failure) != C.WEIR_OK {
		return "", errors.New(C.GoString(&failure.message[0]))
	}
	defer C.weir_free(text)
	return C.GoStringN(text, C.int(length)), nil
}
