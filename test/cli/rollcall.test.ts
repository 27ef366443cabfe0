import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { optionsByCommand } from '../../src/apps/cli/accepted-options.ts'
import { type Api, createApi, forTerminal } from '../../src/apps/cli/api.ts'
import { completionOf } from '../../src/apps/cli/completion.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { standBetween } from '../support/servers/between.ts'
import { builtProgram, startNode } from '../support/servers/child.ts'
import { declare, report, rollcall, useServer } from './harness.ts'

const server = useServer()

const diskFull = { code: '507', message: 'disk full\u001b[2J' }

describe('rollcall get and counts', () => {
  beforeAll(async () => {
    await declare('shown', 'get-1', 'get-2', 'get-3')
    await report('get-1', 'installed')
    await report('get-2', 'failed', diskFull)
  })

  it('lists devices and clusters, and shows one device', async () => {
    const devices = rollcall('get', 'devices')
    expect(await devices.ended).toBe(0)
    expect(devices.lines[0]).toMatch(/^DEVICE +CONNECTIVITY +MAINTENANCE UNTIL +LAST HEARD +DEPLOYMENTS$/)
    expect(devices.lines.find((line) => line.startsWith('edge-get-1'))).toMatch(
      /^edge-get-1 +unknown +- +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +1 deployment: 1 installed/,
    )
    const device = rollcall('get', 'device', 'edge-get-2')
    expect(await device.ended).toBe(0)
    expect(device.lines).toContainEqual(expect.stringMatching(/^deployments +1 deployment: 1 failed/))
    const group = '/v2/projects/vfw/composite-apps/firewall/v1/deployment-intent-groups/east'
    await server().post(`${group}/actions`, { State: 'Created' })
    for (const State of ['Approved', 'Instantiated'])
      await server().post(`${group}/actions`, { State, ContextId: '77' })
    const resources = [{ app: 'sink', cluster: 'acme+edge01', GVK: { Version: 'v1', Kind: 'Service' }, name: 's' }]
    expect((await server().post(`${group}/instances/77/resources`, { resources })).status).toBe(200)
    await server().query(
      'mutation { reportConnectivity(input: { cluster: "acme+empty", connectivity: OFFLINE }) { __typename } }',
    )
    const clusters = rollcall('get', 'clusters')
    expect(await clusters.ended).toBe(0)
    expect(clusters.lines).toEqual([
      expect.stringMatching(/^PROVIDER +CLUSTER +CONNECTIVITY +MAINTENANCE UNTIL$/),
      expect.stringMatching(/^acme +edge01 +unknown +-$/),
      expect.stringMatching(/^acme +empty +offline +-$/),
    ])
    const one = rollcall('get', 'clusters', '--json', '--limit', '1')
    expect(await one.ended).toBe(0)
    expect(one.lines.map((line) => JSON.parse(line))).toEqual([
      { provider: 'acme', name: 'edge01', connectivity: 'UNKNOWN', maintenance: null },
    ])
  })

  it('says which options a name is missing', async () => {
    const child = rollcall('get', 'rollout', 'east')
    expect(await child.ended).toBe(1)
    expect(child.lines).toEqual([
      'rollout not found: east; there is one with --project vfw --composite-app firewall --composite-app-version v1',
    ])
  })

  it('prints completion scripts that know the commands and the options', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const child = rollcall('completion', shell)
      expect(await child.ended).toBe(0)
      expect(child.lines.join('\n')).toMatch(/deployments.*devices/)
      expect(child.lines.join('\n')).toMatch(/rollout/)
    }
    const script = completionOf('bash', optionsByCommand)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it.
    const asked = 'COMP_WORDS=(rollcall get dev); COMP_CWORD=2; _rollcall; echo "${COMPREPLY[@]}"'
    expect(execFileSync('bash', ['-c', `${script}\n${asked}`], { encoding: 'utf8' })).toBe('devices device\n')
    for (const [line, at, words] of [
      ['rollcall wait --for c', 3, 'converged'],
      ['rollcall wait --for = c', 4, 'converged'],
      ['rollcall counts --state = r', 4, 'removing removed'],
      ['rollcall wait --for =', 3, 'pending installing installed failed removing removed converged'],
      ['rollcall export d', 2, 'deployments devices'],
      ['rollcall export changes --a', 3, '--at-revision --as-of --after-revision'],
      ['rollcall export changes --format c', 4, 'csv'],
      ['rollcall export changes --output READM', 4, 'README.md'],
      ['rollcall get clusters --', 3, '--limit --json --url --token --help'],
      ['rollcall new-epoch --', 2, '--yes --help'],
    ] as const) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it.
      const shown = `COMP_WORDS=(${line}); COMP_CWORD=${at}; _rollcall; ${'echo "${COMPREPLY[@]}"'}`
      expect(execFileSync('bash', ['-c', `${script}\n${shown}`], { encoding: 'utf8' }), line).toBe(`${words}\n`)
    }
  })

  it.each(casesOf(2, ['export', 'simulate', 'serve', 'new-epoch', 'migrate', 'rebuild']))(
    'completes the options that the help of %s lists',
    (program) => {
      const help = execFileSync(process.execPath, [builtProgram('src/bin.ts'), program, '--help'], { encoding: 'utf8' })
      const listed = help.matchAll(/^ .*/gm).flatMap(([line]) => line.matchAll(/ --([a-z-]+)/g).map(([, name]) => name))
      expect(optionsByCommand.get(program)?.toSorted()).toEqual([...new Set(listed)].toSorted())
    },
  )

  it('lists the selected deployments', async () => {
    const child = rollcall('get', 'deployments', '--rollout', 'shown')
    expect(await child.ended).toBe(0)
    expect(child.lines).toHaveLength(4)
    expect(child.lines[0]).toMatch(/^DEPLOYMENT +ON +STATE +CONVERGENCE +COMPONENTS +CHANGED +ERROR$/)
    expect(child.lines[1]).toMatch(
      /^get-2 +edge-get-2 +FAILED +- +0\/1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +507: disk full\\u001b\[2J$/,
    )

    const failed = rollcall('get', 'deployments', '--rollout', 'shown', '--state', 'failed', '--json')
    expect(await failed.ended).toBe(0)
    expect(failed.lines.map((line) => JSON.parse(line))).toMatchObject([{ deploymentId: 'get-2', error: diskFull }])
  })

  it('reads page after page, up to a limit', async () => {
    await declare('large', ...Array.from({ length: 230 }, (_, index) => `large-${index}`))
    const all = rollcall('get', 'deployments', '--rollout', 'large', '--json')
    expect(await all.ended).toBe(0)
    expect(new Set(all.lines).size).toBe(230)
    const some = rollcall('get', 'deployments', '--rollout', 'large', '--json', '--limit', '120')
    expect(await some.ended).toBe(0)
    expect(some.lines).toHaveLength(120)
  })

  it('shows one deployment with its history, and one rollout', async () => {
    const deployment = rollcall('get', 'deployment', 'get-2')
    expect(await deployment.ended).toBe(0)
    expect(deployment.lines.join('\n')).toMatch(
      /state +FAILED.*failure stage +PROCESSING.*web +FAILED +507: disk full.*PENDING → FAILED/s,
    )
    await declare('shown', 'get-4')
    await server().query(
      'mutation { retireDevices(input: { filter: { deviceIds: "edge-get-4" }, reason: "sold" }) { __typename } }',
    )
    const rollout = rollcall('get', 'rollout', 'shown')
    expect(await rollout.ended).toBe(0)
    expect(rollout.lines).toEqual([
      'shown',
      '3 deployments: 1 pending, 1 installed, 1 failed; left out: 1 of retired devices (sold)',
    ])
    const rollouts = rollcall('get', 'rollouts', '--json')
    expect(await rollouts.ended).toBe(0)
    expect(rollouts.lines.map((line) => JSON.parse(line).name)).toContain('shown')
  })

  it('counts', async () => {
    const counts = rollcall('counts', '--rollout', 'shown', '--json')
    expect(await counts.ended).toBe(0)
    expect(JSON.parse(counts.lines[0] ?? '')).toMatchObject({ total: 3, pending: 1, installed: 1, failed: 1 })
  })

  it('escapes hidden characters of what devices and operators wrote, and JSON is the same text', async () => {
    const name = 'bell\u0007\u001b[2J\u202e\u200b'
    const escaped = String.raw`bell\u0007\u001b[2J\u202e\u200b`
    await declare(name, 'bells')
    const body = { deploymentId: name, status: { state: 'failed' }, components: [{ name, state: 'failed' }] }
    const path = `/device/bells/deployment/${encodeURIComponent(name)}/status`
    expect((await server().post(path, body)).status).toBe(201)
    for (const args of [
      ['get', 'deployments', '--deployment', name],
      ['get', 'deployment', name],
      ['get', 'rollout', name],
      ['get', 'deployment', `no-${name}`],
    ]) {
      const child = rollcall(...args)
      await child.ended
      expect(child.lines.join('')).toContain(escaped)
      expect(child.lines.join('')).not.toMatch(/[\p{Cc}\u202e\u200b]/u)
    }
    const json = rollcall('get', 'deployments', '--deployment', name, '--json')
    expect(await json.ended).toBe(0)
    expect(JSON.parse(json.lines[0] ?? '')).toMatchObject({ deploymentId: name })
    const followed: unknown[] = []
    const api: Api = { ...createApi(server().url), follow: async ({ next }) => next({ list: [name] } as never) }
    const next = (data: unknown) => void followed.push(data)
    await forTerminal(api).follow({ query: '', next }, new AbortController().signal)
    expect(followed).toEqual([{ list: [escaped] }])
  })

  it.runIf(isWhole)('exits with 1 when the object does not exist', async () => {
    for (const args of [
      ['get', 'deployment', 'nowhere'],
      ['get', 'rollout', 'nowhere'],
      ['counts', '--rollout', 'nowhere'],
    ]) {
      const child = rollcall(...args)
      expect(await child.ended).toBe(1)
      expect(child.lines).toEqual([expect.stringMatching(/^(deployment|rollout) not found: nowhere$/)])
    }
  })

  it.runIf(isWhole)('names the option that selects one of several deployments of an ID', async () => {
    for (const device of ['twin-1', 'twin-2'])
      await server().post(`/device/${device}/deployment/twins/status`, {
        deploymentId: 'twins',
        status: { state: 'installed' },
        components: [],
      })
    for (const args of [
      ['get', 'deployment', 'twins'],
      ['wait', '--for=installed', '--deployment', 'twins'],
    ]) {
      const child = rollcall(...args)
      expect(await child.ended).toBe(1)
      expect(child.lines.at(-1)).toMatch(/^2 deployments have the ID twins: .*\. Add --device <id> to select one\.$/)
    }
  })

  it('exits with 69 when the server is unreachable', async () => {
    const { url, close } = await standBetween(server().url)
    await close()
    const child = startNode(['src/apps/cli/rollcall.ts', 'counts', '--url', url])
    expect(await child.ended).toBe(69)
    expect(child.lines[0]).toBe(`can't reach the server at ${url}: ECONNREFUSED`)
  })
})
