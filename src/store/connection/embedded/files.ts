/**
 * The files of an embedded database as PGlite uses them, through Emscripten's NODEFS. NODEFS has no fsync, so PostgreSQL's syncs did nothing: here they
 * sync. A sync also syncs the folders whose entries have changed since the last one. PostgreSQL leaves that to the file system for a new file of
 * a table, and POSIX does not promise it. What this thread has not changed needs no sync, because the thread begins with one of all files. Otherwise
 * PostgreSQL syncs each of its thousand files twice after a crash, one after another, which takes seconds.
 *
 * PGlite continues after any exception, as if the statement had succeeded or for ever. So a failure after which PostgreSQL would panic ends the
 * thread from here: a failed sync, and a failed write of the log or during the start. Recovery from the files then decides what is committed.
 */
import { closeSync, fsyncSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

export interface FileFailure {
  readonly message: string
  /** SQLSTATE. */
  readonly code: string
  /** Files and folders whose sync has failed. */
  readonly unsynced: readonly string[]
}

interface FilesOptions {
  readonly dataDir: string
  readonly isSynced: boolean
  /** Files and folders that an earlier thread could not sync. */
  readonly unsynced: readonly string[]
  /** Whether PostgreSQL has started. */
  isOpen(): boolean
}

interface Node {
  readonly parent: Node
}
interface Stream {
  readonly node: Node
  readonly nfd: number
}
/** The part of NODEFS that is used here. It has no types. */
interface Nodefs {
  realPath(node: Node): string
  readonly node_ops: {
    setattr(node: Node, ...rest: unknown[]): void
    mknod(folder: Node, ...rest: unknown[]): Node
    rename(node: Node, folder: Node, name: string): void
    unlink(folder: Node, name: string): void
    rmdir(folder: Node, name: string): void
  }
  readonly stream_ops: {
    fsync?: (stream: Stream) => number
    setattr(stream: Stream, ...rest: unknown[]): void
    write(stream: Stream, ...rest: unknown[]): number
  }
}

/** The system keeps the files in memory too, so PostgreSQL's default of 128 MB would hold most pages twice. A page that only the system has costs a call. */
const relaxed = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB']
/** `-F` turns the syncs off. Emscripten's fdatasync, which is the default, does nothing. */
const synced = [...relaxed.filter((each) => each !== '-F'), '-c', 'wal_sync_method=fsync']

/** `fail` ends the thread. */
export function openFiles(
  { dataDir, isSynced, unsynced, isOpen }: FilesOptions,
  fail: (failure: FileFailure) => never,
): Required<Pick<PGliteOptions, 'fs' | 'startParams'>> {
  const fs = new NodeFS(dataDir)
  const begin = fs.init.bind(fs)
  async function init(pg: PGlite, options: object): ReturnType<typeof begin> {
    try {
      // PostgreSQL does not start beside one that is empty, as an end during the start leaves it. The folder is locked by other means.
      rmSync(join(dataDir, 'postmaster.pid'), { force: true })
      for (const path of unsynced) writeAgain(path)
      if (isSynced) await syncAll(dataDir)
    } catch (error) {
      fail(failureOf(error, 'sync its files', unsynced))
    }
    const { emscriptenOpts } = await begin(pg, options)
    const preRun = [emscriptenOpts.preRun ?? []].flat()
    const last = (module: object): void => addSyncs((module as { NODEFS: Nodefs }).NODEFS, isOpen, fail)
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...preRun, last] } }
  }
  return { fs: Object.assign(fs, { init }), startParams: isSynced ? synced : relaxed }
}

function addSyncs(
  { realPath, node_ops, stream_ops }: Nodefs,
  isOpen: FilesOptions['isOpen'],
  fail: (failure: FileFailure) => never,
): void {
  const [onNode, onStream] = [{ ...node_ops }, { ...stream_ops }]
  /** Files that have changed since their last sync. */
  const written = new WeakSet<Node>()
  /** Folders whose entries have changed since the last sync. */
  const changed = new Set<string>()
  const change = (folder: Node): unknown => changed.add(realPath(folder))

  /** `folder`: of the file. */
  function attempt<T>(folder: Node, work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (!isOpen() || realPath(folder).endsWith('/pg_wal')) fail(failureOf(error, 'write its files'))
      throw error
    }
  }
  function sync(path: string, work: () => void): void {
    try {
      work()
    } catch (error) {
      fail(failureOf(error, 'sync its files', [path, ...changed]))
    }
  }

  const nodeChanges: Nodefs['node_ops'] = {
    setattr(node, ...rest) {
      written.add(node)
      onNode.setattr(node, ...rest)
    },
    mknod(folder, ...rest) {
      change(folder)
      const made = attempt(folder, () => onNode.mknod(folder, ...rest))
      written.add(made)
      return made
    },
    rename(node, folder, name) {
      change(node.parent)
      change(folder)
      attempt(folder, () => onNode.rename(node, folder, name))
    },
    unlink(folder, name) {
      change(folder)
      onNode.unlink(folder, name)
    },
    rmdir(folder, name) {
      change(folder)
      onNode.rmdir(folder, name)
    },
  }
  const streamChanges: Required<Nodefs['stream_ops']> = {
    setattr(stream, ...rest) {
      written.add(stream.node)
      onStream.setattr(stream, ...rest)
    },
    write(stream, ...rest) {
      written.add(stream.node)
      return attempt(stream.node.parent, () => onStream.write(stream, ...rest))
    },
    fsync(stream) {
      if (written.has(stream.node)) sync(realPath(stream.node), () => fsyncSync(stream.nfd))
      written.delete(stream.node)
      for (const folder of changed) sync(folder, () => syncFolder(folder))
      changed.clear()
      return 0
    },
  }
  Object.assign(node_ops, nodeChanges)
  Object.assign(stream_ops, streamChanges)
}

/** The folder and all that is in it. Several at once: file systems write them to the disk together, which is 30 times as fast as one after another. */
export async function syncAll(folder: string): Promise<void> {
  const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const left = ['.', ...inside].map((path) => join(folder, path)).values()
  const syncEach = async (): Promise<void> => {
    for (const path of left) {
      const file = await open(path, 'r')
      await file.sync().finally(() => file.close())
    }
  }
  await Promise.all(Array.from({ length: 16 }, syncEach))
}

/** So that its entries are on the disk. Some file systems need no sync of a folder and refuse it, as PostgreSQL knows. */
export function syncFolder(path: string): void {
  withFile(path, 'r', ['ENOENT', 'EACCES', 'EINVAL', 'EBADF'], fsyncSync)
}

/**
 * After a failed sync, the kernel may take pages for clean that are not on the disk: a later sync would succeed without them. So all pages are written
 * again.
 */
function writeAgain(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  withFile(path, 'r+', ['ENOENT'], (file) => {
    const part = Buffer.alloc(1024 * 1024)
    for (let at = 0; ; ) {
      const length = readSync(file, part, 0, part.length, at)
      if (length === 0) break
      at += writeSync(file, part, 0, length, at)
    }
    fsyncSync(file)
  })
}

function withFile(path: string, flags: 'r' | 'r+', ignored: readonly string[], work: (file: number) => void): void {
  try {
    const file = openSync(path, flags)
    try {
      work(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (!ignored.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** NODEFS has these numbers of WASI in place of names. */
const names: Readonly<Record<number, string>> = { 19: 'EDQUOT', 29: 'EIO', 51: 'ENOSPC', 69: 'EROFS' }
const states: Readonly<Record<string, string>> = { EDQUOT: '53100', ENOSPC: '53100', EROFS: '25006' }

function failureOf(error: unknown, what: string, unsynced: readonly string[] = []): FileFailure {
  const { code, errno = 0 } = error as NodeJS.ErrnoException
  const name = code ?? names[errno] ?? `error ${errno}`
  return { message: `the embedded database could not ${what} (${name})`, code: states[name] ?? '58030', unsynced }
}
