/** Three servers on one database, of which one writes for the others: it is killed and stopped at any instant, again and again. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { expectDurations } from '../../support/durations.ts'
import { expectForecasts } from '../../support/forecasts.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { type Program, startProgram } from '../../support/servers/program.ts'

async function ask<Data>(url: string, query: string): Promise<Data> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
  const { data, errors } = (await response.json()) as { readonly data: Data; readonly errors?: unknown }
  expect(errors).toBeUndefined()
  return data
}

const signals = ['SIGKILL', 'SIGSTOP', 'SIGKILL', 'SIGSTOP', 'SIGKILL', 'SIGSTOP'] as const

describe.runIf(isWhole).each(postgresStores)('three servers on $name', (store) => {
  it('keep every report once, and every change in its place, while servers are killed and stopped', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const database = await empty.open()
    onTestFinished(() => database.close())
    const start = (): Program => {
      const program = startProgram({ DATABASE_URL: empty.config.url ?? '' })
      onTestFinished(() => program.dispose())
      return program
    }
    const servers = [start(), start(), start()]
    const serverOf = (device: number): Program => servers[device % servers.length] ?? expect.unreachable()
    await Promise.all(servers.map(({ listening }) => listening))
    const begin = (await readHead(database.session)).revision
    const subscriber = subscribe(() => serverOf(0).listening, begin)
    const fleet = startFleet(24, (device) => sendOver(() => serverOf(device).listening))
    for (const [index, signal] of signals.entries()) {
      const enough = fleet.acknowledged + 100
      await expect.poll(() => fleet.acknowledged, { interval: 5 }).toBeGreaterThan(enough)
      const { child, ended } = serverOf(index)
      child.kill(signal)
      const others = fleet.acknowledged + 50
      await expect.poll(() => fleet.acknowledged, { interval: 5 }).toBeGreaterThan(others)
      if (signal === 'SIGSTOP') child.kill('SIGCONT')
      else {
        await ended
        servers[index % servers.length] = start()
      }
    }
    const played = await fleet.finish()
    const { revision } = await readHead(database.session)
    await expect.poll(() => subscriber.revisions.at(-1)).toBe(revision)
    await subscriber.leave()
    expect(subscriber.revisions).toEqual(revisionsBetween(begin, revision))
    await expectKept(database, played)
    await expectSound(database)
    await expectDurations(database)
    const address = await serverOf(1).listening
    expect(await expectForecasts(database, (query) => ask(`${address}/graphql`, query))).toBeGreaterThan(0)
  })
})
