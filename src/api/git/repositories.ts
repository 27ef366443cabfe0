/**
 * One repository a device. It is created from the history on the first request and updated before each use. Repositories are a cache: the
 * database has everything in them, and every replica creates the same commits. So a repository is never repaired, and a repository of
 * another process is never used:
 *
 *   missing, of another history, damaged, or old ──▶ recreated; the former one is removed when its last request ends
 *   behind the history ──▶ missing commits are added            up to date ──▶ used
 *
 * A request that arrives during an update waits for the next update, so it sees everything that was committed before the request.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../../domain/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Log } from '../../platform/log/log.ts'
import { type Coalesced, coalesce } from '../../store/connection/coalesce.ts'
import { branch, commit, done, firstCommit, grow, type Tree } from './commits.ts'
import { beginning, type History, type Stamp } from './history.ts'
import type { Run, RunOptions } from './program.ts'

export interface RepositoriesDeps {
  readonly history: History
  /** Runs Git when a process slot is free. */
  readonly run: (command: readonly string[], options: RunOptions, work: (run: Run) => Promise<void>) => Promise<void>
  /** The folder for repositories. */
  readonly folder: () => Promise<string>
  /** The time limit for creating a repository. */
  readonly deadline: () => Deadline
  /** The number of repositories that are kept. The least recently used go first. */
  readonly most: number
  readonly clock: () => number
  readonly log: Pick<Log, 'warn'>
}

export interface Repositories {
  /** `work` receives a repository with everything that was committed before the call. */
  use<T>(device: string, work: (held: Held) => Promise<T>): Promise<T>
}

export interface Held {
  readonly directory: string
  /** The version of the repository. Other requests may add commits meanwhile. */
  readonly newest: Stamp
}

/** Git could not use the repository. */
export class Spoiled extends Error {
  /** It was damaged, so the next request gets a new one. Otherwise a new one failed too: the request is the cause. */
  isRecreated = false
}

interface Repository extends Held {
  readonly madeAt: number
  newest: Stamp
  tree: Tree
  /** Each import adds a pack file. Many pack files make reads slow. */
  additions: number
  users: number
  isDropped: boolean
}

/**
 * Milliseconds between two repositories that replace a damaged one. A client may send requests that Git refuses, as many as its rate allows:
 * each would cost the import of a whole history.
 */
const recreationPause = 60_000

/** Milliseconds. Jobs that clean temporary folders remove files that are some days old. */
const oldest = 24 * 3_600_000
const mostAdditions = 50

export function createRepositories({
  history,
  run,
  folder,
  deadline,
  most,
  clock,
  log,
}: RepositoriesDeps): Repositories {
  const held = new LRUCache<string, Repository>({ max: most, dispose: drop })
  const updates = new Map<string, Coalesced<Repository>>()
  /** By device, when its repository was last found damaged. */
  const damagedAt = new LRUCache<string, number>({ max: most })
  let made = 0

  function drop(repository: Repository): void {
    repository.isDropped = true
    if (repository.users === 0) remove(repository.directory)
  }

  function remove(directory: string): void {
    rm(directory, { recursive: true, force: true }).catch((error: unknown) =>
      log.warn({ error }, 'a repository that is not used any more was not removed'),
    )
  }

  /** Returns a repository with everything that was committed before the call. */
  async function update(device: string): Promise<Repository> {
    const newest = await history.newest(device)
    const there = held.get(device)
    const isYoung = there !== undefined && clock() - there.madeAt < oldest && there.additions < mostAdditions
    if (there && isYoung && isSame(there.newest, newest)) return there
    if (there && isYoung && there.newest.version < newest.version && (await add(device, there))) return there
    return make(device)
  }

  /** Updates the repository. False: it belongs to another history, or it is damaged. */
  async function add(device: string, repository: Repository): Promise<boolean> {
    try {
      const isOfThis = await fill(device, repository, false)
      repository.additions += 1
      return isOfThis
    } catch (error) {
      // There is no process slot, or no database. Recreating the repository would need both, too.
      if (error instanceof DomainError) throw error
      log.warn({ error }, 'a repository could not be updated: it is recreated')
      return false
    }
  }

  async function make(device: string): Promise<Repository> {
    made += 1
    const name = String(made)
    const directory = join(await folder(), name)
    const repository: Repository = {
      directory,
      madeAt: clock(),
      newest: beginning,
      tree: new Map(),
      ...{ additions: 0, users: 0, isDropped: false },
    }
    try {
      await prepare(directory)
      await fill(device, repository, true)
    } catch (error) {
      remove(directory)
      throw error
    }
    held.set(device, repository)
    return repository
  }

  /** False, and nothing was added: the repository belongs to another history. */
  async function fill(device: string, repository: Repository, isNew: boolean): Promise<boolean> {
    let { newest, tree } = repository
    const isEmpty = newest.version === beginning.version
    // The newest version of the repository is read again, to compare it with that of the history.
    const versions = history.after(device, isEmpty ? newest.version : newest.version - 1)
    if (!isEmpty) {
      const known = await versions.next()
      if (known.done || !isSame(known.value, newest)) return false
    }
    let failure: unknown = null

    async function* commands(): AsyncGenerator<string> {
      let isNext = !isNew
      try {
        if (isNew) yield firstCommit()
        for await (const version of versions) {
          tree = grow(tree, version.changes)
          yield commit(version, tree, isNext)
          newest = { version: version.version, at: version.at }
          isNext = false
        }
        yield done
      } catch (error) {
        failure = error
        throw error
      }
    }
    const { signal, met } = deadline()
    const options = { directory: repository.directory, signal }
    await run(['fast-import', '--quiet', '--done', '--date-format=raw'], options, async ({ input, ended }) => {
      pipeline(Readable.from(commands()), input).catch(() => undefined)
      // Without "done" the import fails too. The first error is the cause.
      await ended.catch((error: unknown) => {
        throw failure ?? error
      })
    }).finally(met)
    repository.newest = newest
    repository.tree = tree
    return true
  }

  /** The result of an update that begins after this call. */
  function updateSoon(device: string): Promise<Repository> {
    const updateIt = updates.get(device) ?? coalesce(() => update(device))
    updates.set(device, updateIt)
    const forget = (): void => {
      if (updateIt.isIdle()) updates.delete(device)
    }
    const updated = updateIt()
    updated.then(forget, forget)
    return updated
  }

  return {
    async use(device, work) {
      let repository = await updateSoon(device)
      while (repository.isDropped) repository = await updateSoon(device)
      repository.users += 1
      try {
        return await work(repository)
      } catch (error) {
        if (error instanceof Spoiled) {
          const isCurrent = held.peek(device) === repository
          if (isCurrent && clock() - (damagedAt.get(device) ?? Number.NEGATIVE_INFINITY) >= recreationPause) {
            log.warn({ error }, 'a repository could not be used: it is recreated')
            damagedAt.set(device, clock())
            held.delete(device)
          }
          error.isRecreated = held.peek(device) !== repository
        }
        throw error
      } finally {
        repository.users -= 1
        if (repository.isDropped && repository.users === 0) remove(repository.directory)
      }
    },
  }
}

export function isSame(a: Stamp, b: Stamp): boolean {
  return a.version === b.version && a.at === b.at
}

/** The minimum that `git init` creates: no templates, no hooks. */
async function prepare(directory: string): Promise<void> {
  // A cleaning job may have removed the parent folders.
  await mkdir(join(directory, 'objects'), { recursive: true, mode: 0o700 })
  await mkdir(join(directory, 'refs'))
  await writeFile(join(directory, 'HEAD'), `ref: ${branch}\n`)
  await writeFile(join(directory, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n')
}
