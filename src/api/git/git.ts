/** Desired state over Git: one read-only repository for each device, served by `git upload-pack`. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../../domain/errors.ts'
import { createCallerSemaphore } from '../../platform/limits/caller-semaphore.ts'
import { createDeadline } from '../../platform/limits/deadline.ts'
import type { GitLimits, Refuse } from '../../platform/limits/limits.ts'
import type { Log } from '../../platform/log/log.ts'
import { createFolder } from './folder.ts'
import type { History, Stamp } from './history.ts'
import { findGit, GitFailed, type GitProgram, type Protocol, type Run, type RunOptions } from './program.ts'
import { createRepositories, type Held, isSame, Spoiled } from './repositories.ts'

export interface GitConfig {
  /** The path of Git. Null: devices are not served over Git. */
  readonly program: string | null
  readonly path: string
  /** The folder for repositories. Null: the temporary folder of the system. */
  readonly directory: string | null
}

interface GitDeps {
  readonly config: GitConfig
  readonly history: History
  readonly limits: GitLimits
  readonly refuse: Refuse
  readonly log: Pick<Log, 'warn'>
  readonly clock: () => number
}

export interface Git {
  /** The reason why Git is not available, for clients. Null: it is available. */
  readonly missing: string | null
  /** Calls `send` with the stream of Git's answer, and waits for it. */
  uploadPack(device: string, request: UploadRequest, send: (output: Readable) => Promise<void>): Promise<void>
  close(): Promise<void>
}

interface UploadRequest {
  readonly protocol: Protocol
  /** Null: the client asks for refs and capabilities. */
  readonly body: Uint8Array | null
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal
}

/** The number of repositories that are kept. Each has some hundred kilobytes. */
const mostRepositories = 1_000
/** Concurrent processes for one device. */
const mostOfOne = 2

export async function createGit(deps: GitDeps): Promise<Git> {
  const { config, log } = deps
  if (config.program === null) return absent('it is switched off (GIT)')
  const program = await findGit({ program: config.program, path: config.path })
  if (program === null) {
    log.warn({ program: config.program }, 'git is not installed: devices cannot fetch their desired state over Git')
    return absent('git is not installed where the server runs')
  }
  return serveWith(program, deps)
}

function serveWith(program: GitProgram, { config, history, limits, refuse, log, clock }: GitDeps): Git {
  const folder = createFolder(config.directory)
  const all = createCallerSemaphore(limits.processes)
  const each = createCallerSemaphore(mostOfOne)
  const readAhead = createReadAhead()
  let isClosing = false

  /** Waits for a free process slot, for a limited time. */
  async function enter(lanes: typeof all, whose: string, signal: AbortSignal): Promise<() => void> {
    const late = new AbortController()
    const timer = setTimeout(() => {
      const message = 'too many Git clients: retry later'
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
      // When the server stops, its processes fail: the error is then UNAVAILABLE.
      await work(program.run(command, options)).finally(requireOpen)
    } finally {
      leave()
    }
  }

  function requireOpen(): void {
    if (isClosing) throw new DomainError('UNAVAILABLE', 'the server is shutting down: retry later')
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
    async uploadPack(device, request, send) {
      const listing = listingOf(device, request)
      const known = listing && listings.get(keyOf(listing, await history.newest(device)))
      if (known) return send(Readable.from([known]))
      const leave = await enter(each, device, request.signal)
      const { signal: late, met } = createDeadline(limits.time, refuse)
      const answering = { ...request, signal: AbortSignal.any([request.signal, late]) }
      let sent: Promise<void> | null = null
      const serve = (): Promise<void> =>
        repositories.use(device, (held) =>
          ask(held, answering, async (output, ended) => {
            sent = send(listing ? await remember(listing, held, output, ended) : readAhead(output, answering.signal))
            sent.catch(() => undefined)
            await ended.catch(asSpoiled)
          }),
        )
      try {
        await serve().catch(async (error: unknown) => {
          if (!(error instanceof Spoiled && error.isRecreated)) throw error
          if (sent === null) await serve()
        })
        await sent
      } catch (error) {
        // Git fails with a new repository too, so the request is the cause.
        throw error instanceof Spoiled ? new DomainError('INVALID_REQUEST', 'git cannot answer the request') : error
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

/** Bytes of cached answers: a few hundred for each device that polls. */
const mostListed = 16 << 20
/** Bytes. A request that lists refs is shorter than this. */
const longestListing = 4_096

/**
 * The cache key of a request for the newest commit: everything beside the version that the answer depends on. Nearly every request is one.
 * Its answer is cached until the next declaration. Null: another kind of request.
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

/** Bytes that are buffered for a slow client, so that it does not occupy a process. Almost every answer fits. */
export const mostAhead = 4 << 20
/** Slow clients at once with that much. What is beyond occupies its process: otherwise a thousand slow devices take gigabytes. */
export const mostAheadAtOnce = 16

/** An interrupted answer ends with an error, so that it does not look complete. */
function createReadAhead(): (output: Readable, signal: AbortSignal) => Readable {
  let held = 0
  return (output, signal) => {
    const isHeld = held < mostAheadAtOnce
    const ahead = new PassThrough({
      ...(isHeld && { readableHighWaterMark: mostAhead }),
      flush: (callback) => callback(signal.aborted ? signal.reason : null),
    })
    if (isHeld) {
      held += 1
      ahead.once('close', () => {
        held -= 1
      })
    }
    pipeline(output, ahead).catch(() => undefined)
    return ahead
  }
}

/** Waits for the first output of Git. A defect of the repository shows before that. */
async function begun(output: Readable, ended: Promise<void>): Promise<void> {
  await Promise.race([once(output, 'readable'), ended.catch(asSpoiled)])
  if (output.readableLength === 0) await ended.catch(asSpoiled)
}

/** For example, a job that cleans temporary folders removed the repository. */
function asSpoiled(error: unknown): never {
  const isSpoiled = error instanceof GitFailed || (error as NodeJS.ErrnoException | null)?.code === 'ENOENT'
  throw isSpoiled ? new Spoiled('git cannot read the repository', { cause: error }) : error
}

function absent(why: string): Git {
  const missing = `there is no Git here: ${why}`
  return {
    missing,
    uploadPack: () => Promise.reject(new DomainError('NOT_FOUND', missing)),
    close: () => Promise.resolve(),
  }
}
