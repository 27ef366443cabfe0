/** Of what kind an input is, for the figures of a run: by the part of the server that answers it. */
import type { Input } from './inputs.ts'

const kinds: readonly (readonly [kind: string, path: RegExp])[] = [
  ['a report', /\/deployments?\/[^/]*\/status/],
  ['a backlog', /^\/reports\b/],
  ['desired state', /^\/(git|api\/v1\/(clients\/[^/]*\/)?deployments)\b/],
  ['a device', /^\/api\/v1\/(onboarding|clients)\b/],
  ['an orchestrator', /^\/(v1|v2|api\/cnf-adapter)\//],
  ['an export', /^\/export\//],
  ['an assistant', /^\/mcp\b/],
  ['a sign-in', /^\/session\b/],
  ['health and metrics', /^\/(readyz|metrics)\b/],
]

export function kindOf(input: Input): string {
  switch (input.kind) {
    case 'rest':
      return kinds.find(([, path]) => path.test(input.path))?.[0] ?? 'a page'
    case 'operation':
      return `GraphQL over ${input.over}`
    case 'sign-in':
      return 'a sign-in'
    case 'mqtt':
      return 'MQTT'
    case 'frame':
      return 'a frame'
    default:
      return input satisfies never
  }
}
