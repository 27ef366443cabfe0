/** The version of the program, as its package has it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './installation.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }

export const build = { version, node: process.versions.node } as const
