/**
 * A history as commands for `git fast-import`, one commit a version. The content of a commit depends on the history alone, so its hash
 * is the same on every replica, after every restart, and with every version of Git.
 */

import { createHash } from 'node:crypto'
import { firstManifestVersion } from '../../domain/desired.ts'
import { escapeHidden, escapeLine } from '../../domain/look-alike.ts'
import type { DocumentChange, Version } from './history.ts'

/**
 * The file name of a deployment. An id is any text, but the name must be valid on every system that clones. Some systems ignore case
 * (Windows, macOS) or reserve names (`CON`), and Git reserves `.git`. Most ids are valid names. Any other id becomes its readable part, "~"
 * and its hash. No valid id contains "~", so the two forms cannot collide.
 */
const plain = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/
const longestSlug = 60

export function fileOf(deploymentId: string): string {
  return `deployments/${plain.test(deploymentId) ? deploymentId : hashed(deploymentId)}.yaml`
}

function hashed(deploymentId: string): string {
  const slug = deploymentId.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestSlug)
  return `${slug}~${createHash('sha256').update(deploymentId).digest('hex').slice(0, 32)}`
}

/** The content of a tree: digests by deploymentId. */
export type Tree = ReadonlyMap<string, string>

export const branch = 'refs/heads/main'

const committer = 'Rollcall <>'

/** Documents must match their digests, so Git must not rewrite line endings. */
const attributes = '* -text\n'

/** The empty first commit, so that a device without a desired state can clone. */
export function firstCommit(): string {
  return [
    `commit ${branch}\ncommitter ${committer} 0 +0000\n`,
    text(message('Begin with nothing', firstManifestVersion)),
    file('.gitattributes', attributes),
    file('manifest.json', manifest(firstManifestVersion, new Map())),
  ].join('')
}

/** `isNext`: the parent is the head of the repository, not another commit of the same import. */
export function commit(version: Version, tree: Tree, isNext: boolean): string {
  const time = `${Math.floor(version.at / 1000)} +0000`
  return [
    `commit ${branch}\nauthor ${ident(version.caller)} ${time}\ncommitter ${committer} ${time}\n`,
    text(message(oneLineEnding(version.why).trim() || describe(version.changes), version.version)),
    isNext ? `from ${branch}^0\n` : '',
    ...version.changes.map(({ deploymentId, content }) =>
      content === null ? `D ${fileOf(deploymentId)}\n` : file(fileOf(deploymentId), content),
    ),
    file('manifest.json', manifest(version.version, tree)),
  ].join('')
}

/** Marks the end. Git rejects an import without it, because the import was interrupted. */
export const done = 'done\n'

export function grow(tree: Tree, changes: readonly DocumentChange[]): Tree {
  const grown = new Map(tree)
  for (const { deploymentId, digest } of changes)
    if (digest === null) grown.delete(deploymentId)
    else grown.set(deploymentId, digest)
  return grown
}

/** The file that gives readers the version, and the deployment of each file. */
function manifest(version: number, tree: Tree): string {
  const deployments = [...tree]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([deploymentId, digest]) => ({ deploymentId, digest, path: fileOf(deploymentId) }))
  return `${JSON.stringify({ manifestVersion: version, deployments }, null, 2)}\n`
}

function message(why: string, version: number): string {
  return `${why}\n\nManifest-Version: ${version}\n`
}

const mostNames = 3

/** Used when no reason was given. */
function describe(changes: readonly DocumentChange[]): string {
  const parts = [
    ['Declare', changes.filter(({ content }) => content !== null)],
    ['Remove', changes.filter(({ content }) => content === null)],
  ] as const
  const said = parts
    .filter(([, some]) => some.length > 0)
    .map(([verb, some]) => {
      const names = some.slice(0, mostNames).map(({ deploymentId }) => oneLine(deploymentId))
      const more = some.length > mostNames ? ` and ${some.length - mostNames} more` : ''
      return `${verb} ${names.join(', ')}${more}`
    })
  return said.join('; ') || 'Change nothing'
}

/** A name that Git accepts. Git ends a name at the first "<". */
function ident(caller: string): string {
  const name = oneLine(caller.replaceAll(/[<>]/g, ' ')) || 'unknown'
  return `${name} <${/^[^\s@]+@[^\s@]+$/.test(name) ? name : ''}>`
}

function oneLine(words: string): string {
  return escapeLine(words).replaceAll(/ +/g, ' ').trim()
}

function oneLineEnding(words: string): string {
  return escapeHidden(words.replaceAll(/\r\n?/g, '\n'))
}

function file(path: string, content: string): string {
  return `M 100644 inline ${path}\n${text(content)}`
}

function text(content: string): string {
  return `data ${Buffer.byteLength(content)}\n${content}\n`
}
