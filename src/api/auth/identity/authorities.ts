/**
 * The authorities of each trust domain of this server, as its identity services publish them.
 *
 *   start ──▶ those on disk ──▶ the service answers ──▶ those of the service, and on disk
 *   the hint's time is over ──▶ asked again: an added authority is trusted from then on, a removed one no longer
 *   no answer, or one that cannot be used ──▶ the former ones stay in use; one line in the log, and one when it is over
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../../platform/log/log.ts'
import { AnswerError } from '../../../platform/outbound/request.ts'
import { type BackOff, pauseAfter } from '../../../platform/timing/back-off.ts'
import type { Bundle } from './bundle.ts'
import type { KeptBundles } from './kept-bundles.ts'
import { discoveryUrl, type Fetched, type Source } from './source.ts'

export interface Authorities {
  /** Undefined: none is known. */
  of(trustDomain: string): Bundle | undefined
  /** Asks all services now, for the present trust domains of this server. The pause until the next look begins anew. */
  refresh(): Promise<void>
  /** Ends when each service has been asked once, or the trust domains have bundles from disk. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface AuthoritiesDeps {
  readonly sources: readonly Source[]
  /** Those of this server, at present. */
  readonly domains: () => readonly string[]
  /** Rejects with AnswerError, or an error of the connection. */
  readonly ask: (source: Source, domains: readonly string[], signal: AbortSignal) => Promise<Fetched>
  readonly kept: KeptBundles
  readonly log: Log
  readonly changed: () => void
  /** Rejects when the signal is aborted. */
  readonly pause?: ((milliseconds: number, signal: AbortSignal) => Promise<unknown>) | undefined
}

/** Seconds: where the service gives no hint (SPIFFE Federation §4.1), and the bounds of a hint. */
const [usual, shortest, longest] = [300, 10, 86_400]
/** Milliseconds. */
const retries: BackOff = { first: 2_000, longest: 60_000 }

export function createAuthorities(deps: AuthoritiesDeps): Authorities {
  const { sources, domains, ask, kept, log, changed } = deps
  const pause = deps.pause ?? ((time, signal) => sleep(time, undefined, { signal, ref: false }))
  const held = new Map<string, Bundle>()
  const ending = new AbortController()
  const { signal } = ending
  const follows = sources.map((source) => follow(source))

  function follow(source: Source) {
    const service = discoveryUrl(source.url).href
    let failures = 0
    let looking: Promise<number> = Promise.resolve(0)
    /** Milliseconds until the next look. */
    async function look(): Promise<number> {
      const asked = source.trustDomain === null ? domains() : [source.trustDomain]
      try {
        const { bundles, refresh } = await ask(source, asked, signal)
        await accept(bundles, service)
        if (failures > 0) log.info({ service }, 'the identity service can be used again')
        failures = 0
        return 1_000 * Math.min(longest, Math.max(shortest, refresh || usual))
      } catch (error) {
        if (signal.aborted) return 0
        if (failures === 0) {
          const problem = describe(error)
          log.warn(
            { service, problem },
            `the identity service cannot be used: ${problem}. The former authorities stay in use`,
          )
        }
        failures += 1
        return pauseAfter(retries, failures - 1)
      }
    }
    let waking = new AbortController()
    const turn = (): Promise<number> => {
      looking = looking.then(look)
      waking.abort()
      waking = new AbortController()
      return looking
    }
    async function run(): Promise<void> {
      while (!signal.aborted) {
        const [last, time] = [looking, await looking]
        await pause(time, AbortSignal.any([signal, waking.signal])).catch(() => undefined)
        // Otherwise it was asked meanwhile: its answer says when the next look is.
        if (looking === last && !signal.aborted) void turn()
      }
    }
    return { source, service, turn, run }
  }

  async function accept(bundles: ReadonlyMap<string, Bundle>, service: string): Promise<void> {
    for (const [domain, { sequence }] of bundles) {
      const before = held.get(domain)?.sequence ?? null
      if (before !== null && sequence !== null && sequence < before)
        throw new AnswerError(
          `it answers with the bundle ${sequence} of ${domain} after the bundle ${before}. If it was restored, remove ${kept.pathOf(domain)} and restart`,
        )
    }
    const found = [...bundles].filter(([domain, bundle]) => isNew(domain, bundle))
    if (found.map(([domain, bundle]) => take(domain, bundle)).includes(true)) changed()
    // Last: the trust in a removed authority must not wait for the disk.
    for (const [domain, bundle] of found)
      await kept.write(domain, service, bundle).catch((error: Error) => {
        log.warn(
          { error },
          'a bundle of authorities was not kept: a start without the identity service would know none',
        )
      })
  }

  function isNew(domain: string, bundle: Bundle): boolean {
    const before = held.get(domain)
    return (
      before?.sequence !== bundle.sequence ||
      fingerprintsOf(bundle).symmetricDifference(fingerprintsOf(before)).size > 0
    )
  }

  /** Whether the authorities have changed. */
  function take(domain: string, bundle: Bundle): boolean {
    const [now, then] = [fingerprintsOf(bundle), fingerprintsOf(held.get(domain))]
    held.set(domain, bundle)
    const [added, removed] = [[...now.difference(then)], [...then.difference(now)]]
    if (added.length + removed.length === 0) return false
    const facts = { trustDomain: domain, sequence: bundle.sequence, authorities: now.size }
    log.info({ ...facts, added, removed }, 'the authorities of a trust domain have changed')
    if (bundle.unusable > 0)
      log.warn(
        { ...facts, unusable: bundle.unusable },
        'a bundle has authorities that cannot be used: they are left out',
      )
    return true
  }

  /** Of trust domains without authorities. */
  async function readKept(): Promise<void> {
    const before = held.size
    for (const { source, service } of follows)
      for (const domain of source.trustDomain === null ? domains() : [source.trustDomain])
        try {
          const bundle = held.has(domain) ? null : await kept.read(domain, service)
          if (bundle && !held.has(domain)) held.set(domain, bundle)
        } catch (error) {
          log.warn({ error, file: kept.pathOf(domain) }, 'a kept bundle of authorities cannot be used')
        }
    if (held.size > before) changed()
  }

  let runs: readonly Promise<void>[] = []
  return {
    of: (domain) => held.get(domain),
    async refresh() {
      await readKept()
      await Promise.all(follows.map(({ turn }) => turn()))
    },
    async start() {
      await readKept()
      const firsts = follows.map(({ turn }) => turn())
      runs = follows.map(({ run }) => run())
      if (domains().some((domain) => !held.has(domain))) await Promise.all(firsts)
    },
    async stop() {
      ending.abort()
      await Promise.all(runs)
    },
  }
}

function fingerprintsOf(bundle: Bundle | undefined): ReadonlySet<string> {
  return new Set(bundle?.authorities.map(({ fingerprint256 }) => fingerprint256))
}

function describe(error: unknown): string {
  if (error instanceof AnswerError) return error.message
  if (!(error instanceof Error)) return 'it failed'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'it does not answer in time'
  // It may quote the names of a certificate.
  return `it cannot be reached (${error.message.slice(0, 200)})`
}
