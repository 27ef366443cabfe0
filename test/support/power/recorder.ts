/**
 * Preloaded into a process: records what it does to the files in POWER_ROOT, in each of its threads, in the order in which the kernel was asked for it.
 * cut.ts makes of it what a power cut may leave. A record is a line of JSON, and the bytes that it announces.
 *
 * The program writes files by these functions of Node only; power.test.ts compares the record of all with the files themselves, so that nothing
 * is missed. SQLite's lock of the folder, which has no content, is left out.
 */
import fs, { type PathLike } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join, resolve } from 'node:path'

export type Recorded =
  /** `file`: an inode number, which a later file may have again. */
  | { readonly does: 'create' | 'open'; readonly path: string; readonly file: number }
  | { readonly does: 'mkdir' | 'remove'; readonly path: string }
  | { readonly does: 'rename' | 'link'; readonly path: string; readonly to: string }
  | { readonly does: 'write'; readonly file: number; readonly at: number; readonly length: number }
  | { readonly does: 'truncate'; readonly file: number; readonly size: number }
  /** After it has succeeded. */
  | { readonly does: 'sync'; readonly file: number }
  | { readonly does: 'sync-folder'; readonly path: string }
  /** The kernel takes the pages for clean, and they are not on the disk. */
  | { readonly does: 'fail-to-sync'; readonly file: number }

export interface Fault {
  readonly call: 'fsync' | 'write'
  /** Of a path that it concerns. */
  readonly part: string
  readonly code: string
  /** Calls that succeed before it. */
  readonly after?: number
  /** Bytes that were written to the file since its last sync, at least. */
  readonly least?: number
  /** Then the fault is over. */
  readonly isOnce?: boolean
}

const { POWER_ROOT: root = '', POWER_LOG: log = '', POWER_FAULT: faultFile = '' } = process.env
const real = { ...fs, promises: { ...fs.promises } }
const out = log === '' ? null : real.openSync(log, 'a')
/** Open files below the root. */
const open = new Map<number, { readonly path: string; readonly file: number }>()

const isInside = (path: PathLike): boolean =>
  root !== '' && `${resolve(String(path))}/`.startsWith(`${root}/`) && !String(path).endsWith('rollcall.lock')

/** Bytes by path. */
const unsynced = new Map<string, number>()

function record(recorded: Recorded, bytes?: Uint8Array): void {
  if (out === null) return
  const line = Buffer.from(`${JSON.stringify(recorded)}\n`)
  real.writeSync(out, bytes ? Buffer.concat([line, bytes]) : line)
}

/** Throws where a test wants this call to fail. */
function mayFail(call: Fault['call'], path: string): void {
  if (faultFile === '' || !real.existsSync(faultFile)) return
  const fault: Fault = JSON.parse(real.readFileSync(faultFile, 'utf8'))
  if (fault.call !== call || !path.includes(fault.part)) return
  const { after = 0, least = 0 } = fault
  if ((unsynced.get(path) ?? 0) < least) return
  if (after > 0) {
    real.writeFileSync(faultFile, JSON.stringify({ ...fault, after: after - 1 }))
    return
  }
  if (fault.isOnce) real.rmSync(faultFile)
  throw Object.assign(new Error(`${fault.code}: ${call} ${path}`), { code: fault.code, syscall: call })
}

function make(folder: string, recursive: boolean): void {
  if (recursive && dirname(folder) !== folder && !real.existsSync(dirname(folder))) make(dirname(folder), true)
  if (!real.existsSync(folder)) record({ does: 'mkdir', path: folder })
}

function remove(path: string): void {
  const found = real.lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) for (const name of real.readdirSync(path)) remove(join(path, name))
  if (found && isInside(path)) record({ does: 'remove', path: resolve(path) })
}

function noteFile(path: string, flags: unknown): number {
  const before = real.statSync(path, { throwIfNoEntry: false })
  const fd = real.openSync(path, flags as string, 0o600)
  const { ino } = real.fstatSync(fd)
  if (!before?.isDirectory()) record({ does: before ? 'open' : 'create', path: resolve(path), file: ino })
  if (flags === 'w' && before && before.size > 0) record({ does: 'truncate', file: ino, size: 0 })
  open.set(fd, { path: resolve(path), file: ino })
  return fd
}

const patched: Partial<Record<keyof typeof fs, unknown>> = {
  mkdirSync(path: string, options?: { recursive?: boolean }) {
    if (isInside(path)) make(resolve(path), options?.recursive ?? false)
    return real.mkdirSync(path, options)
  },
  rmSync(path: string, options: object) {
    remove(path)
    return real.rmSync(path, options)
  },
  unlinkSync(path: string) {
    remove(path)
    return real.unlinkSync(path)
  },
  rmdirSync(path: string) {
    remove(path)
    return real.rmdirSync(path)
  },
  renameSync(path: string, to: string) {
    if (isInside(path)) record({ does: 'rename', path: resolve(path), to: resolve(to) })
    return real.renameSync(path, to)
  },
  openSync: (path: string, flags: unknown) =>
    isInside(path) ? noteFile(path, flags) : real.openSync(path, flags as string),
  closeSync(fd: number) {
    open.delete(fd)
    return real.closeSync(fd)
  },
  writeFileSync(path: string, content: string | Uint8Array, options: { mode?: number } = {}) {
    if (!isInside(path)) return real.writeFileSync(path, content, options)
    const fd = noteFile(path, 'w')
    patchedWrite(fd, Buffer.from(content as Uint8Array))
    open.delete(fd)
    real.closeSync(fd)
    if (options.mode !== undefined) real.chmodSync(path, options.mode)
  },
  writeSync: patchedWrite,
  ftruncateSync(fd: number, size = 0) {
    const file = open.get(fd)
    if (file) record({ does: 'truncate', file: file.file, size })
    return real.ftruncateSync(fd, size)
  },
  truncateSync(path: string, size = 0) {
    if (isInside(path)) {
      const file = real.statSync(path).ino
      record({ does: 'open', path: resolve(path), file })
      record({ does: 'truncate', file, size })
    }
    return real.truncateSync(path, size)
  },
  fsyncSync(fd: number) {
    const file = open.get(fd)
    if (!file) return real.fsyncSync(fd)
    sync(file, () => real.fsyncSync(fd), real.fstatSync(fd).isDirectory())
  },
}

function patchedWrite(fd: number, bytes: Uint8Array, offset = 0, length = bytes.length - offset, at = 0): number {
  const file = open.get(fd)
  if (!file) return real.writeSync(fd, bytes, offset, length, at)
  if (length > 0) mayFail('write', file.path)
  unsynced.set(file.path, (unsynced.get(file.path) ?? 0) + length)
  record(
    { does: 'write', file: file.file, at, length },
    new Uint8Array(bytes.buffer, bytes.byteOffset + offset, length),
  )
  return real.writeSync(fd, bytes, offset, length, at)
}

function sync({ path, file }: { path: string; file: number }, work: () => void, isFolder: boolean): void {
  try {
    mayFail('fsync', path)
    work()
  } catch (error) {
    if (!isFolder) record({ does: 'fail-to-sync', file })
    throw error
  }
  unsynced.delete(path)
  record(isFolder ? { does: 'sync-folder', path } : { does: 'sync', file })
}

Object.assign(fs, patched)
fs.promises.open = async (path, flags, mode) => {
  const handle = await real.promises.open(path, flags, mode)
  if (!isInside(path as PathLike)) return handle
  const noted = { path: resolve(String(path)), file: (await handle.stat()).ino }
  const isFolder = (await handle.stat()).isDirectory()
  if (!isFolder) record({ does: 'open', ...noted })
  const { sync: flush } = handle
  handle.sync = async () => {
    mayFail('fsync', noted.path)
    await flush.call(handle)
    record(isFolder ? { does: 'sync-folder', path: noted.path } : { does: 'sync', file: noted.file })
  }
  return handle
}
syncBuiltinESMExports()
