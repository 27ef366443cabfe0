/** The version of the program, as its package has it. A checkout and the installed package have package.json in the same place from here. */
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

export const build = { version, node: process.versions.node } as const
