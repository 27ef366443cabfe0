/** Messages of assistants: tools with arguments that are right, wrong, far away or of another tool, and what is no message. */
import type { Random } from './random.ts'

const eras = ['2026-07-28', '2025-11-25', '2024-11-05', '1999-01-01', '']
const tools = [
  ...['what_is_wrong', 'rollout', 'deployment', 'device', 'search', 'changes_between', 'state_at', 'wait_for_rollout'],
  ...['acknowledge_alert', 'retire_devices', 'plan_maintenance', 'declare_deployments', '__proto__', ''],
]
const texts = ['edge-7', 'd-1', 'r', '', '\0', '\ud83d', '⟧', 'x'.repeat(300), 'Um9sbG91dDox']
const times = ['2026-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '0001-01-01T00:00:00+23:59', 'yesterday']
const uris = [
  'rollcall://schema',
  'rollcall://docs/mqtt',
  'rollcall://docs/..%2F..',
  'rollcall://rollout/%ff',
  'rollcall://device/%00',
  'file:///etc/passwd',
  'x',
]
const methods = [
  'tools/call',
  'tools/call',
  'tools/call',
  'tools/list',
  'resources/read',
  'resources/list',
  'prompts/get',
  'initialize',
  'server/discover',
  'subscriptions/listen',
  'notifications/cancelled',
  'ping',
  'tasks/get',
  '',
]

/** `timeoutSeconds`: a tool that waits does so for a second. */
function argumentsOf(random: Random): object {
  const text = () => random.choose<unknown>(random.chance(80) ? texts : [7, null, {}, ['x'], true])
  const time = () => random.choose<unknown>(times)
  const all: readonly (readonly [string, () => unknown])[] = [
    ...(['rollout', 'deployment', 'device', 'text', 'alert', 'reason', 'confirm', 'siteLabel'] as const).map(
      (name) => [name, text] as const,
    ),
    ...(['at', 'from', 'to'] as const).map((name) => [name, time] as const),
    ['limit', () => random.choose<unknown>([1, 50, 51, 0, -1, 1.5, '5', 1e308])],
    ['devices', () => random.choose<unknown>([['edge-7'], [], 'edge-7', Array(101).fill('x')])],
    ['deployments', () => random.choose<unknown>([[{ deploymentId: 'd-1', deviceId: 'edge-7' }], [], [{}]])],
    ['tolerate', () => random.choose<unknown>([0, -1, 1e9])],
  ]
  const chosen = all.filter(() => random.chance(25)).map(([name, make]) => [name, make()] as const)
  return { ...Object.fromEntries(chosen), timeoutSeconds: 1 }
}

const deep = (levels: number): object => (levels === 0 ? {} : { deep: deep(levels - 1) })
const ids = [1, 'a', null, {}, 1.5, 9_007_199_254_740_993n.toString(), -1, '', true, [1], 'x'.repeat(100_000)]
/** Of pages of other sites, other servers, and sessions, which this server has none of. */
const strange: readonly Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'x'.repeat(5_000) },
  { host: 'evil.example' },
  { host: '' },
  { 'mcp-session-id': '1'.repeat(1_000) },
  { 'last-event-id': '-1' },
  { 'mcp-protocol-version': '2026-07-28, 2025-11-25' },
  { accept: 'text/event-stream;q=0, */*;q=9' },
  { 'mcp-param-x': '=?base64?//8=?=' },
]

/** With the headers that repeat parts of it. */
export function randomMessage(random: Random): { readonly headers: Record<string, string>; readonly body: unknown } {
  const [era, method, tool, uri] = [
    random.choose(eras),
    random.choose(methods),
    random.choose(tools),
    random.choose(uris),
  ]
  const isModern = era === '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': random.chance(90) ? era : '2025-11-25',
    'io.modelcontextprotocol/clientInfo': { name: 'an attacker', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const own =
    method === 'tools/call'
      ? { name: tool, arguments: argumentsOf(random) }
      : method === 'resources/read'
        ? { uri }
        : method === 'prompts/get'
          ? { name: 'why-is-this-rollout-failing', arguments: { rollout: random.choose(texts) } }
          : {}
  const params = random.chance(95)
    ? { ...own, _meta: { ...(isModern && meta), progressToken: random.choose<unknown>([1, 'a', null]) } }
    : random.choose<unknown>([null, [], 'x', deep(60), deep(5_000), { pad: 'x'.repeat(300_000) }])
  const body = {
    jsonrpc: random.choose(['2.0', '2.0', '2.0', '2.0', '1.0']),
    id: random.choose<unknown>(random.chance(80) ? ids.slice(0, 2) : ids),
    method,
    params,
  }
  const headers = {
    accept: random.chance(95) ? 'application/json, text/event-stream' : 'text/html',
    ...(era !== '' && { 'mcp-protocol-version': era }),
    ...(random.chance(95) && { 'mcp-method': method }),
    ...(random.chance(95) && { 'mcp-name': method === 'resources/read' ? uri : tool }),
    ...(random.chance(5) && random.choose(strange)),
  }
  return {
    headers,
    body: random.chance(97)
      ? body
      : random.choose<unknown>([[body], Array(500).fill({ ...body, id: 1, params: own }), [], null, 7]),
  }
}
