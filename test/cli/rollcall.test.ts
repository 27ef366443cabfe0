import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Api, createApi, forTerminal } from '../../src/cli/api.ts'
import { completionOf } from '../../src/cli/completion.ts'
import { options } from '../../src/cli/usage.ts'
import { standBetween } from '../support/between.ts'
import { childEnvironment, startNode } from '../support/child.ts'
import { declare as declareDocuments, documentOf } from '../support/desired.ts'
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
    expect(devices.lines[0]).toMatch(/^DEVICE +CONNECTIVITY +LAST HEARD +DEPLOYMENTS$/)
    expect(devices.lines.find((line) => line.startsWith('edge-get-1'))).toMatch(
      /^edge-get-1 +unknown +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +1 deployment: 1 installed/,
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
      expect.stringMatching(/^PROVIDER +CLUSTER +CONNECTIVITY$/),
      expect.stringMatching(/^acme +edge01 +unknown$/),
      expect.stringMatching(/^acme +empty +offline$/),
    ])
    const one = rollcall('get', 'clusters', '--json', '--limit', '1')
    expect(await one.ended).toBe(0)
    expect(one.lines.map((line) => JSON.parse(line))).toEqual([
      { provider: 'acme', name: 'edge01', connectivity: 'UNKNOWN' },
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
    const script = completionOf('bash', Object.keys(options))
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it.
    const asked = 'COMP_WORDS=(rollcall get dev); COMP_CWORD=2; _rollcall; echo "${COMPREPLY[@]}"'
    expect(execFileSync('bash', ['-c', `${script}\n${asked}`], { encoding: 'utf8' })).toBe('devices device\n')
    for (const [line, at, words] of [
      ['rollcall wait --for c', 3, 'converged'],
      ['rollcall wait --for = c', 4, 'converged'],
      ['rollcall counts --state = r', 4, 'removing removed'],
      ['rollcall wait --for =', 3, 'pending installing installed failed removing removed converged'],
    ] as const) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it.
      const shown = `COMP_WORDS=(${line}); COMP_CWORD=${at}; _rollcall; ${'echo "${COMPREPLY[@]}"'}`
      expect(execFileSync('bash', ['-c', `${script}\n${shown}`], { encoding: 'utf8' }), line).toBe(`${words}\n`)
    }
  })

  it('lists the selected deployments', async () => {
    const child = rollcall('get', 'deployments', '--rollout', 'shown')
    expect(await child.ended).toBe(0)
    expect(child.lines).toHaveLength(4)
    expect(child.lines[0]).toMatch(/^DEPLOYMENT +ON +STATE +CONVERGENCE +COMPONENTS +CHANGED +ERROR$/)
    expect(child.lines[1]).toMatch(
      /^get-2 +edge-get-2 +FAILED +- +0\/1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +507: disk full \[2J$/,
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
    expect(deployment.lines.join('\n')).toMatch(/state +FAILED.*web +FAILED +507: disk full.*PENDING → FAILED/s)
    const rollout = rollcall('get', 'rollout', 'shown')
    expect(await rollout.ended).toBe(0)
    expect(rollout.lines).toEqual(['shown', '3 deployments: 1 pending, 1 installed, 1 failed'])
    const rollouts = rollcall('get', 'rollouts', '--json')
    expect(await rollouts.ended).toBe(0)
    expect(rollouts.lines.map((line) => JSON.parse(line).name)).toContain('shown')
  })

  it('counts', async () => {
    const counts = rollcall('counts', '--rollout', 'shown', '--json')
    expect(await counts.ended).toBe(0)
    expect(JSON.parse(counts.lines[0] ?? '')).toMatchObject({ total: 3, pending: 1, installed: 1, failed: 1 })
  })

  it('removes control characters from what devices and operators wrote, except in JSON', async () => {
    const name = 'bell\u0007\u001b[2J'
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
      expect(child.lines.join('')).toContain('bell [2J')
      expect(child.lines.join('')).not.toMatch(/\p{Cc}/u)
    }
    const json = rollcall('get', 'deployments', '--deployment', name, '--json')
    expect(await json.ended).toBe(0)
    expect(JSON.parse(json.lines[0] ?? '')).toMatchObject({ deploymentId: name })
    const followed: unknown[] = []
    const api: Api = { ...createApi(server().url), follow: async ({ next }) => next({ list: [name] } as never) }
    const next = (data: unknown) => void followed.push(data)
    await forTerminal(api).follow({ query: '', next }, new AbortController().signal)
    expect(followed).toEqual([{ list: ['bell [2J'] }])
  })

  it('exits with 1 when the object does not exist', async () => {
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

  it('names the option that selects one of several deployments of an ID', async () => {
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
    const child = startNode(['src/cli/rollcall.ts', 'counts', '--url', url])
    expect(await child.ended).toBe(69)
    expect(child.lines[0]).toBe(`can't reach the server at ${url}: ECONNREFUSED`)
  })
})

describe('rollcall wait', () => {
  it('exits with 0 when the whole rollout is installed, even if it was declared after the wait began', async () => {
    const child = rollcall('wait', '--for=installed', '--rollout', 'waited', '--json')
    await declare('waited', 'wait-1', 'wait-2')
    await report('wait-1', 'installing')
    await report('wait-2', 'installed')
    await report('wait-1', 'installed')
    expect(await child.ended).toBe(0)
    expect(JSON.parse(child.lines.at(-1) ?? '')).toMatchObject({
      result: 'reached',
      counts: { total: 2, INSTALLED: 2 },
    })
  })

  it('exits with 1 as soon as one deployment has failed, and prints which and why', async () => {
    await declare('failing', 'fail-1', 'fail-2')
    const child = rollcall('wait', '--for=installed', '--rollout', 'failing')
    await report('fail-1', 'failed', { code: '507', message: 'disk full' })
    expect(await child.ended).toBe(1)
    expect(child.lines).toEqual([
      'failed to reach INSTALLED: 2 deployments: 1 pending, 1 failed',
      '  fail-1 on edge-fail-1  507: disk full',
    ])
  })

  it('tolerates up to --tolerate failures', async () => {
    await declare('tolerant', 'tol-1', 'tol-2')
    await report('tol-1', 'failed')
    await report('tol-2', 'installed')
    expect(await rollcall('wait', '--for=installed', '--rollout', 'tolerant', '--tolerate', '1').ended).toBe(0)
  })

  it('waits for convergence: INSTALLED on an older version does not count', async () => {
    const meant = (id: string, revision: string) => ({
      deviceId: `edge-${id}`,
      deploymentId: id,
      document: documentOf(id, revision),
    })
    const told = async (id: string, adoptedManifestVersion: number, state: string): Promise<void> => {
      const body = { deploymentId: id, adoptedManifestVersion, status: { state }, components: [] }
      expect((await server().post(`/device/edge-${id}/deployment/${id}/status`, body)).status).toBe(201)
    }
    await declareDocuments(server(), [meant('meant-1', '1'), meant('meant-2', '1')])
    await told('meant-1', 2, 'installed')
    await told('meant-2', 2, 'installed')
    await declareDocuments(server(), [meant('meant-1', '2')])
    const chosen = ['--deployment', 'meant-1', '--deployment', 'meant-2']
    const stale = rollcall('get', 'deployments', '--convergence', 'stale', ...chosen)
    expect(await stale.ended).toBe(0)
    expect(stale.lines.slice(1)).toEqual([expect.stringMatching(/^meant-1 +edge-meant-1 +INSTALLED +STALE 2 → 3 /)])
    expect(await rollcall('wait', '--for=installed', ...chosen).ended).toBe(0)
    expect(await rollcall('wait', '--for=converged', '--timeout=1s', ...chosen).ended).toBe(2)

    const all = rollcall('wait', '--for=converged', '--json', ...chosen)
    const one = rollcall('wait', '--for=converged', '--deployment', 'meant-1')
    await told('meant-1', 3, 'installing')
    await told('meant-1', 3, 'installed')
    expect([await all.ended, await one.ended]).toEqual([0, 0])
    expect(JSON.parse(all.lines.at(-1) ?? '').counts.convergence).toMatchObject({ CONVERGED: 2, STALE: 0 })
    await told('meant-1', 3, 'failed')
    expect(await rollcall('wait', '--for=converged', ...chosen).ended).toBe(1)
    expect(await rollcall('wait', '--for=converged', '--tolerate=1', ...chosen).ended).toBe(0)
  })

  it('waits for one deployment, and for a filter', async () => {
    const one = rollcall('wait', '--for=installed', '--deployment', 'wait-alone')
    const some = rollcall('wait', '--for=installed', '--device', 'edge-wait-alone')
    await report('wait-alone', 'installing')
    await report('wait-alone', 'installed')
    expect([await one.ended, await some.ended]).toEqual([0, 0])
  })

  it('counts a forgotten deployment as removed', async () => {
    await report('wait-gone', 'removing')
    const child = rollcall('wait', '--for=removed', '--deployment', 'wait-gone')
    await expect.poll(() => server().app.metrics.print()).toMatch(/subscribers\{kind="state"\} [1-9]/)
    const { deployment } = await server().query('{ deployment(deploymentId: "wait-gone") { id } }')
    await server().query(
      'mutation ($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename } }',
      { input: { ids: [deployment.id] } },
    )
    expect(await child.ended).toBe(0)
  })

  it('says at the timeout which options select a rollout of that name', async () => {
    const ofLine: readonly object[] = [{ deploymentId: 'assembly-1', deviceId: 'edge-assembly-1' }]
    const input = { rollout: { name: 'assembly', project: 'plant' }, deployments: ofLine }
    await server().query(
      `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }`,
      { input },
    )
    const child = rollcall('wait', '--for=installed', '--rollout', 'assembly', '--timeout', '3s')
    expect(await child.ended).toBe(2)
    expect(child.lines.at(-1)).toBe('timeout: rollout not found: assembly; there is one with --project plant')
  })

  it('exits with 2 at the timeout, and prints the counts', async () => {
    await declare('slow', 'slow-1')
    const child = rollcall('wait', '--for=installed', '--rollout', 'slow', '--timeout', '3s')
    expect(await child.ended).toBe(2)
    expect(child.lines).toEqual(['timeout: 1 deployment: 1 pending'])
  })
})

describe.skipIf(!existsSync('/dev/full'))('on a full disk', () => {
  it.each([[['counts']], [['counts', '--json']], [['--help']], [['export', 'changes', '--format', 'csv']]])(
    '%j says that its output is lost',
    async (command) => {
      const full = openSync('/dev/full', 'w')
      const child = spawn(process.execPath, ['src/bin.ts', ...command], {
        cwd: new URL('../../', import.meta.url),
        env: { ...childEnvironment(), ROLLCALL_URL: server().url },
        stdio: ['ignore', full, 'pipe'],
      })
      closeSync(full)
      const [said, [code]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')])
      expect([code, said]).toEqual([1, expect.stringMatching(/^cannot write the output: ENOSPC/)])
    },
  )
})
