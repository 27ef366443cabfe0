/** Desired state over Git: one read-only repository for each device, served by `git upload-pack`. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../domain/errors.ts'
import { createCallerSemaphore } from '../limits/caller-semaphore.ts'
import { createDeadline } from '../limits/deadline.ts'
import type { GitLimits, Refuse } from '../limits/limits.ts'
import type { Log } from '../log.ts'
import { createFolder } from './folder.ts'
import type { History, Stamp } from './history.ts'
import { findGit, GitFailed, type GitProgram, type Protocol, type Run, type RunOptions } from './program.ts'
import { createRepositories, type Held, isSame, Spoiled } from './repositories.ts'

export interface GitConfig {
  /** Null: devices are not served over Git. */
  readonly program: string | null
  readonly path: string
  /** Where repositories may be kept; null: where the system has its temporary files. */
  readonly directory: string | null
}

export interface GitDeps {
  readonly config: GitConfig
  readonly history: History
  readonly limits: GitLimits
  readonly refuse: Refuse
  readonly log: Pick<Log, 'warn'>
  readonly clock: () => number
}

export interface Git {
  /** Why Git is not available, for clients that ask for it. Null: it is available. */
  readonly missing: string | null
  /** Calls `tell` with each part of Git's answer, and waits for it. */
  uploadPack(device: string, request: UploadRequest, tell: (output: Readable) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface UploadRequest {
  readonly protocol: Protocol
  /** Null: which refs and capabilities there are is what is asked. */
  readonly body: Uint8Array | null
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal
}

/** Repositories that are kept, some hundred kilobytes each. */
const mostRepositories = 1_000
/** Processes at once for one device. */
const mostOfOne = 2

export async function createGit(deps: GitDeps): Promise<Git> {
  const { config, log } = deps
  if (config.program === null) return absent('it is switched off (GIT)')
  const program = await findGit({ program: config.program, path: config.path })
  if (program === null) {
    log.warn({ program: config.program }, 'git is not installed here: devices cannot fetch their desired state with it')
    return absent('git is not installed where the server runs')
  }
  return serveWith(program, deps)
}

function serveWith(program: GitProgram, { config, history, limits, refuse, log, clock }: GitDeps): Git {
  const folder = createFolder(config.directory)
  const all = createCallerSemaphore(limits.processes)
  const each = createCallerSemaphore(mostOfOne)
  let isClosing = false

  /** Room for one process; no longer than it is worth waiting for. */
  async function enter(lanes: typeof all, whose: string, signal: AbortSignal): Promise<() => void> {
    const late = new AbortController()
    const timer = setTimeout(() => {
      const message = 'more Git clients are served already than there is room for: come again'
      late.abort(refuse('gitProcesses', message, { max: limits.processes }))
    }, limits.waiting)
    try {
      return await lanes.enter(whose, AbortSignal.any([signal, late.signal]))
    } finally {
      clearTimeout(timer)
    }
  }

  async function run(
    command: readonly string[],
    options: RunOptions,
    work: (run: Run) => Promise<void>,
  ): Promise<void> {
    const leave = await enter(all, '', options.signal)
    try {
      requireOpen()
      // A process that ended with the server is not an error.
      await work(program.run(command, options)).finally(requireOpen)
    } finally {
      leave()
    }
  }

  function requireOpen(): void {
    if (isClosing) throw new DomainError('UNAVAILABLE', 'the server is being stopped: come again later')
  }

  const repositories = createRepositories({
    history,
    run,
    async folder() {
      requireOpen()
      return folder.path()
    },
    deadline: () => createDeadline(limits.time, refuse),
    most: mostRepositories,
    clock,
    log,
  })

  const listings = new LRUCache<string, Buffer>({ maxSize: mostListed, sizeCalculation: ({ length }) => length + 512 })

  async function remember(listing: string, held: Held, output: Readable, ended: Promise<void>): Promise<Readable> {
    const { newest } = held
    const said = await buffer(output)
    await ended.catch(asSpoiled)
    if (isSame(newest, held.newest)) listings.set(keyOf(listing, newest), said)
    return Readable.from([said])
  }

  const ask = (
    { directory }: Held,
    { protocol, body, signal }: UploadRequest,
    answer: (output: Readable, ended: Promise<void>) => Promise<void>,
  ): Promise<void> =>
    run(
      ['upload-pack', '--stateless-rpc', '--strict', ...(body === null ? ['--advertise-refs'] : []), '.'],
      { directory, protocol, signal },
      async ({ input, output, ended }) => {
        input.end(body ?? undefined)
        await begun(output, ended)
        await answer(output, ended)
      },
    )

  return {
    missing: null,
    async uploadPack(device, request, tell) {
      const listing = listingOf(device, request)
      const known = listing && listings.get(keyOf(listing, await history.newest(device)))
      if (known) return tell(Readable.from([known]))
      const leave = await enter(each, device, request.signal)
      const { signal: late, met } = createDeadline(limits.time, refuse)
      const answering = { ...request, signal: AbortSignal.any([request.signal, late]) }
      let told: Promise<void> | null = null
      const serve = (): Promise<void> =>
        repositories.use(device, (held) =>
          ask(held, answering, async (output, ended) => {
            told = tell(listing ? await remember(listing, held, output, ended) : readAhead(output, answering.signal))
            told.catch(() => undefined)
            await ended.catch(asSpoiled)
          }),
        )
      try {
        await serve().catch(async (error: unknown) => {
          if (!(error instanceof Spoiled)) throw error
          if (told === null) await serve()
        })
        await told
      } catch (error) {
        // What git cannot do with a new one either is not the repository's fault.
        throw error instanceof Spoiled ? new DomainError('INVALID_REQUEST', 'git has no answer to that') : error
      } finally {
        met()
        leave()
      }
    },
    async close() {
      isClosing = true
      await program.close()
      await folder.remove()
    },
  }
}

/** Bytes: of a fleet that asks again and again, a few hundred for each device. */
const mostListed = 16 << 20
/** No client's question of that kind is longer. */
const longestListing = 4_096

/**
 * Whether it is what nearly every request is, and what the answer then depends on beside the version: a device that asks which the newest
 * commit is. While nothing is declared, git need not be asked again. Null: it is another one.
 */
function listingOf(device: string, { protocol, body }: UploadRequest): string | null {
  if (body === null) return JSON.stringify([device, protocol])
  const isListing = protocol === 2 && body.length <= longestListing && lsRefs.test(Buffer.from(body).toString('latin1'))
  return isListing ? JSON.stringify([device, createHash('sha256').update(body).digest('base64')]) : null
}

const lsRefs = /^[0-9a-f]{4}command=ls-refs\n/

function keyOf(listing: string, { version, at }: Stamp): string {
  return `${listing} ${version} ${at}`
}

/** Bytes that are buffered for a slow client, so that it does not hold a process: almost any answer fits. */
const mostAhead = 4 << 20

/** What was cut off does not look as if it were whole. */
function readAhead(output: Readable, signal: AbortSignal): Readable {
  const ahead = new PassThrough({
    highWaterMark: mostAhead,
    flush: (callback) => callback(signal.aborted ? signal.reason : null),
  })
  pipeline(output, ahead).catch(() => undefined)
  return ahead
}

/** Until it answers: whether something is wrong with the repository shows before that. */
async function begun(output: Readable, ended: Promise<void>): Promise<void> {
  await Promise.race([once(output, 'readable'), ended.catch(asSpoiled)])
  if (output.readableLength === 0) await ended.catch(asSpoiled)
}

/** For example by a job that cleans temporary folders. */
function asSpoiled(error: unknown): never {
  const isSpoiled = error instanceof GitFailed || (error as NodeJS.ErrnoException | null)?.code === 'ENOENT'
  throw isSpoiled ? new Spoiled('git could not use it', { cause: error }) : error
}

function absent(why: string): Git {
  const missing = `there is no Git here: ${why}`
  return {
    missing,
    uploadPack: () => Promise.reject(new DomainError('NOT_FOUND', missing)),
    close: () => Promise.resolve(),
  }
}
