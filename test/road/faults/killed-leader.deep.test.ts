/** Three servers on one database: the one that writes for the others is killed at each step of its writes. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { type Send, startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { type EmptyStore, postgresStores } from '../../support/databases/stores.ts'
import { isNotice, isOptimistic, type Passing, startWire } from '../../support/databases/wire.ts'
import { type Program, startProgram } from '../../support/servers/program.ts'

interface Step {
  readonly of: string
  readonly moment: Passing['moment']
  is(passing: Passing): boolean
  /** Withheld from the server; the leader is killed when the statement before it is answered. */
  readonly isWithheld?: true
}

/** With commands of other servers. */
const isOfOthers = (passing: Passing): boolean => isOptimistic(passing) && passing.statement.includes('x(id, batch)')
const isLock = ({ statement }: Passing): boolean => statement.endsWith('from log_head where id = 1 for update')
const isHeadUpdate = ({ statement }: Passing): boolean => statement.startsWith('update log_head set revision')
const steps: readonly Step[] = [
  { of: 'its statement', moment: 'asked', is: isOfOthers },
  { of: 'its statement', moment: 'answered', is: isOfOthers },
  { of: 'the notice to the others', moment: 'asked', is: isNotice, isWithheld: true },
  { of: 'the notice to the others', moment: 'answered', is: isNotice },
  { of: 'the lock of a transaction', moment: 'asked', is: isLock },
  { of: 'the lock of a transaction', moment: 'answered', is: isLock },
  { of: 'the new head of a transaction', moment: 'answered', is: isHeadUpdate },
]

interface Server {
  readonly program: Program
  isKilled: boolean
}

interface Servers {
  readonly alive: readonly Server[]
  /** The server that wrote for others last. */
  leader(): Server | null
  start(): Promise<void>
  /** Resolves when the leader of that moment has been killed: what it would send or receive next is lost with it. */
  killAt(step: Step): Promise<void>
}

function openServers({ config }: EmptyStore): Servers {
  const alive: Server[] = []
  let leader: Server | null = null
  let armed: { readonly step: Step; readonly killed: () => void } | null = null

  async function start(): Promise<void> {
    const wire = await startWire(config.url ?? '')
    onTestFinished(() => wire.close())
    const server: Server = { program: startProgram({ DATABASE_URL: wire.url }), isKilled: false }
    onTestFinished(() => server.program.dispose())
    let isOfOthersLast = false
    let isWithheld = false
    const isDue = (passing: Passing, { is, moment }: Step): boolean =>
      isWithheld || (passing.moment === moment && is(passing) && (!isNotice(passing) || isOfOthersLast))
    wire.watch((passing) => {
      if (server.isKilled) return 'cut'
      if (isNotice(passing)) leader = server
      if (isOptimistic(passing) && passing.moment === 'asked') isOfOthersLast = isOfOthers(passing)
      if (!armed || leader !== server || !isDue(passing, armed.step)) return 'pass'
      if (armed.step.isWithheld && !isWithheld) {
        isWithheld = true
        return 'withhold'
      }
      server.isKilled = true
      server.program.child.kill('SIGKILL')
      alive.splice(alive.indexOf(server), 1)
      void server.program.ended.then(armed.killed)
      armed = null
      leader = null
      return 'cut'
    })
    await server.program.listening
    alive.push(server)
  }

  return {
    alive,
    leader: () => leader,
    start,
    killAt: (step) =>
      new Promise((killed) => {
        armed = { step, killed }
      }),
  }
}

/** A command that only the server itself can write, in a transaction under the lock. Its server may be killed meanwhile. */
async function register({ program }: Server, deviceId: string): Promise<void> {
  const query = `mutation { registerDevices(input: { devices: [{ deviceId: "${deviceId}" }] }) { __typename } }`
  const headers = { 'content-type': 'application/json' }
  await fetch(`${await program.listening}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    .then((response) => response.text())
    .catch(() => undefined)
}

describe.each(postgresStores)('a server on $name that writes for two others', (store) => {
  it('is killed at each step: no report is lost or doubled, and the others go on', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const database = await empty.open()
    onTestFinished(() => database.close())
    const servers = openServers(empty)
    await Promise.all([servers.start(), servers.start(), servers.start()])
    const begin = (await readHead(database.session)).revision
    let turn = 0
    const next = (): Promise<string> => {
      turn += 1
      return servers.alive[turn % servers.alive.length]?.program.listening ?? expect.unreachable()
    }
    const subscriber = subscribe(next, begin)
    const unanswered = new Set<string>()
    const repeated: string[] = []
    const send: Send = async (said) => {
      const outcome = await sendOver(next)(said)
      const name = `${said.reporter} ${said.seq}`
      if (!outcome) unanswered.add(name)
      else if (outcome.verdict !== 'APPLIED' && !unanswered.has(name)) repeated.push(name)
      return outcome
    }
    const fleet = startFleet(24, () => send)
    for (const step of steps) {
      const enough = fleet.acknowledged + 50
      await expect.poll(() => fleet.acknowledged, { interval: 5 }).toBeGreaterThan(enough)
      await expect.poll(servers.leader, { interval: 5 }).not.toBeNull()
      const killed = servers.killAt(step)
      for (let n = 0; step.is === isLock || step.is === isHeadUpdate; n += 1) {
        const leader = servers.leader()
        if (leader === null) break
        await register(leader, `registered-${n}`)
      }
      await killed
      const started = servers.start()
      const others = fleet.acknowledged + 100
      await expect
        .poll(() => fleet.acknowledged, { interval: 5, message: `${step.of} ${step.moment}` })
        .toBeGreaterThan(others)
      await started
    }
    const played = await fleet.finish()
    const { revision } = await readHead(database.session)
    await expect.poll(() => subscriber.revisions.at(-1)).toBe(revision)
    await subscriber.leave()
    expect(subscriber.resets).toEqual([])
    expect(subscriber.revisions).toEqual(revisionsBetween(begin, revision))
    // A device that had an answer at once is not answered as if it had sent the report twice.
    expect(repeated).toEqual([])
    await expectKept(database, played)
    await expectSound(database)
  }, 600_000)
})
