import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emcoRoutes } from '../../src/ingest/dialects/emco/routes.ts'
import { k8spluginRoutes } from '../../src/ingest/dialects/k8splugin/routes.ts'
import { desiredRoutes } from '../../src/ingest/dialects/margo/desired-routes.ts'
import { deviceRoutes } from '../../src/ingest/dialects/margo/device-routes.ts'
import { statusRoutes } from '../../src/ingest/dialects/margo/routes.ts'
import { createRouter, type Route, readIds, type Segments } from '../../src/ingest/dialects/router.ts'

const all: readonly Route<unknown>[] = [
  ...statusRoutes,
  ...desiredRoutes,
  ...deviceRoutes,
  ...k8spluginRoutes,
  ...emcoRoutes,
]
/** Finds the template of a path and its segments. */
const find = createRouter(
  all.map(({ template }) => ({ template, read: (segments: Segments) => ({ template, ids: readIds(segments) }) })),
)

describe('a router', () => {
  const segments = (template: string): Route<Segments> => ({ template, read: (found) => found })
  const match = createRouter([
    segments('/a/:id'),
    segments('/a/:id/b'),
    segments('/a/fixed'),
    segments('/a/:id/c/*'),
    segments('/'),
  ])

  it.each([
    ['/a/x', { id: 'x' }],
    ['/a/', { id: '' }],
    ['/a/fixed', {}],
    ['/a/fixed/b', { id: 'fixed' }],
    ['/a/x%2Fb', { id: 'x%2Fb' }],
    ['/a/x%252F%zz#;', { id: 'x%252F%zz#;' }],
    ['/a/x/c/d/e%2Ff/', { id: 'x', '*': 'd/e%2Ff/' }],
    ['/', {}],
  ])('finds %s', (path, found) => expect(match(path)).toEqual(found))

  it.each(['', '/a', '/a/x/c/', '/a/x/b/', '//a/x', 'x/a/x', '*', '/__proto__', '/a/x/constructor'])(
    'has no route for %j',
    (path) => expect(match(path)).toBeNull(),
  )

  it('refuses two routes of one path', () => {
    expect(() => createRouter([segments('/a/:x'), segments('/a/:y')])).toThrow('/a/:')
  })
})

it('finds each route of REST by its template, with ids that contain slashes, percent signs and spaces', () => {
  const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter((text) => !/\p{Cc}/u.test(text))
  fc.assert(
    fc.property(
      fc.constantFrom(...all.filter(({ template }) => !template.endsWith('*'))),
      id,
      ({ template }, value) => {
        // Each segment is another, so that none can stand in for another.
        const path = template.replace(/:[\w-]+/g, (name) => encodeURIComponent(`${name}${value}/%2F`))
        const ids = [...template.matchAll(/:([\w-]+)/g)].map(([whole, name]) => [name, `${whole}${value}/%2F`])
        expect(find(path)).toEqual({ template, ids: Object.fromEntries(ids) })
      },
    ),
  )
})
