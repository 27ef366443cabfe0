/** A history in memory, and what a commit of the repositories made from it shows. */
import { createHash } from 'node:crypto'
import { beginning, type DocumentChange, type History, type Version } from '../../src/api/git/history.ts'
import { git, gitExactly } from '../support/clients/git-client.ts'

export interface PlayedHistory extends History {
  /** By device. */
  readonly versions: Map<string, Version[]>
  /** One version more; null withdraws. */
  declare(device: string, contents: Readonly<Record<string, string | null>>, why?: string): void
  /** As after a backup was restored: so many versions are left, and what follows is of another time. */
  restore(device: string, left: number): void
  /** How often it was read. */
  readonly reads: { newest: number; after: number }
  /** Throws, once, when so many versions have been read. */
  breakAfter: number | null
}

const begin = Date.parse('2026-07-10T06:00:00.500Z')

export function playHistory(): PlayedHistory {
  const versions = new Map<string, Version[]>()
  const reads = { newest: 0, after: 0 }
  let delay = 0
  const history: PlayedHistory = {
    versions,
    reads,
    breakAfter: null,
    declare(device, contents, why = '') {
      const list = versions.get(device) ?? []
      versions.set(device, list)
      const changes = Object.entries(contents).map(([deploymentId, content]) => change(deploymentId, content))
      const at = begin + list.length * 60_000 + delay
      list.push({ version: list.length + 2, at, caller: 'ann', why, changes })
    },
    restore(device, left) {
      versions.get(device)?.splice(left)
      delay += 1
    },
    async newest(device) {
      reads.newest += 1
      return versions.get(device)?.at(-1) ?? beginning
    },
    async *after(device, version) {
      reads.after += 1
      let read = 0
      for (const one of [...(versions.get(device) ?? [])]) {
        if (one.version <= version) continue
        if (read === history.breakAfter) {
          history.breakAfter = null
          throw new Error('the database has gone')
        }
        read += 1
        yield one
      }
    },
  }
  return history
}

export function change(deploymentId: string, content: string | null): DocumentChange {
  return { deploymentId, content, digest: content === null ? null : digestOf(content) }
}

export function digestOf(content: string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

interface Shown {
  readonly deployments: readonly { readonly deploymentId: string; readonly digest: string; readonly path: string }[]
}

/** What is in the tree, checked against what its manifest says is. */
export async function contentsAt(directory: string, commit = 'HEAD'): Promise<Record<string, string>> {
  const { deployments }: Shown = JSON.parse(await git(directory, 'show', `${commit}:manifest.json`))
  const files = (await git(directory, 'ls-tree', '-r', '-z', '--name-only', commit)).split('\0').filter(Boolean)
  const expected = ['.gitattributes', 'manifest.json', ...deployments.map(({ path }) => path)]
  if (files.toSorted().join() !== expected.toSorted().join())
    throw new Error(`the manifest names ${expected}, the tree has ${files}`)
  const contents: Record<string, string> = {}
  for (const { deploymentId, digest, path } of deployments) {
    const content = await gitExactly(directory, 'cat-file', 'blob', `${commit}:${path}`)
    if (digestOf(content) !== digest) throw new Error(`${path} is not what its digest says`)
    contents[deploymentId] = content
  }
  return contents
}

export async function hashesOf(directory: string): Promise<string[]> {
  return (await git(directory, 'log', '--format=%H', 'main')).split('\n')
}
