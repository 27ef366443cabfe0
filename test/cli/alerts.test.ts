import { describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { isRollout } from '../../src/apps/cli/selection.ts'
import { report, rollcall, useServer } from './harness.ts'

describe('rollcall alerts', () => {
  const server = useServer({ timeouts: { ...defaultTimeouts, duties: 200 } })

  it('lists what fires, and wait --no-alerts fails for it', async () => {
    const none = rollcall('alerts')
    expect(await none.ended).toBe(0)
    expect(none.lines).toEqual(['No alerts.'])
    const quiet = rollcall('wait', '--deployment', 'fine', '--for', 'installed', '--no-alerts')
    await report('fine', 'installed')
    expect(await quiet.ended).toBe(0)

    await server().query(
      'mutation { saveAlertRule(input: { name: "too few", metric: FAILED, threshold: 1, severity: CRITICAL }) { __typename } }',
    )
    await report('broken', 'failed', { code: '507', message: 'disk full' })
    const firing = '{ alerts(filter: { states: [FIRING] }) { totalCount } }'
    await expect.poll(async () => (await server().query(firing)).alerts.totalCount).toBe(1)

    const listed = rollcall('alerts')
    expect(await listed.ended).toBe(0)
    expect(listed.lines[1]).toMatch(/^critical +firing +too few +- +\d{4}-.*Z +- +Failed: 1 \(threshold 1\)$/)
    const json = rollcall('alerts', '--all', '--json')
    expect(await json.ended).toBe(0)
    expect(json.lines.map((line) => JSON.parse(line))).toMatchObject([{ rule: 'too few', state: 'FIRING' }])
    const refused = rollcall('wait', '--deployment', 'fine', '--for', 'installed', '--no-alerts')
    expect(await refused.ended).toBe(1)
    expect(refused.lines.join('\n')).toContain('alert: too few (critical): Failed: 1 (threshold 1)')
    const metrics = await (await fetch(`${server().url}/metrics`)).text()
    expect(metrics).toContain('rollcall_alerts_firing{rule="too few",severity="critical"} 1')
  })

  it('does not count alerts of a rollout of the same name in another application', async () => {
    const key = { name: 'east', project: 'vfw', compositeApp: 'firewall', compositeAppVersion: 'v1', provider: null }
    const wanted = { name: 'east', project: 'vfw', compositeApp: 'firewall', compositeAppVersion: 'v1' }
    expect(isRollout(wanted, key)).toBe(true)
    expect(isRollout(wanted, { ...key, compositeApp: 'proxy' })).toBe(false)
    expect(isRollout({ name: 'east' }, key)).toBe(false)
  })
})
