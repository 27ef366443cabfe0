import { expect, it } from 'vitest'
import { type Child, startNode } from '../support/servers/child.ts'
import { report, useServer } from './harness.ts'

const server = useServer({})
const run = (...args: string[]): Child => startNode(['src/bin.ts', ...args, '--url', server().url])

it('retires devices after a preview, and reinstates them with new tokens', async () => {
  for (const id of ['1', '2', '3']) await report(id, 'installed')
  const chosen = ['--device', 'edge-1', '--device', 'edge-2', '--silent', '1ms']
  const preview = run('retire', ...chosen, '--reason', 'scrapped')
  expect([await preview.ended, ...preview.lines]).toEqual([
    ...[0, 'Would retire 2 devices, closing 2 deployments. To do it, add --yes.'],
  ])
  const retired = run('retire', ...chosen, '--reason', 'scrapped', '--yes', '--json')
  expect([await retired.ended, ...retired.lines]).toEqual([0, '{"devices":2,"children":0,"deployments":2}'])
  const again = run('retire', ...chosen, '--reason', 'scrapped', '--yes')
  expect([await again.ended, again.lines.join()]).toEqual([1, expect.stringContaining('no device in service matches')])
  const asked = run('reinstate', '--device', 'edge-1', '--device', 'edge-3', '--with-children')
  expect([await asked.ended, asked.lines.join()]).toEqual([0, expect.stringContaining('Would reinstate 1 device')])
  const back = run('reinstate', '--device', 'edge-1', '--yes')
  expect([await back.ended, ...back.lines]).toEqual([
    ...[0, 'Reinstated 1 device. Their new tokens:', expect.stringMatching(/^edge-1 {2}\S{20,}$/)],
  ])
  const { devices } = await server().query('{ devices { nodes { deviceId } } }')
  expect(devices.nodes).toEqual([{ deviceId: 'edge-1' }, { deviceId: 'edge-3' }])
})

it.each([
  ['no choice of devices', 'retire', '--reason', 'all'],
  ['no reason', 'retire', '--device', 'edge-3', '--yes'],
  ['no duration', 'retire', '--device', 'edge-3', '--reason', 'r', '--silent', 'long'],
  ['no choice of devices', 'reinstate', '--yes'],
  ['an option of the other command', 'reinstate', '--device', 'edge-3', '--silent', '1d'],
])('refuses a command line with %s', async (_, ...args) => {
  expect(await run(...args).ended).toBe(64)
})
