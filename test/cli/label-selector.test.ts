/** `--selector` of lists of rollouts, devices and resources. */
import { describe, expect, it } from 'vitest'
import { isWhole } from '../support/runner/depth.ts'
import { newContext, newGroup, shownDeployment } from '../support/systems/emco.ts'
import { declare, rollcall, useServer } from './harness.ts'

describe('rollcall get with a label selector', () => {
  const server = useServer()

  const listed = async (field: string, ...args: readonly string[]): Promise<string[]> => {
    const child = rollcall('get', ...args, '--json')
    expect(await child.ended).toBe(0)
    return child.lines.map((line) => JSON.parse(line)[field]).sort()
  }

  it('lists the rollouts and devices that all of its conditions select', async () => {
    await server().query(`mutation { registerDevices(input: { devices: [
      { deviceId: "edge-m-1", labels: [{ key: "site", value: "munich" }, { key: "env", value: "prod" }] }
      { deviceId: "edge-m-2", labels: [{ key: "site", value: "munich" }, { key: "env", value: "dev" }] }
      { deviceId: "edge-o-1", labels: [{ key: "site", value: "oslo" }] }
    ] }) { __typename } }`)
    await declare('prod', 'm-1')
    await declare('dev', 'm-2')
    await declare('north', 'o-1')
    expect(await listed('name', 'rollouts', '-l', 'site=munich,env!=dev')).toEqual(['prod'])
    expect(await listed('name', 'rollouts', '-l', 'site in (munich,oslo)')).toEqual(['dev', 'north', 'prod'])
    expect(await listed('name', 'rollouts', '--label', 'site=oslo')).toEqual(['north'])
    expect(await listed('deviceId', 'devices', '-l', 'site=munich,env!=dev')).toEqual(['edge-m-1'])
    expect(await listed('deviceId', 'devices', '-l', '!env')).toEqual(['edge-o-1'])
  })

  it.runIf(isWhole)('lists rollouts by their own labels, and shows these', async () => {
    await server().query(`mutation { declareDeployments(input: {
      rollout: { name: "lines", labels: [{ key: "team", value: "packaging" }, { key: "ring", value: "canary" }] }
      deployments: [{ deviceId: "edge-l-1", deploymentId: "lines" }]
    }) { __typename } }`)
    expect(await listed('name', 'rollouts', '--rollout-selector', 'team=packaging,ring in (canary)')).toEqual(['lines'])
    expect(await listed('name', 'rollouts', '--rollout-selector', 'team=packaging', '-l', 'site=munich')).toEqual([])
    expect(await listed('name', 'rollouts', '--rollout-selector', '!team')).not.toContain('lines')
    const child = rollcall('get', 'rollout', 'lines')
    expect(await child.ended).toBe(0)
    expect(child.lines).toEqual(['lines', 'ring=canary, team=packaging', '1 deployment: 1 pending'])
    expect(await rollcall('get', 'devices', '--rollout-selector', 'team=packaging').ended).toBe(64)
  })

  it.runIf(isWhole)('lists resources', async () => {
    const emco = newGroup(server())
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 'web' }, { name: 'db' }])
    await emco.show(context, { deploymentStatuses: [shownDeployment('web')] })
    expect(await listed('name', 'resources')).toEqual(['db', 'web'])
    expect(await listed('name', 'resources', '-l', '!site')).toEqual(['db', 'web'])
    expect(await listed('name', 'resources', '-l', 'site=munich,env!=dev')).toEqual([])
    const child = rollcall('get', 'resources', '--limit', '1')
    expect(await child.ended).toBe(0)
    expect(child.lines).toEqual([
      expect.stringMatching(/^KIND +NAME +NAMESPACE +COMPONENT +ON +READINESS +SYNC +REASON$/),
      expect.stringMatching(/^Deployment +web +default +sink +edge01 +ready +applied +-$/),
    ])
  })
})
