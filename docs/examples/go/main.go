// A reverse proxy in Go whose handler asks weir first: the quota is the first part of the path.
//
//	limited SETTINGS LISTEN UPSTREAM
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.org/weir"
)

// refuse answers 429 with Retry-After to a request for which there is no room, and 503 while the
// quota's owners cannot be heard and the quota is pessimistic.
func refuse(writer http.ResponseWriter, decision weir.Decision) {
	writer.Header().Set("Retry-After", fmt.Sprint(math.Ceil(decision.RetryAfter.Seconds())))
	if decision.Quota != "" {
		writer.Header().Set("X-Weir-Quota", decision.Quota)
	}
	status := http.StatusTooManyRequests
	if decision.Isolated {
		status = http.StatusServiceUnavailable // the client has not sent too many requests
	}
	writer.WriteHeader(status)
}

// limited is a middleware.
func limited(fleet *weir.Fleet, next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		quota, _, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
		decision := fleet.Check(quota, 1, weir.Charge)
		if !decision.Admitted {
			refuse(writer, decision)
			return
		}
		defer fleet.Finish(&decision)
		next.ServeHTTP(writer, request)
	})
}

// limitedByBoth limits what is below /both/USER/SPACE by its user and by its space, or by neither.
func limitedByBoth(fleet *weir.Fleet, next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		user := "user/" + request.PathValue("user")
		space := "space/" + request.PathValue("space")
		decision := fleet.CheckMany([][]string{{user, "shared"}, {space}}, 1, weir.Charge)
		if !decision.Admitted {
			refuse(writer, decision)
			return
		}
		defer fleet.Finish(&decision)
		next.ServeHTTP(writer, request)
	})
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: limited SETTINGS LISTEN UPSTREAM")
	}
	upstream, err := url.Parse(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fleet, err := weir.Open(weir.Options{SettingsFile: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	mux.Handle("/", limited(fleet, proxy))
	mux.Handle("/both/{user}/{space}/", limitedByBoth(fleet, proxy))
	mux.HandleFunc("/weir/metrics", func(writer http.ResponseWriter, _ *http.Request) {
		text, err := fleet.Metrics()
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(writer, text)
	})
	server := &http.Server{Addr: os.Args[2], Handler: mux}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	served := make(chan struct{})
	go func() {
		<-stop.Done()
		server.Shutdown(context.Background()) // waits for the requests that are being served
		close(served)
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	<-served
	fleet.Close()
}
