/**
 * What Rollcall should answer, said again from the product's rules and from nothing of its code: one command at a time, no
 * batches, no database. Whatever both say must be the same. Here the log makes the state: what is announced is what is done.
 */
import type { DeploymentState } from '../../../src/domain/values.ts'
import { createDevices } from './reference-devices.ts'
import {
  blank,
  type Connectivity,
  elsewhere,
  type Image,
  type KeptReport,
  type Known,
  type ModelChange,
  type ModelDeclaration,
  type ModelReport,
  nextAttempt,
  type Retired,
  unordered,
  untried,
  withDeclared,
  withDerived,
} from './reference-facts.ts'
import { failureStage, isInProgress, type Part, type Parts, remember, staleBy } from './reference-rules.ts'

export function createModel(base: number) {
  const all: Known[] = []
  const log: ModelChange[] = []
  const past = new Map<number, readonly Image[]>([[base, []]])
  /** The devices in maintenance windows. */
  const pastInside = new Map<number, readonly string[]>([[base, []]])
  const kept: KeptReport[] = []
  const devices = createDevices()
  const { retired, meet, place, parentOf, isMisplaced } = devices
  const rollouts = new Set<string>()
  let revision = base
  let at = 0
  let entry = 0

  const begin = (now: number): void => {
    at = Math.max(at, now)
  }
  const isPresent = (d: Known): boolean => !d.image.forgotten

  function record(change: Pick<ModelChange, 'id' | 'device' | 'kind' | 'what'> & Partial<ModelChange>): void {
    revision += 1
    log.push({ part: null, to: null, ...change, revision, at, entry })
    const images = all.map(({ image }) => image)
    past.set(revision, images)
    pastInside.set(revision, [...devices.inside.keys()])
  }

  function noteMove(device: string, kind: string, what: string): void {
    entry += 1
    record({ id: null, device, kind, what })
  }

  function tell(d: Known, kind: string, what: string, next: Partial<Image>, about: Partial<ModelChange> = {}): void {
    d.image = withDerived({ ...d.image, ...next, at, revision: revision + 1 })
    record({ id: d.image.id, device: d.image.device, kind, what, ...about })
  }

  function born(id: string, reporter: string, on: string, rollout: string): Known {
    const image = { ...blank, ...untried, id, device: on, rollout, forgotten: true, at: 0, revision: 0 }
    rollouts.add(rollout)
    const d = { number: all.length, image, reporter, declared: [], claimed: false, marks: unordered, repeats: 0 }
    all.push(d)
    return d
  }

  /** What is said of one device is not said of another. */
  function leave(d: Known, on: string): void {
    if (d.image.device !== on) d.image = elsewhere(d.image, on)
  }

  /** A first state, or one after being forgotten. */
  function appear(
    d: Known,
    on: string,
    state: DeploymentState,
    error: string | null,
    more: Pick<Image, 'version' | 'stage'> & Partial<Pick<Image, 'rollout'>>,
  ): void {
    Object.assign(d, { claimed: false, marks: unordered })
    leave(d, on)
    const attempt = nextAttempt(d.image, state)
    const next = { device: on, state, error, parts: {}, attempt, ...more, forgotten: false }
    tell(d, 'DEPLOYMENT_STATE_CHANGED', `null ${state} ${error} ${more.stage} ${attempt} ${more.version}`, next, {
      to: state,
    })
  }

  function merge(d: Known, wanted: Parts): void {
    for (const [part, was] of Object.entries(d.image.parts)) {
      const now = wanted[part]
      if (!now) {
        const { [part]: _, ...parts } = d.image.parts
        tell(d, 'COMPONENT_REMOVED', `${part} ${was.state}`, { parts }, { part })
      } else if (now.state !== was.state || now.error !== was.error) set(d, part, was.state, now)
    }
    for (const [part, now] of Object.entries(wanted)) if (!(part in d.image.parts)) set(d, part, null, now)
  }

  function set(d: Known, part: string, from: DeploymentState | null, { state, error }: Part): void {
    const parts = { ...d.image.parts, [part]: { state, error, revision: revision + 1 } }
    tell(d, 'COMPONENT_STATE_CHANGED', `${part} ${from} ${state} ${error}`, { parts }, { part, to: state })
  }

  /** A report makes only an offline device online. In a maintenance window, nothing makes it offline. */
  function connect(name: string, to: Connectivity): void {
    const from = devices.all.get(name) ?? 'UNKNOWN'
    if (from === to || (to === 'ONLINE' && from !== 'OFFLINE')) return
    if (to === 'OFFLINE' && devices.inside.has(name)) return
    devices.all.set(name, to)
    entry += 1
    record({ id: null, device: name, kind: 'CONNECTIVITY_CHANGED', what: `${from} ${to}` })
  }

  function report(
    r: ModelReport,
    now: number,
  ): { verdict: string; staleBy?: string; revision: number } | 'DEVICE_RETIRED' {
    begin(now)
    const isRefused = retired.has(r.reporter) || retired.has(r.device)
    if (isRefused || (r.device !== r.reporter && isMisplaced(r.device))) return 'DEVICE_RETIRED'
    meet(r.reporter)
    if (r.device !== r.reporter) place(r.device)
    const before = revision
    const declared = all.find((d) => isPresent(d) && !d.claimed && d.image.id === r.id && d.image.device === r.device)
    const d = all.find((one) => one.image.id === r.id && one.reporter === r.reporter) ?? declared
    const by = d && isPresent(d) ? staleBy(d.marks, r, now) : null
    connect(r.reporter, 'ONLINE')
    if (d && by) {
      kept.push({ number: d.number, verdict: 'STALE', staleBy: by, receivedAt: now, revision: null, state: r.state })
      return { verdict: 'STALE', staleBy: by, revision }
    }
    const known = d ?? born(r.id, r.reporter, r.device, r.id)
    entry += 1
    hear(known, r, now)
    if (r.device !== r.reporter) {
      const codes = [r.error, ...Object.values(r.parts).map(({ error }) => error)]
      connect(r.device, codes.includes('102') ? 'OFFLINE' : 'ONLINE')
    }
    if (revision === before) known.repeats += 1
    else
      kept.push({ number: known.number, verdict: 'APPLIED', staleBy: null, receivedAt: now, revision, state: r.state })
    return { verdict: revision === before ? 'UNCHANGED' : 'APPLIED', revision }
  }

  function hear(d: Known, r: ModelReport, now: number): void {
    const hasMoved = isPresent(d) && d.image.device !== r.device
    if (hasMoved) move(d, r.device)
    const isSilent = Object.keys(r.parts).length === 0 && isPresent(d) && Object.keys(d.image.parts).length > 0
    const parts = isSilent ? d.image.parts : withDeclared(r.parts, d.declared)
    const stage = failureStage(r.state, parts, isPresent(d) ? d.image : null)
    if (!isPresent(d)) appear(d, r.device, r.state, r.error, { version: r.version, stage })
    else {
      const { state, error, stage: before, attempt, version } = d.image
      const told = { state: r.state, error: r.error, version: r.version ?? version }
      const next = { ...told, stage, attempt: nextAttempt(d.image, r.state) }
      const what = `${hasMoved ? null : state} ${next.state} ${next.error} ${stage} ${next.attempt} ${next.version}`
      if (what !== `${state} ${state} ${error} ${before} ${attempt} ${version}`)
        tell(d, 'DEPLOYMENT_STATE_CHANGED', what, next, { to: r.state })
    }
    // An empty list says nothing; but what was declared is there from the beginning.
    if (Object.keys(r.parts).length > 0 || Object.keys(d.image.parts).length === 0)
      merge(d, withDeclared(r.parts, d.declared))
    goOn(d)
    Object.assign(d, { reporter: r.reporter, claimed: true, marks: remember(d.marks, r, now) })
  }

  /** There it has not been tried, and until something is said of it there it waits. */
  function move(d: Known, to: string): void {
    const from = d.image.device
    leave(d, to)
    tell(d, 'DEPLOYMENT_MOVED', `${from} ${to}`, { attempt: 1 })
  }

  function declare(
    rollout: string | null,
    list: readonly ModelDeclaration[],
    now: number,
  ): { revision: number } | 'CONFLICT' {
    begin(now)
    if (list.some(({ device: on }) => retired.has(on) || isMisplaced(on))) return 'CONFLICT'
    if (rollout) rollouts.add(rollout)
    for (const { device: on, id, application, parts } of list) {
      place(on)
      const same = all.filter(({ image }) => image.id === id)
      const own = same.filter(({ reporter }) => reporter === on)
      const there = same.filter(({ image }) => image.device === on)
      const candidates = [...own, ...there]
      const d = candidates.find(isPresent) ?? candidates[0] ?? born(id, on, on, rollout ?? id)
      entry += 1
      const { rollout: former } = d.image
      const next = { application: application ?? d.image.application, rollout: rollout ?? former }
      if (!isPresent(d)) appear(d, on, 'PENDING', null, { version: null, stage: null, rollout: next.rollout })
      if (next.application !== d.image.application || next.rollout !== former)
        tell(d, 'DEPLOYMENT_REVISED', `${next.application} ${next.rollout}`, next)
      d.declared = parts ?? d.declared
      merge(d, withDeclared(d.claimed ? d.image.parts : {}, d.declared))
      goOn(d)
    }
    return { revision }
  }

  /** What stood still does not any more once its state or one of its parts has changed. */
  function goOn(d: Known): void {
    const moves = ['DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED', 'COMPONENT_REMOVED']
    const moved = log.some((change) => change.entry === entry && moves.includes(change.kind))
    if (d.image.stalled && moved) tell(d, 'DEPLOYMENT_STALLED', 'false', { stalled: false })
  }

  function clearMarks(reporter: string): number {
    const theirs = all.filter((d) => d.reporter === reporter)
    for (const d of theirs) d.marks = unordered
    return theirs.length
  }

  return {
    ...{ all, log, past, pastInside, kept, devices: devices.all, retired, rollouts },
    revision: () => revision,
    report,
    declare,
    /** What each number names; null: nothing. */
    forget(numbers: readonly number[], now: number): { revision: number } | 'NOT_FOUND' {
      begin(now)
      const list = numbers.map((number) => all[number])
      if (list.includes(undefined)) return 'NOT_FOUND'
      for (const d of list) {
        entry += 1
        if (d && isPresent(d)) tell(d, 'DEPLOYMENT_FORGOTTEN', '', { forgotten: true })
        if (d) d.marks = unordered
      }
      return { revision }
    },
    /** Those that were found to stand still when they had that revision. */
    stall(found: readonly { readonly number: number; readonly revision: number }[], now: number): { marked: number } {
      begin(now)
      const stalling = found.flatMap(({ number, revision: then }) => {
        const d = all[number]
        const isStill = d?.image.revision === then && isPresent(d) && d.claimed && !d.image.stalled
        return isStill && isInProgress(d.image) ? [d] : []
      })
      for (const d of stalling) {
        entry += 1
        tell(d, 'DEPLOYMENT_STALLED', 'true', { stalled: true })
      }
      return { marked: stalling.length }
    },
    retire(name: string, withChildren: boolean, reason: string, now: number): Retired | 'NOT_FOUND' | 'CONFLICT' {
      begin(now)
      if (!devices.all.has(name)) return 'NOT_FOUND'
      const below = devices.below(name)
      if (below.length > 0 && !withChildren) return 'CONFLICT'
      const isChanged = retired.get(name)?.reason !== reason
      for (const one of [...(isChanged ? [name] : []), ...below]) {
        devices.move([one], null, noteMove)
        entry += 1
        retired.set(one, { at: retired.get(one)?.at ?? at, reason })
        record({ id: null, device: one, kind: 'DEVICE_RETIRED', what: reason })
      }
      const gone = [name, ...below]
      const closed = all.filter((d) => isPresent(d) && (gone.includes(d.image.device) || gone.includes(d.reporter)))
      for (const d of closed) {
        entry += 1
        tell(d, 'DEPLOYMENT_FORGOTTEN', '', { forgotten: true })
        d.marks = unordered
      }
      return { revision, results: [{ isChanged, children: below.length, deployments: closed.length }] }
    },
    maintain(names: readonly string[], window: string | null, now: number): { moved: number } {
      begin(now)
      const before = revision
      devices.move(names, window, noteMove)
      return { moved: revision - before }
    },
    resetOrder(reporter: string, now: number): { deployments: number } | 'NOT_FOUND' {
      begin(now)
      if (!devices.all.has(reporter)) return 'NOT_FOUND'
      return { deployments: clearMarks(reporter) }
    },
    register(name: string, now: number): readonly { isNew: boolean }[] | 'CONFLICT' {
      begin(now)
      if (retired.has(parentOf(name) ?? '')) return 'CONFLICT'
      place(name)
      const isNew = !devices.registered.has(name) || retired.has(name)
      if (retired.delete(name)) {
        entry += 1
        record({ id: null, device: name, kind: 'DEVICE_REINSTATED', what: '' })
      }
      clearMarks(name)
      devices.registered.add(name)
      return [{ isNew }]
    },
  }
}
