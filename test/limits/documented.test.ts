import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  maxAnswerSize,
  maxBodySize,
  maxDocumentSize,
  maxErrors,
  maxMessageSize,
  maxOperationsPerSocket,
  maxRows,
  maxText,
  maxTree,
  maxUnread,
  maxVariableDepth,
  maxVariableSize,
} from '../../src/api/graphql/guards/limits.ts'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { bodyTimeout } from '../../src/platform/limits/admission.ts'
import { fewPieces, leastBytes, leastPiece } from '../../src/platform/limits/bodies.ts'
import { uncounted } from '../../src/platform/limits/held-bytes.ts'
import { defaultLimits } from '../../src/platform/limits/limits.ts'

const [, page = ''] =
  /^## Limits$(.*)/ms.exec(readFileSync(join(import.meta.dirname, '../../docs/graphql.md'), 'utf8')) ?? []
const design = readFileSync(join(import.meta.dirname, '../../docs/design/limits.md'), 'utf8')
const source = readFileSync(join(import.meta.dirname, '../../src/platform/limits/limits.ts'), 'utf8')

/** By the first of their names. */
const sizes: Readonly<Record<string, readonly number[]>> = {
  documentSize: [maxDocumentSize, maxText.tokens, maxText.nesting],
  depth: [defaultLimits.operation.depth],
  aliases: [maxTree.aliases, maxTree.directives, maxTree.fragments],
  cost: [defaultLimits.operation.cost],
  rows: [maxRows, maxAnswerSize, maxErrors],
  variableSize: [maxVariableSize, maxVariableDepth],
  time: [defaultLimits.operation.time / 1_000],
  bodySize: [maxBodySize, maxMessageSize],
  operationsPerSocket: [maxOperationsPerSocket, maxUnread],
  slowRequest: [
    defaultTimeouts.headers,
    defaultTimeouts.request,
    defaultTimeouts.init,
    defaultTimeouts.reading + defaultLimits.operation.time,
    bodyTimeout,
    leastBytes * 1_000,
    fewPieces * 1_000,
    leastPiece * 1_000,
  ].map((time) => time / 1_000),
  bufferedBytes: [defaultLimits.buffered, uncounted],
}

it('docs/graphql.md tells each limit, and as large as it is', () => {
  const rows = [...page.matchAll(/^\| (`\w+`(?: `\w+`)*) \|[^|]+\| ([^|]+) \|$/gm)]
  const told = new Map(rows.map(([, names = '', most = '']) => [names, most]))
  const [, names = ''] = /type LimitName =([^/]*)/.exec(source) ?? []
  const documented = [...told.keys()].join(' ')
  for (const [, name] of names.matchAll(/'(\w+)'/g)) expect(documented).toContain(`\`${name}\``)
  for (const [name, expected] of Object.entries(sizes)) {
    const [, most = ''] = [...told].find(([row]) => row.startsWith(`\`${name}\``)) ?? []
    const numbers = [...most.matchAll(/[\d,]+\d|\d/g)].map(([text]) => Number(text.replaceAll(',', '')))
    expect(numbers, name).toEqual(expected)
  }
})

it('docs/design/limits.md names an existing test for each limit', () => {
  const [, table = ''] = /\| Limit \| Test of the refusal([\s\S]*?)\n\n/.exec(`${design}\n`) ?? []
  const held = new Set([...table.matchAll(/`(\w+)`/g)].map(([, name]) => name))
  const limits = page.matchAll(/^\| (`\w+`(?: `\w+`)*) \|[^|]+\| [^|]+ \|$/gm)
  for (const [, names = ''] of limits.filter(([, first]) => first !== '`limit`'))
    for (const [, name] of names.matchAll(/`(\w+)`/g)) expect([...held]).toContain(name)
  const files = [...table.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file)
  expect(files.filter((file) => !existsSync(join(import.meta.dirname, '../..', file)))).toEqual([])
  expect(held.size).toBeGreaterThan(20)
})
