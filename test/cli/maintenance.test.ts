import { expect, it } from 'vitest'
import { type Child, startNode } from '../support/servers/child.ts'
import { useServer } from './harness.ts'

const server = useServer({})
const maintenance = (...args: string[]): Child =>
  startNode(['src/bin.ts', 'maintenance', ...args, '--url', server().url])

it('plans downtime, lists it, and ends it', async () => {
  const none = maintenance()
  expect(await none.ended).toBe(0)
  expect(none.lines).toEqual(['No maintenance windows.'])
  const weekly = ['--from', '2026-12-05T18:00:00Z', '--for', '12h', '--repeat', 'FREQ=WEEKLY', '--time-zone', 'UTC']
  const planned = maintenance('plan', '--label', 'site=munich', ...weekly, '--reason', 'no power', '--json')
  expect([await planned.ended, ...planned.lines]).toEqual([0, expect.stringContaining('FREQ=WEEKLY')])
  const { maintenanceId: id } = JSON.parse(planned.lines[0] ?? '')
  const listed = maintenance()
  expect(await listed.ended).toBe(0)
  expect(listed.lines[1]).toMatch(
    /2026-12-05 18:00:00Z +2026-12-06 06:00:00Z +FREQ=WEEKLY UTC +0 +\{"labels".*no power$/,
  )
  const refused = maintenance('plan', '--device', 'x', '--for', '1h', '--reason', 'r', '--repeat', 'FREQ=YEARLY')
  expect([await refused.ended, refused.lines.join()]).toEqual([
    1,
    expect.stringContaining('repeat must be FREQ=WEEKLY'),
  ])
  for (const args of [
    ['plan', '--for', '1h', '--reason', 'all'],
    ['end'],
    ['pause'],
    ['plan', '--device', 'x', '--reason', 'r'],
  ])
    expect(await maintenance(...args).ended).toBe(64)
  expect(await maintenance('end', id).ended).toBe(0)
  const { maintenanceWindows } = await server().query(
    '{ maintenanceWindows(over: true) { nodes { maintenanceId endedAt } } }',
  )
  expect(maintenanceWindows.nodes).toEqual([{ maintenanceId: id, endedAt: expect.any(String) }])
})
