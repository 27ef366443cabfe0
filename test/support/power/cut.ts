/**
 * What a power cut may leave of recorded files, as POSIX permits it:
 *
 *   a sector of a file   its content at any moment since the last sync of the file
 *   the size of a file   likewise, and what was not written is zero
 *   entries of a folder  as they were at any moment since the last sync of the folder
 *
 * Each sector, file and folder by itself, so a later change may be there and an earlier one not. File systems promise more: what survives
 * this survives them. Only a rename within a folder is atomic.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Recorded } from './recorder.ts'

export interface Step {
  readonly recorded: Recorded
  readonly bytes: Buffer
  /** Where it ends in the record. */
  readonly end: number
}

export function readSteps(log: string): Step[] {
  const all = readFileSync(log)
  const steps: Step[] = []
  for (let at = 0; at < all.length; ) {
    const line = all.indexOf('\n', at)
    const recorded: Recorded = JSON.parse(all.toString('utf8', at, line))
    const end = line + 1 + (recorded.does === 'write' ? recorded.length : 0)
    steps.push({ recorded, bytes: all.subarray(line + 1, end), end })
    at = end
  }
  return steps
}

/** A change of a file that is not on the disk for certain. */
type Pending =
  | { readonly at: number; readonly bytes: Uint8Array }
  | { readonly size: number; readonly isGrowth: boolean }

interface File {
  content: Buffer
  size: number
  pending: Pending[]
  /** Where it was created. */
  readonly place?: { readonly folder: Folder; readonly name: string } | undefined
}
interface Folder {
  readonly entries: Map<string, Entry>
  pending: ((entries: Map<string, Entry>) => void)[]
  /** With all that is pending. */
  readonly present: Map<string, Entry>
}
type Entry = File | Folder

/** How much of what was not synced is left. */
export type Left = 'nothing' | 'everything' | 'some'

const sector = 512

export interface Files {
  /** Of before the steps. Absent: there were none. */
  readonly base?: string | undefined
  /** Whether a sync of a new file syncs its entry in the folder, too, as ext4, XFS and Btrfs do. POSIX does not demand it. */
  readonly syncsEntries?: boolean
}

/** Writes to `to` what is left of `root`. `random`: below 1. */
export function cutPower(
  steps: readonly Step[],
  root: string,
  to: string,
  left: Left,
  random: () => number,
  { base, syncsEntries = false }: Files = {},
): void {
  const disk = replay(steps, root, base === undefined ? newFolder() : readFolder(base), syncsEntries)
  writeFolder(disk, to, left, random)
}

function newFolder(): Folder {
  return { entries: new Map(), pending: [], present: new Map() }
}

function readFolder(path: string): Folder {
  const folder = newFolder()
  for (const each of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, each.name)
    if (each.isDirectory()) put(folder, each.name, readFolder(inside))
    else {
      const content = readFileSync(inside)
      put(folder, each.name, { content, size: content.length, pending: [] })
    }
  }
  return folder
}

function put({ entries, present }: Folder, name: string, entry: Entry): void {
  entries.set(name, entry)
  present.set(name, entry)
}

function isFolder(entry: Entry): entry is Folder {
  return 'entries' in entry
}

function replay(steps: readonly Step[], root: string, top: Folder, syncsEntries: boolean): Folder {
  const files = new Map<number, File>()

  function folderAt(path: string): Folder {
    if (path === root) return top
    const found = folderAt(dirname(path)).present.get(basename(path))
    if (!found || !isFolder(found)) throw new Error(`${path} is no folder`)
    return found
  }
  function change(path: string, work: (entries: Map<string, Entry>) => void): void {
    const folder = folderAt(path)
    folder.pending.push(work)
    work(folder.present)
  }
  function fileOf(number: number): File {
    const file = files.get(number)
    if (!file) throw new Error(`the file ${number} was not created here`)
    return file
  }

  for (const { recorded, bytes } of steps) {
    switch (recorded.does) {
      case 'create':
      case 'mkdir': {
        const place = { folder: folderAt(dirname(recorded.path)), name: basename(recorded.path) }
        const made: Entry =
          recorded.does === 'mkdir' ? newFolder() : { content: Buffer.alloc(0), size: 0, pending: [], place }
        if (recorded.does === 'create' && !isFolder(made)) files.set(recorded.file, made)
        change(dirname(recorded.path), (entries) => void entries.set(basename(recorded.path), made))
        break
      }
      case 'open': {
        const found = folderAt(dirname(recorded.path)).present.get(basename(recorded.path))
        if (!found || isFolder(found)) throw new Error(`there is no file ${recorded.path}`)
        files.set(recorded.file, found)
        break
      }
      case 'remove':
        change(dirname(recorded.path), (entries) => void entries.delete(basename(recorded.path)))
        break
      case 'link':
      case 'rename': {
        const [from, to] = [basename(recorded.path), basename(recorded.to)]
        if (dirname(recorded.path) !== dirname(recorded.to)) throw new Error('a rename between folders is not modelled')
        change(dirname(recorded.path), (entries) => {
          const entry = entries.get(from)
          if (recorded.does === 'rename') entries.delete(from)
          if (entry) entries.set(to, entry)
        })
        break
      }
      case 'write':
        fileOf(recorded.file).pending.push({ at: recorded.at, bytes })
        break
      case 'truncate':
        fileOf(recorded.file).pending.push({ size: recorded.size, isGrowth: false })
        break
      case 'sync': {
        const file = fileOf(recorded.file)
        for (const each of file.pending) apply(file, each)
        file.pending = []
        const { folder, name } = file.place ?? {}
        if (syncsEntries && folder && name && folder.present.get(name) === file) folder.entries.set(name, file)
        break
      }
      case 'sync-folder': {
        const folder = folderAt(recorded.path)
        for (const work of folder.pending) work(folder.entries)
        folder.pending = []
        break
      }
      case 'fail-to-sync': {
        const file = fileOf(recorded.file)
        file.pending = file.pending.map((each) =>
          'bytes' in each ? { size: each.at + each.bytes.length, isGrowth: true } : each,
        )
        break
      }
    }
  }
  return top
}

function apply(file: File, change: Pending): void {
  if ('bytes' in change) {
    resize(file, Math.max(file.size, change.at + change.bytes.length))
    file.content.set(change.bytes, change.at)
  } else resize(file, change.isGrowth ? Math.max(file.size, change.size) : change.size)
}

function resize(file: File, size: number): void {
  if (size < file.size) file.content.fill(0, size, file.size)
  if (size > file.content.length) {
    const larger = Buffer.alloc(Math.max(size, 2 * file.content.length))
    larger.set(file.content.subarray(0, file.size))
    file.content = larger
  }
  file.size = size
}

/** How many of so many changes in a row are on the disk. */
function leftOf(count: number, left: Left, random: () => number): number {
  if (left !== 'some') return left === 'nothing' ? 0 : count
  const r = random()
  return r < 0.3 ? 0 : r < 0.6 ? count : Math.floor(random() * (count + 1))
}

/** The content of the file, each sector of a moment of its own. */
function contentLeft({ content, size, pending }: File, left: Left, random: () => number): Buffer {
  const file: File = { content: Buffer.from(content.subarray(0, size)), size, pending }
  const sized = leftOf(pending.length, left, random)
  const moments = new Map<number, number>()
  const momentOf = (at: number): number => {
    const known = moments.get(at)
    if (known !== undefined) return known
    const moment = leftOf(pending.length, left, random)
    moments.set(at, moment)
    return moment
  }
  for (const [index, change] of pending.entries()) {
    if (!('bytes' in change)) {
      if (index < sized) apply(file, change)
      continue
    }
    const end = change.at + change.bytes.length
    if (index < sized) resize(file, Math.max(file.size, end))
    for (let at = change.at; at < end; ) {
      const next = Math.min(end, (Math.floor(at / sector) + 1) * sector)
      // What is beyond the size that was written to the disk is lost.
      if (index < momentOf(Math.floor(at / sector)) && at < file.size)
        file.content.set(change.bytes.subarray(at - change.at, Math.min(next, file.size) - change.at), at)
      at = next
    }
  }
  return file.content.subarray(0, file.size)
}

function writeFolder(folder: Folder, to: string, left: Left, random: () => number): void {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const work of folder.pending.slice(0, leftOf(folder.pending.length, left, random))) work(folder.entries)
  for (const [name, entry] of folder.entries) {
    if (isFolder(entry)) writeFolder(entry, join(to, name), left, random)
    else writeFileSync(join(to, name), contentLeft(entry, left, random), { mode: 0o600 })
  }
}
