/** A whole server with a server above: its configuration, what it shows of the link, and what is left when it is killed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { lastingStores } from '../support/databases/lasting-stores.ts'
import { everyStore } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { startApp } from '../support/servers/app.ts'
import { type Program, startProgram } from '../support/servers/program.ts'
import { startSiteReceiver } from '../support/systems/site-receiver.ts'
import { expectSame, untilLevel } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-upstream-'))
const ending: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function above() {
  const receiver = await startSiteReceiver()
  ending.push(() => receiver.close())
  return receiver
}

const bodyOf = (deploymentId: string, state: string) => ({ deploymentId, status: { state }, components: [] })

describe.each(everyStore)('a server with UPSTREAM_URL, on $name', (store) => {
  it('sends what devices report, and shows the link in /readyz?verbose and /metrics', async () => {
    const receiver = await above()
    const app = await startApp({ store, env: { UPSTREAM_URL: receiver.url, UPSTREAM_TOKEN: 'of-plant' } })
    ending.push(() => app.stop())
    await app.post('/device/edge-1/deployment/d-1/status', bodyOf('d-1', 'installing'))
    await untilLevel(app, receiver)
    await app.post('/device/edge-1/deployment/d-1/status', bodyOf('d-1', 'installed'))
    await untilLevel(app, receiver)
    await expect
      .poll(async () => ((await (await fetch(`${app.url}/readyz?verbose`)).json()) as { upstream: object }).upstream)
      .toEqual({ state: 'CONNECTED', backlog: 0, lastTaken: expect.stringMatching(/^\d{4}-/) })
    const metrics = await (await fetch(`${app.url}/metrics`)).text()
    expect(metrics).toMatch(/^rollcall_upstream_connected 1$/m)
    expect(metrics).toMatch(/^rollcall_upstream_backlog 0$/m)
    expect(metrics).toMatch(/^rollcall_upstream_facts_total [1-9]/m)
    expect(metrics).toMatch(/^rollcall_upstream_bytes_total [1-9]/m)
    await expectSame(app.database, receiver, receiver.batches[0]?.batch.upTo.revision)
  })
})

it('is ready without the server above, and ends without it', async () => {
  const receiver = await startSiteReceiver()
  await receiver.close()
  const app = await startApp({ env: { UPSTREAM_URL: receiver.url, UPSTREAM_TOKEN: 'of-plant' } })
  await app.post('/device/edge-1/deployment/d-1/status', bodyOf('d-1', 'installing'))
  expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
  await app.stop()
})

it('ends at the start with the name of a variable whose file cannot be used', async () => {
  const file = join(folder, 'no.pem')
  writeFileSync(file, 'no certificate')
  const env = { UPSTREAM_URL: 'https://company.example', UPSTREAM_TOKEN: 'of-plant' }
  await expect(startApp({ env: { ...env, UPSTREAM_CA: join(folder, 'absent') } })).rejects.toThrow(
    'UPSTREAM_CA names a file that cannot be read (ENOENT)',
  )
  await expect(startApp({ env: { ...env, UPSTREAM_CA: file } })).rejects.toThrow('UPSTREAM_CA cannot be used')
  await expect(startApp({ env: { ...env, UPSTREAM_CERT: file, UPSTREAM_KEY: file } })).rejects.toThrow(
    'UPSTREAM_CERT and UPSTREAM_KEY cannot be used',
  )
})

describe.each(lastingStores)('a server that is killed, on $name', (store) => {
  it('loses and doubles nothing above', async () => {
    const receiver = await above()
    const { env, on } = await store.create()
    ending.push(() => on.drop())
    const given = { ...env, PORT: '0', GIT: 'off', UPSTREAM_URL: receiver.url, UPSTREAM_TOKEN: 'of-plant' }
    let reported = 0
    for (let round = 0; round < someOf(2, 4); round += 1) {
      const program: Program = startProgram(given)
      ending.push(() => program.dispose())
      const url = await program.listening
      const said = Array.from({ length: 60 }, (_, n) =>
        fetch(`${url}/device/edge-${n % 7}/deployment/d-${n}/status`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(bodyOf(`d-${n}`, round % 2 === 0 ? 'installing' : 'installed')),
        }).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      await Promise.race(said)
      const batches = receiver.batches.length
      await receiver.until(() => receiver.batches.length > batches || receiver.batches.length > 2)
      program.child.kill('SIGKILL')
      reported += (await Promise.all(said)).filter(Boolean).length
      await program.dispose()
      // Its lease would last for some seconds more.
      const database = await on.open()
      await database.session.run(`delete from leases where name = 'upstream'`)
      await database.close()
    }
    const app = await startApp({ on, env: { UPSTREAM_URL: receiver.url, UPSTREAM_TOKEN: 'of-plant' } })
    ending.push(() => app.stop())
    await untilLevel(app, receiver)
    const present = receiver.batches.findLast(({ batch }) => batch.snapshot?.isLast)
    await expectSame(app.database, receiver, present?.batch.upTo.revision)
    expect(reported).toBeGreaterThan(0)
    expect(receiver.held().snapshots).toBe(1)
  })
})
