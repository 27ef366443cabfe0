/** The first steps that the server prints in a terminal: commands that work here, in order. */

interface FirstStepsAuth {
  readonly device: { readonly methods: readonly string[] }
  readonly api: { readonly methods: readonly string[] }
}

/** `watch` shows the earlier report and each later one. */
export function firstSteps(url: string, { device, api }: FirstStepsAuth, graphiql: boolean): string {
  const isOpen = api.methods.includes('open')
  const json = `-H 'Content-Type: application/json'`
  const caller = isOpen ? '' : ` -H 'Authorization: Bearer <key>'`
  const reporter = device.methods.includes('open') ? '' : ` -H 'Authorization: Bearer <token>'`
  const watched = `{"query":"subscription { deployment(deploymentId: \\"hello\\") { deployment { state } } }"}`
  const keys = isOpen ? '' : '\n  <key>    the value of API_ADMIN_KEY, a key of createApiKey, or a JWT'
  const tokens =
    reporter === '' ? '' : '\n  <token>  from registerDevices; other ways to authenticate: docs/device-identity.md'
  return `
Look:    ${url}/${graphiql ? `        GraphiQL: ${url}/graphql` : ''}

Try, in another terminal:
  report   curl ${url}/device/edge-1/deployment/hello/status${reporter} ${json} -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[]}'
  watch    curl -N ${url}/graphql -H 'Accept: text/event-stream'${caller} ${json} -d '${watched}'
  query    curl ${url}/graphql${caller} ${json} -d '{"query":"{ deployments { nodes { deploymentId state } } revision }"}'${keys}${tokens}
`
}
