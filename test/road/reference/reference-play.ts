/** Plays commands on a road and on the reference model, and compares what both make of them. */
import { expect } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { resetReporterOrder } from '../../../src/ingest/commands/devices/reset-reporter-order.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { moveMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Snapshot } from '../../../src/store/database.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { divideTables } from '../../support/databases/partitions.ts'
import { createRoad } from '../../support/servers/road.ts'
import { expectPast, expectPresent, expectReports, readReports } from './reference-agreement.ts'
import { writeAtOnce } from './reference-at-once.ts'
import type { Command, Said, Write } from './reference-commands.ts'
import type { ModelReport } from './reference-facts.ts'
import { createFollower, createWatcher, type Listener } from './reference-followers.ts'
import { createModel } from './reference-model.ts'
import { readNames, recordModelled } from './reference-shown.ts'
import { openWindows, windows } from './reference-windows.ts'

/**
 * `open`: the same database each time. A step of reports goes through so many servers at once, and the other writes
 * alternate between them. Everything else asks the first.
 */
export async function play(open: () => Promise<Database>, commands: readonly Command[], servers = 1): Promise<void> {
  // Later than the database begins, so that its log's time is ours.
  let now = Date.now() + 3_600_000
  const clock = (): number => now
  const reopen = async () => createRoad(await open(), { writer: { clock } })
  let road = await reopen()
  const others = await Promise.all(Array.from({ length: servers - 1 }, reopen))
  await openWindows(road.database.session)
  let turn = 0
  const head = await readHead(road.database.session)
  const model = createModel(head.revision)
  let retained = { tail: head.tail, tailAt: head.tailAt }
  const listeners: Listener[] = [createFollower(model, 0, head.revision)]
  const delayed: ModelReport[] = []
  let last: ModelReport | null = null

  async function write(writes: readonly Write[]): Promise<void> {
    const reports = writes.flatMap((next) => (next.do === 'report' ? [timed(next.r)] : []))
    if (servers > 1 && reports.length > 1 && reports.length === writes.length) {
      last = reports.at(-1) ?? null
      const writers = [road, ...others].map(({ writer }) => writer)
      return writeAtOnce(writers, reports, { session: road.database.session, model, now })
    }
    const keys = (await road.database.session.run<{ key: number }>('select key from deployments order by key')).map(
      ({ key }) => key,
    )
    const revisions = model.all.map(({ image }) => image.revision)
    turn += 1
    const { writer } = others[turn % servers] ?? road
    const asked: Promise<unknown>[] = []
    const expected: unknown[] = []
    const submit = (answer: Promise<object>, said: unknown): void => {
      asked.push(answer.catch((error: unknown) => (error instanceof DomainError ? error.code : error)))
      expected.push(said)
    }
    const send = (r: ModelReport): void => {
      last = r
      submit(writer.submit(recordModelled(r)), model.report(r, now))
    }
    for (const next of writes) {
      switch (next.do) {
        case 'report':
          send(timed(next.r))
          break
        case 'repeat':
          if (last) send(last)
          break
        case 'deliver': {
          const late = delayed.shift()
          if (late) send(late)
          break
        }
        case 'declare': {
          const { rollout, list } = next
          const declared = list.map(({ device, id, application, parts }) => ({
            deviceId: device,
            deploymentId: id,
            application,
            applicationVersion: null,
            components: parts,
          }))
          const command = declareDeployments(rollout === null ? null : { name: rollout, project: null }, declared)
          submit(writer.submit(command), model.declare(rollout, list, now))
          break
        }
        case 'forget': {
          // Only what was there before this batch has a name for those who ask.
          const numbers = next.numbers.map((number) => (number < keys.length ? number : -1))
          const command = forgetDeployments(numbers.map((number) => keys[number] ?? -1))
          submit(writer.submit(command), model.forget(numbers, now))
          break
        }
        case 'stall': {
          // As it was when this batch was not there yet.
          const found = next.numbers.flatMap((number) => {
            const [key, revision] = [keys[number], revisions[number]]
            return key === undefined || revision === undefined ? [] : [{ number, key, revision }]
          })
          submit(writer.submit(markStalled(found)), model.stall(found, now))
          break
        }
        case 'resetOrder':
          submit(writer.submit(resetReporterOrder(next.device)), model.resetOrder(next.device, now))
          break
        case 'register':
          submit(writer.submit(registerDevices([registration(next.device)])), model.register(next.device, now))
          break
        case 'maintain': {
          const { devices, window } = next
          const windowKey = window === null ? null : (windows.get(window) ?? null)
          const moves = devices.map((name) => ({ target: { kind: 'DEVICE', provider: '', name } as const, windowKey }))
          submit(writer.submit(moveMaintenance(moves)), model.maintain(devices, window, now))
          break
        }
        case 'retire': {
          const { device: deviceId, withChildren, reason } = next
          const command = retireDevices([{ deviceId, replacedBy: null }], { reason, withChildren, manifestUpdate })
          submit(writer.submit(command), model.retire(deviceId, withChildren, reason, now))
          break
        }
      }
    }
    const answers = await Promise.all(asked)
    expect(answers).toMatchObject(expected)
  }

  const timed = ({ ahead, ...r }: Said): ModelReport => ({ ...r, time: ahead === null ? null : now + ahead * 1_000 })

  async function prune(before: number, step: number): Promise<void> {
    // A subscriber that still catches up might rightly get HISTORY_EXPIRED.
    await settle()
    const live = listeners.filter((listener) => listener.isLive()).length
    await expect.poll(() => road.feed.hub.size, { timeout: 20_000, interval: 2 }).toBe(live + 1)
    await pruneHistory(road.database, before, step)
    await divideTables(road.database, step)

    const entries = new Map(
      model.log.filter((c) => c.revision > retained.tail && c.at < before).map((c) => [c.entry, c]),
    )
    const cut = [...entries.values()].at(Math.min(step, entries.size) - 1)
    // All callers see the time, so it is rounded to ten seconds, but it is never after the newest change.
    const tailAt = Math.min(Math.ceil((cut?.at ?? 0) / 10_000) * 10_000, model.log.at(-1)?.at ?? 0)
    if (cut && entries.size > 0) retained = { tail: cut.revision, tailAt }
    // Of the reports that are old enough any may go first.
    const left = await readReports(road.database.session)
    const rest = [...left]
    const gone = model.kept.filter((kept) => {
      const isLeft = JSON.stringify(kept) === JSON.stringify(rest[0])
      if (isLeft) rest.shift()
      return !isLeft
    })
    expect(rest).toEqual([])
    expect(gone.filter(({ receivedAt }) => receivedAt >= before)).toEqual([])
    expect(gone).toHaveLength(Math.min(step, model.kept.filter(({ receivedAt }) => receivedAt < before).length))
    model.kept.splice(0, Number.POSITIVE_INFINITY, ...left)
  }

  async function settle(): Promise<void> {
    const names = await readNames(road.database.session)
    for (const listener of listeners) await listener.settle(names)
  }

  async function restart(): Promise<void> {
    const names = await readNames(road.database.session)
    const live = listeners.filter((listener) => listener.isLive())
    for (const listener of live) await listener.drop(names)
    await road.close()
    road = await reopen()
    for (const listener of live) listener.resume(road, retained.tail)
  }

  async function check(...asked: ((snapshot: Snapshot) => Promise<void>)[]): Promise<void> {
    const snapshot = await road.database.snapshot()
    try {
      for (const ask of asked) await ask(snapshot)
    } finally {
      await snapshot.close()
    }
  }

  function begin(listener: Listener): void {
    if (listeners.length >= 6) return
    listeners.push(listener)
    listener.resume(road, retained.tail)
  }

  async function run(next: Command): Promise<void> {
    const chosen = 'n' in next ? listeners[next.n % listeners.length] : undefined
    switch (next.do) {
      case 'write':
        return write(next.writes)
      case 'delay':
        return void delayed.push(timed(next.r))
      case 'subscribe':
        return begin(createFollower(model, next.filter, model.revision()))
      case 'watch':
        return begin(createWatcher(model, next.id))
      case 'drop':
        return chosen?.drop(await readNames(road.database.session))
      case 'resume':
        return chosen?.resume(road, retained.tail)
      case 'restart':
        return restart()
      case 'prune':
        return prune(now - next.ago * 1_000, next.step)
      case 'wait':
        now += next.seconds * 1_000
        return
      case 'check':
        await settle()
        return check((snapshot) => expectPresent(snapshot, model))
    }
  }

  try {
    for (const listener of listeners) listener.resume(road, retained.tail)
    for (const next of commands) await run(next)
    for (const listener of listeners) listener.resume(road, retained.tail)
    await settle()
    await check(
      (snapshot) => expectPresent(snapshot, model),
      (snapshot) => expectPast(snapshot, model, retained),
      (snapshot) => expectReports(snapshot, model),
    )
  } finally {
    for (const each of [road, ...others]) await each.close()
  }
}

/** No document is declared here, so no manifest is ever made. */
const manifestUpdate = { cause: { caller: '', why: '' }, bundle: () => expect.unreachable() }

function registration(deviceId: string) {
  return { deviceId, name: null, labels: null, parent: null, expectedInterval: null, tokenHash: crypto.randomUUID() }
}
