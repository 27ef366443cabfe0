/** The server starts with what deploy/ sets: the variables exist and their values are valid together. */
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseConfig, variables } from '../../src/server/config/config.ts'
import { readPage } from '../support/documentation.ts'

const customTags = [{ tag: '!override', collection: 'seq' as const, resolve: (value: unknown) => value }]
const compose = parse(readPage('deploy/compose.yaml'), { merge: true })
const overlay = parse(readPage('deploy/compose.tls.yaml'), { merge: true, customTags })
const standby = parse(readPage('deploy/compose.standby.yaml'), { merge: true })
const image = Object.fromEntries(
  [...readPage('deploy/Dockerfile').matchAll(/\b([A-Z_]+)=(\S+)/g)]
    .map(([, name = '', value = '']) => [name, value] as const)
    .filter(([name]) => variables.includes(name)),
)

/** `${NAME:-value}` has its value, and `${NAME:?message}` an address or some secret. */
function substitute(environment: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown): string =>
    String(value)
      .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
      .replace(/\$\{\w+_URL:\?[^}]*\}/g, 'https://rollcall.example')
      .replace(/\$\{\w+:\?[^}]*\}/g, 'x'.repeat(32))
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, text(value)]))
}

it.each([
  ['compose.yaml', {}],
  ['compose.tls.yaml', overlay['x-tls'].environment],
  ['compose.standby.yaml', standby['x-reading'].environment],
])('%s sets variables that the server takes', (_, more) => {
  const environment = substitute({ ...compose['x-rollcall'].environment, ...more })
  for (const name of Object.keys(environment)) expect(variables).toContain(name)
  expect(() => parseConfig({ ...image, ...environment })).not.toThrow()
})
