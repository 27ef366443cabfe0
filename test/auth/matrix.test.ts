/**
 * Every field × every role and scope × every transport: allowed or refused, as access-table.json says. A field that is not in that table
 * fails the test, so its access is written down twice.
 */
import { readFileSync } from 'node:fs'
import { isInterfaceType, isObjectType } from 'graphql'
import { type Client, createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { accessOf } from '../../src/api/graphql/guards/access.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import type { Access } from '../../src/domain/principal.ts'
import { type Answer, type Api, startApi } from '../graphql/harness.ts'
import { namedAuth } from '../graphql/principals.ts'
import { isWhole } from '../support/runner/depth.ts'
import { joinQueries, type Selected, selectEach } from './documents.ts'

type Table = Readonly<Record<string, Readonly<Record<string, Access>>>>

const table: Table = JSON.parse(readFileSync(new URL('access-table.json', import.meta.url), 'utf8'))

/** The access of each credential. It is written out, because the computation is what is tested. */
const rights: Readonly<Record<string, readonly Access[]>> = {
  boss: ['anyone'],
  viewer: ['anyone', 'viewer', 'viewer of all'],
  'viewer/label:site=a': ['anyone', 'viewer'],
  'viewer/project:x': ['anyone', 'viewer'],
  reporter: ['anyone', 'reporter', 'reporter of all'],
  'reporter/project:x': ['anyone', 'reporter'],
  operator: ['anyone', 'viewer', 'viewer of all', 'reporter', 'reporter of all', 'operator', 'operator of all'],
  'operator/project:x': ['anyone', 'viewer', 'reporter', 'operator'],
  admin: [
    'anyone',
    'viewer',
    'viewer of all',
    'reporter',
    'reporter of all',
    'operator',
    'operator of all',
    'admin',
    'admin of all',
  ],
  'admin/label:site=a': ['anyone', 'viewer', 'reporter', 'operator', 'admin'],
}

function actual(): Table {
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => (isObjectType(type) || isInterfaceType(type)) && !type.name.startsWith('__'),
  )
  return Object.fromEntries(
    types.map((type) => {
      if (!isObjectType(type) && !isInterfaceType(type)) throw new Error('it was one')
      const fields = Object.values(type.getFields()).map((field) => [field.name, accessOf(field)])
      return [type.name, Object.fromEntries(fields)]
    }),
  )
}

const selected = selectEach(schema)
/** A mutation answers for itself, so it is not asked again for each field of its payload. */
const asked = selected.filter(({ name, operation }) => operation !== 'mutation' || name.startsWith('Mutation.'))
/** Queries of one document. */
const joined = 20
interface Demand {
  /** `Type.field` */
  readonly name: string
  readonly access: Access
}

/** The access of each field in the document, on the way to the field too. */
const demanded = new Map<string, readonly Demand[]>()

interface Way {
  readonly name: string
  ask(document: string, as: string): Promise<Answer>
}

describe('access', () => {
  it('is what the table says, and every field is in it', () => {
    expect(actual()).toEqual(table)
  })

  it('is asked for by a document for every field', () => {
    const names = Object.entries(table).flatMap(([type, fields]) =>
      Object.keys(fields).map((name) => `${type}.${name}`),
    )
    expect(selected.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  })

  describe('over every transport', () => {
    let api: Api
    const clients = new Map<string, Client>()
    beforeAll(async () => {
      api = await startApi({ graphql: { auth: namedAuth } })
      await api.report({ reporter: 'edge', deploymentId: 'd' })
    })
    afterAll(async () => {
      for (const client of clients.values()) await client.dispose()
      await api.close()
    })

    const http: Way = {
      name: 'HTTP',
      ask: (document, as) => api.query(document, {}, as),
    }
    const events: Way = {
      name: 'server-sent events',
      async ask(document, as) {
        const response = await fetch(api.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${as}` },
          body: JSON.stringify({ query: document }),
        })
        let text = ''
        for await (const chunk of response.body ?? []) {
          text += Buffer.from(chunk).toString('utf8')
          const [, data] = /^data: (\{.*\})$/m.exec(text) ?? []
          if (!data) continue
          return JSON.parse(data)
        }
        if (!text.startsWith('{')) throw new Error(`no event: ${response.status} ${text}`)
        return JSON.parse(text)
      },
    }
    const sockets: Way = {
      name: 'WebSocket',
      ask(query, as) {
        const client =
          clients.get(as) ??
          createClient({
            url: api.url.replace('http', 'ws'),
            webSocketImpl: WebSocket,
            retryAttempts: 0,
            // Otherwise the socket closes between two operations.
            lazyCloseTimeout: 60_000,
            connectionParams: { authorization: `Bearer ${as}` },
          })
        clients.set(as, client)
        return new Promise((resolve, reject) => {
          const end = client.subscribe<Record<string, unknown>>(
            { query },
            {
              next(result) {
                resolve(result as Answer)
                end()
              },
              error: (errors) => (Array.isArray(errors) ? resolve({ errors }) : reject(errors)),
              complete: () => reject(new Error('it was completed before it began')),
            },
          )
        })
      },
    }

    function codesOf({ errors = [] }: Answer): unknown[] {
      const codes = errors.map(({ extensions }) => extensions?.code)
      expect(codes).not.toContain('INTERNAL_SERVER_ERROR')
      expect(codes).not.toContain('GRAPHQL_VALIDATION_FAILED')
      return codes
    }

    /** Null: it is allowed. */
    async function refusalOf(way: Way, { document, operation }: Selected, as: string): Promise<string | null> {
      if (operation === 'mutation') {
        const { data, errors } = await way.ask(document, as)
        if (errors) return errors[0]?.extensions?.code === 'FORBIDDEN' ? 'FORBIDDEN' : null
        return Object.values<Answer['data']>(data)[0].__typename === 'Forbidden' ? 'FORBIDDEN' : null
      }
      return codesOf(await way.ask(document, as)).includes('FORBIDDEN') ? 'FORBIDDEN' : null
    }

    const lackedOf = (one: Selected, as: string): readonly Demand[] =>
      demandsOf(one).filter(({ access }) => !rights[as]?.includes(access))

    /** Each refused field has an error. Queries of one document are refused together, and each must be refused for a field of its own. */
    async function allowedAmong(way: Way, some: readonly Selected[], as: string): Promise<string[]> {
      const wrong: string[] = []
      for (let from = 0; from < some.length; from += joined) {
        const part = some.slice(from, from + joined)
        for (const document of joinQueries(part, joined)) {
          const answer = await way.ask(document, as)
          expect(new Set(codesOf(answer))).toEqual(new Set(['FORBIDDEN']))
          const refused = new Set(answer.errors?.map(({ message }) => message.split(' ')[0]))
          for (const one of part)
            if (!lackedOf(one, as).every(({ name }) => refused.has(name))) wrong.push(`${one.name} is allowed`)
        }
      }
      return wrong
    }

    /**
     * A document with one refused field is refused as a whole, so allowed queries share documents. In a whole run each refused query is a document of
     * its own over HTTP; otherwise, and over the other transports, they share documents, too.
     */
    async function wrongOf(way: Way, some: readonly Selected[], as: string, isRefused: boolean): Promise<string[]> {
      const isShared = (one: Selected): boolean => one.operation === 'query' && !(isWhole && isRefused && way === http)
      const wrong: string[] = []
      if (isRefused) wrong.push(...(await allowedAmong(way, some.filter(isShared), as)))
      for (const document of isRefused ? [] : joinQueries(some.filter(isShared), joined)) {
        const answer = await way.ask(document, as)
        if (codesOf(answer).includes('FORBIDDEN')) wrong.push(`${JSON.stringify(answer.errors)}: ${document}`)
      }
      for (const one of some.filter((some) => !isShared(some))) {
        const refusal = await refusalOf(way, one, as)
        if ((refusal !== null) !== isRefused) wrong.push(`${one.name} is ${refusal ?? 'allowed'}: ${one.document}`)
      }
      return wrong
    }

    const everyone = Object.keys(rights)
    // In the quick suite, HTTP has every second caller, and of the other transports each has every fifth.
    const callersOf = (way: Way): readonly string[] =>
      everyone.filter(
        (_, index) => isWhole || (way === http ? index % 2 === 1 : index % 5 === (way === events ? 0 : 4)),
      )
    for (const way of [http, events, sockets])
      it.each(callersOf(way))(`${way.name}: %s`, async (as) => {
        const isRefused = (one: Selected): boolean => lackedOf(one, as).length > 0
        const some = asked.filter(({ operation }) => way !== http || operation !== 'subscription')
        // An allowed stream of changes sends nothing before the next change.
        const allowed = some.filter((one) => !isRefused(one) && !one.document.startsWith('subscription { changes'))
        expect(await wrongOf(way, allowed, as, false)).toEqual([])
        expect(await wrongOf(way, some.filter(isRefused), as, true)).toEqual([])
      })

    it.each([http, events])('$name: a caller without a credential gets no data', async (way) => {
      for (const { document } of selected.slice(0, 20)) {
        const { data, errors } = await way.ask(document, 'stranger')
        expect([data, errors?.[0]?.extensions?.code]).toEqual([undefined, 'UNAUTHENTICATED'])
      }
    })
  })
})

/** The access of the fields of a document. */
function demandsOf({ name, document, operation }: Selected): readonly Demand[] {
  const known = demanded.get(name)
  if (known) return known
  const path = document.replace(/\((?:[^()]|\([^()]*\))*\)/g, '').match(/\w+|\.\.\. on \w+/g) ?? []
  let type = operation.charAt(0).toUpperCase() + operation.slice(1)
  const found: Demand[] = []
  for (const step of path.slice(1)) {
    if (step === '__typename') break
    if (step.startsWith('... on ')) {
      type = step.slice(7)
      continue
    }
    const parent = schema.getType(type)
    if (!isObjectType(parent) && !isInterfaceType(parent)) throw new Error(`${type} has no fields`)
    const field = parent.getFields()[step]
    const access = table[type]?.[step]
    if (!field || !access) throw new Error(`there is no ${type}.${step}`)
    found.push({ name: `${type}.${step}`, access })
    type = String(field.type).replace(/[[\]!]/g, '')
  }
  demanded.set(name, found)
  return found
}
