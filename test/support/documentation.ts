/** What stands in a page of documentation as a block, so that it can be executed. "…" stands for what differs from time to time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

export const root = join(import.meta.dirname, '../..')

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
export function withWildcards(value: unknown): unknown {
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
