/** What stands in a page of documentation as a block, so that it can be executed. "…" stands for what differs from time to time. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'

export const root = join(import.meta.dirname, '../..')

export const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Where every page says that the server is. */
export const usualUrl = 'http://127.0.0.1:4000'

/** What Git does not ignore, as paths from the root. Without Git: all but the folders that it ignores. */
export function filesOfCheckout(): readonly string[] {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status === 0) return stdout.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))
  const exclude = ['**/node_modules', '.git', 'data', 'coverage', 'dist', 'test/bench/results']
  const found = globSync('**/{.ci/*,.*,*}', { cwd: root, exclude, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => relative(root, join(parentPath, name)))
}

export interface Block {
  readonly language: string
  readonly text: string
}

export function readPage(name: string): string {
  return readFileSync(join(root, name), 'utf8')
}

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }))
}

/** A sentence's word for what is never the same. */
function withWildcards(value: unknown): unknown {
  if (value === '…') return expect.stringMatching(/./)
  if (Array.isArray(value)) return value.map(withWildcards)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withWildcards(member)]))
}

export interface Stream {
  readonly child: ChildProcess
  goesOnWith(text: string): Promise<void>
}

export function openStream(command: string): Stream {
  const child = spawn('sh', ['-ec', `exec ${command}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    // Signs of life are not events.
    lines.push(...parts.filter((line) => line !== '' && !line.startsWith(':')))
  })
  return {
    child,
    async goesOnWith(text) {
      for (const expected of text.split('\n').filter((line) => line !== '')) {
        await expect
          .poll(() => lines.length, { message: `the stream does not go on with ${expected}` })
          .toBeGreaterThan(0)
        expect(lines.shift()).toMatch(new RegExp(`^${expected.split('…').map(RegExp.escape).join('.+')}$`))
      }
    },
  }
}

const run = promisify(execFile)

export interface Execution {
  readonly url: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Whether the block is left out; it may also do what has to be done before. */
  readonly skip?: (command: string) => boolean | Promise<boolean>
}

/**
 * Each `sh` block in order; the `json` block after it is its whole answer, and a `text` block is what the latest stream (curl -N)
 * goes on with. Returns how many streams there were.
 */
export async function execute(
  blocks: readonly Block[],
  { url, env = {}, cwd = root, skip }: Execution,
): Promise<number> {
  const streams: Stream[] = []
  let answer = ''
  try {
    for (const { language, text } of blocks) {
      if (language === 'json') expect(JSON.parse(answer), text).toEqual(withWildcards(JSON.parse(text)))
      else if (language === 'text') await streams.at(-1)?.goesOnWith(text)
      else if (language === 'sh' && !(await skip?.(text))) {
        const command = text.replaceAll(usualUrl, url)
        if (/^curl -\w*N/.test(command)) streams.push(openStream(command))
        else answer = (await run('sh', ['-ec', command], { cwd, env: { ...process.env, ...env } })).stdout
      }
    }
    return streams.length
  } finally {
    for (const { child } of streams) {
      const ended = once(child, 'close')
      child.kill()
      await ended
    }
  }
}
