import { describe, expect, it, onTestFinished } from 'vitest'
import { createApi } from '../../src/apps/cli/api.ts'
import { parseCommandLine } from '../../src/apps/cli/command-line.ts'
import type { Terminal } from '../../src/apps/cli/terminal.ts'
import { watchTable } from '../../src/apps/cli/watch.ts'
import { standBetween } from '../support/servers/between.ts'
import { startNode } from '../support/servers/child.ts'
import { declare, report, rollcall, useServer } from './harness.ts'

const server = useServer()

describe('rollcall watch', () => {
  it('prints every selected change once, also across a lost connection', async () => {
    const between = await standBetween(server().url)
    onTestFinished(() => between.close())
    const after = await report('watch-1', 'pending')
    const child = startNode([
      'src/apps/cli/rollcall.ts',
      'watch',
      '--json',
      '--url',
      between.url,
      '--deployment',
      'watch-1',
      '--after',
      after,
    ])
    const told = (): string[] =>
      child.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).change.revision)
    const expected: string[] = []
    const go = async (state: string): Promise<void> => {
      const revision = await report('watch-1', state)
      expected.push(String(Number(revision) - 1), revision)
    }
    await go('installing')
    await expect.poll(told).toEqual(expected)
    between.shut()
    await child.said(/^disconnected: /)
    await go('installed')
    await go('removing')
    between.open()
    await expect.poll(told).toEqual(expected)
    await go('removed')
    await expect.poll(told).toEqual(expected)
    expect(child.lines).toContain('reconnected, no changes missed')
    child.process.kill('SIGINT')
    expect(await child.ended).toBe(130)
  })

  it('prints one line per change', async () => {
    const child = rollcall('watch', '--device', 'edge-watch-2', '--after', await report('watch-2', 'installing'))
    await report('watch-2', 'failed', { code: '507', message: 'disk full' })
    await child.said(/^[\d-]+ [\d:]+Z {2}watch-2 on edge-watch-2 {2}INSTALLING → FAILED {2}507: disk full$/)
    await child.said(/web {2}INSTALLING → FAILED/)
  })

  /** What the command has written to a terminal until now, and its last picture. */
  function watchInTerminal(...options: string[]) {
    let screen = ''
    const terminal: Terminal = {
      isLive: true,
      columns: 100,
      rows: 10,
      write(text) {
        screen += text
      },
    }
    const stop = new AbortController()
    const { task } = parseCommandLine(['watch', ...options], {})
    if (task.name !== 'watch') expect.unreachable()
    const watching = watchTable(createApi(server().url), { terminal, isJson: false }, task, stop.signal)
    return {
      screen: () => screen,
      lastDrawn: () => screen.slice(screen.lastIndexOf('\u001b[?25l')),
      async stop() {
        stop.abort()
        await watching
      },
    }
  }

  it('refuses to filter changes by what changes over time, as a table can', async () => {
    const child = rollcall('watch', '--state', 'failed')
    await child.said(/^changes cannot be filtered by --state, because its value changes over time: use --rollout, /)
    expect(await child.ended).toBe(64)
  })

  it('draws a live table in a terminal', async () => {
    await declare('drawn', 'draw-1', 'draw-2')
    const { screen, lastDrawn, stop } = watchInTerminal('--rollout', 'drawn')
    await expect.poll(screen).toMatch(/draw-1/)
    await expect.poll(screen).toMatch(/2 deployments: .*2 pending/)
    await report('draw-2', 'failed', { code: '507', message: 'disk full' })
    await expect.poll(screen).toMatch(/draw-2 .*FAILED.* 507: disk full/)
    await expect.poll(screen).toMatch(/1 failed/)
    const { deployment } = await server().query('{ deployment(deploymentId: "draw-2") { id } }')
    const input = { ids: [deployment.id] }
    const forget = 'mutation ($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename } }'
    await server().query(forget, { input })
    await expect.poll(lastDrawn).toMatch(/ 1 deployment: .*1 pending/)
    await expect.poll(lastDrawn).not.toMatch(/draw-2/)
    await stop()
    expect(screen().endsWith('\u001b[?25h')).toBe(true)
  })

  it('lists in the table only what the filter selects now, the latest change first', async () => {
    await declare('filtered', 'state-1', 'state-2', 'state-3')
    for (const name of ['state-1', 'state-2', 'state-3']) await report(name, 'failed')
    const { lastDrawn, stop } = watchInTerminal('--rollout', 'filtered', '--state', 'failed')
    const listed = (): string[] => lastDrawn().match(/(?<!edge-)state-\d/g) ?? []
    await expect.poll(listed).toEqual(['state-3', 'state-2', 'state-1'])
    await report('state-2', 'installed')
    await expect.poll(listed).toEqual(['state-3', 'state-1'])
    await report('state-1', 'failed', { code: '507', message: 'disk full' })
    await expect.poll(listed).toEqual(['state-1', 'state-3'])
    await report('state-2', 'failed')
    await expect.poll(listed).toEqual(['state-2', 'state-1', 'state-3'])
    await stop()
  })
})
