/** What / says to whoever does not ask for HTML: a person with curl, mostly. */
export function welcomeText(origin: string): string {
  return `Rollcall: the live status service of an edge fleet. Devices report, people ask and watch, and nobody misses a change.

  in a browser   ${origin}/
  report         curl -X POST ${origin}/device/edge-1/deployment/hello/status -H 'Content-Type: application/json' -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[]}'
  ask            curl ${origin}/graphql -H 'Content-Type: application/json' -d '{"query":"{ deployments { nodes { deploymentId state } } revision }"}'
  watch          curl -N ${origin}/graphql -H 'Accept: text/event-stream' -H 'Content-Type: application/json' -d '{"query":"subscription { changes { cursor change { kind } } }"}'

  /graphql   the API, with GraphiQL where it is on
  /reports   a backlog in one request
  /healthz   is it alive       /readyz   can it work       /metrics   how it does
`
}
