/** deploy/monitoring as it is shipped, with the real programs: promtool, prometheus and amtool. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { hasProgram, monitoring, type Prometheus, startPrometheus } from '../support/systems/prometheus.ts'

const isMissing = !(hasProgram('promtool') && hasProgram('amtool'))
const adminKey = 'an-admin-key-for-tests-only'

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}
const panels: readonly Panel[] = JSON.parse(readFileSync(join(monitoring, 'grafana-dashboard.json'), 'utf8')).panels

describe.skipIf(isMissing)('the files of deploy/monitoring', () => {
  it('are valid to the programs that read them', () => {
    const folder = temporaryFolder()
    cpSync(monitoring, folder, { recursive: true })
    writeFileSync(join(folder, 'rollcall.key'), 'a key')
    const check = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: folder, encoding: 'utf8' })
    expect(check('promtool', 'check', 'config', 'prometheus.yml')).toMatch(/SUCCESS: 2 rule files found/)
    expect(check('amtool', 'check-config', 'alertmanager.yml')).toMatch(/SUCCESS/)
  })

  it('have rules that fire when they should', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'rules.test.yml'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    })
    expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/SUCCESS/), ''])
  })
})

describe.skipIf(isMissing).each(stores)('Prometheus with deploy/monitoring, on $name', (store) => {
  let server: RunningApp
  let prometheus: Prometheus
  const ask = async (query: string) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
      body: JSON.stringify({ query }),
    })
    return (await response.json()).data
  }
  const report = (state: string) =>
    server.post('/device/edge-1/deployment/d-1/status', { deploymentId: 'd-1', status: { state }, components: [] })

  beforeAll(async () => {
    const env = { API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'open' }
    server = await startApp({ store, env })
    // The mutation that docs/operating.md shows.
    const [, body = ''] = /-d '(\{"query":"mutation \{ createApiKey.*\})'/.exec(readPage('docs/operating.md')) ?? []
    const { createApiKey } = await ask(JSON.parse(body).query)
    await ask(
      'mutation { declareDeployments(input: { rollout: { name: "spring" }, deployments: [{ deviceId: "edge-1", deploymentId: "d-1" }] }) { __typename } }',
    )
    await ask(
      'mutation { saveAlertRule(input: { name: "any failed", metric: FAILED, threshold: 1, severity: CRITICAL }) { __typename ... on UserError { message } } }',
    )
    prometheus = await startPrometheus(`127.0.0.1:${server.port}`, createApiKey.key)
  })
  afterAll(async () => {
    await prometheus.dispose()
    await server.stop()
  })

  it('is a format that promtool has nothing against', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const printed = await (await fetch(`${server.url}/metrics`, { headers })).text()
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], { input: printed, encoding: 'utf8' })
    expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' })
  })

  it('scrapes with the key, and sees the fleet as it is', async () => {
    await report('installing')
    const value = async (expression: string) => (await prometheus.query(expression))[0]?.value
    await expect.poll(() => value('rollcall_deployments{rollout="spring",state="installing"}')).toBe(1)
    await report('failed')
    await expect.poll(() => value('rollcall_deployments{rollout="spring",state="failed"}')).toBe(1)
    expect(await value('up{job="rollcall"}')).toBe(1)
    expect(await value('sum(rollcall:in_service)')).toBe(1)
    await expect.poll(async () => (await prometheus.alerts()).get('RolloutFailing')).toBe('pending')
    expect((await prometheus.alerts()).get('RollcallDown')).toBe('inactive')
  })

  it("shows the alerts of Rollcall's own rules, and raises one for each rule", async () => {
    const firing = 'max by (rule, severity) (rollcall_alerts_firing)'
    await expect
      .poll(() => prometheus.query(firing))
      .toMatchObject([{ metric: { rule: 'any failed', severity: 'critical' }, value: 1 }])
    await expect.poll(async () => (await prometheus.alerts()).get('RollcallAlertFiring')).toBe('firing')
  })

  it('can draw every panel of the dashboard', async () => {
    // A rate needs two scrapes.
    await expect
      .poll(async () => (await prometheus.query('rate(rollcall_reports_total[5m])')).length)
      .toBeGreaterThan(0)
    const expressions = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [title, expr.replaceAll('$rollout', '.*')] as const),
    )
    expect(expressions.length).toBeGreaterThan(15)
    for (const [title, expression] of expressions)
      expect([title, (await prometheus.query(expression)).length > 0]).toEqual([title, true])
  })

  it('is OpenMetrics with exemplars for a client that prefers it, and the text format for others', async () => {
    const ask = (accept: string) =>
      fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${adminKey}`, accept } })
    const send = (adoptedManifestVersion: number) =>
      server.post('/device/edge-9/deployment/d-9/status', {
        ...{ deploymentId: 'd-9', adoptedManifestVersion, status: { state: 'installing' }, components: [] },
      })
    for (const version of [2, 1]) await send(version)
    const open = await ask('application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1')
    expect(open.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    const printed = await open.text()
    expect(printed).toMatch(/# EOF\n$/)
    expect(printed).toContain('# TYPE rollcall_reports counter\n')
    expect(printed).toMatch(
      /^rollcall_reports_total\{verdict="STALE",dialect="margo\/1\.0"\} 1 # \{reporter="edge-9"\} 1 [\d.]+$/m,
    )
    expect(printed).toMatch(/^rollcall_commit_seconds_bucket\{le="[^"]+"\} \d+ # \{revision="\d+"\} [\d.e-]+ [\d.]+$/m)
    for (const accept of ['*/*', 'text/plain', 'application/openmetrics-text;q=0.1, text/plain', 'application/json']) {
      const text = await ask(accept)
      expect([accept, text.headers.get('content-type')]).toEqual([accept, 'text/plain; version=0.0.4; charset=utf-8'])
      expect(await text.text()).toMatch(/^rollcall_reports_total\{verdict="STALE",dialect="margo\/1\.0"\} 1$/m)
    }
  })

  it('keeps the exemplars', async () => {
    const exemplars = () => prometheus.exemplars('rollcall_reports_total')
    await expect.poll(exemplars).toContainEqual({ reporter: 'edge-9' })
  })
})
