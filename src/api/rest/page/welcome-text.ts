/** The text of / for a client that does not accept HTML, such as curl. */
export function welcomeText(origin: string): string {
  return `Rollcall: the live status service of an edge fleet. Devices report. Clients query the status and subscribe to every change.

  in a browser   ${origin}/
  report         curl -X POST ${origin}/device/edge-1/deployment/hello/status -H 'Content-Type: application/json' -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[]}'
  query          curl ${origin}/graphql -H 'Content-Type: application/json' -d '{"query":"{ deployments { nodes { deploymentId state } } revision }"}'
  subscribe      curl -N ${origin}/graphql -H 'Accept: text/event-stream' -H 'Content-Type: application/json' -d '{"query":"subscription { changes { cursor change { kind } } }"}'

  /graphql   the API, with GraphiQL where it is on
  /reports   a backlog in one request
  /healthz   liveness          /readyz   readiness         /metrics   metrics
  /version   the version of this server
  /openapi.json   all routes, where INTROSPECTION is on      /asyncapi.json   MQTT, subscriptions and webhooks
`
}
