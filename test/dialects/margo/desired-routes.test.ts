import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { desiredRoutes } from '../../../src/ingest/dialects/margo/desired-routes.ts'
import { createRouter } from '../../../src/ingest/dialects/router.ts'

const matchDesiredRoute = createRouter(desiredRoutes)

const digest = `sha256:${'a'.repeat(64)}`

describe.each(['', '/margo', '/v1alpha2/margo'])('behind %j', (prefix) => {
  const root = `${prefix}/api/v1`

  it('is what a client fetches that is known by its credential', () => {
    const asked = { clientId: null, base: root }
    expect(matchDesiredRoute(`${root}/deployments`)).toEqual({ ...asked, kind: 'manifest' })
    expect(matchDesiredRoute(`${root}/deployments/a%2Fb/${digest}`)).toEqual({
      ...asked,
      kind: 'document',
      deploymentId: 'a/b',
      digest,
    })
    expect(matchDesiredRoute(`${root}/bundles/${digest}`)).toEqual({ ...asked, kind: 'bundle', digest })
  })

  it('is fetched by a client that names itself, and its links name the client in the same way', () => {
    const asked = { clientId: 'gate way', base: `${root}/clients/gate%20way` }
    expect(matchDesiredRoute(`${root}/clients/gate%20way/deployments`)).toEqual({ ...asked, kind: 'manifest' })
    expect(matchDesiredRoute(`${root}/clients/gate%20way/bundles/${encodeURIComponent(digest)}`)).toEqual({
      ...asked,
      kind: 'bundle',
      digest,
    })
    expect(matchDesiredRoute(`${root}/clients/gate%20way/deployments/x/${digest}`)).toMatchObject({ deploymentId: 'x' })
  })
})

it.each([
  '/deployments',
  '/api/v1/deployments/',
  '/api/v1/deployments/x',
  `/api/v1/deployments/x/y/${digest}`,
  '/api/v1/bundles',
  '/api/v1/clients/deployments',
  '/api/v1/clients/a/b/deployments',
  '/v1alpha2/api/v1/deployments',
  '/margo/margo/api/v1/deployments',
  '/margo/sbi/v1/deployments',
])('%s is none of it', (path) => expect(matchDesiredRoute(path)).toBeNull())

it.each([
  ['/api/v1/clients//deployments', 'clientId'],
  ['/api/v1/clients/%ff/deployments', 'clientId'],
  [`/api/v1/deployments//${digest}`, 'deploymentId'],
  ['/api/v1/deployments/x/', 'digest'],
  ['/api/v1/bundles/%00', 'digest'],
  [`/api/v1/bundles/${'x'.repeat(257)}`, 'digest'],
])('%s is refused by its %s', (path, field) => {
  const match = () => matchDesiredRoute(path)
  expect(match).toThrow(DomainError)
  expect(match).toThrow(field)
})
