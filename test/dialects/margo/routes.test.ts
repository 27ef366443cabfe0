import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { statusRoutes } from '../../../src/ingest/dialects/margo/routes.ts'
import { createRouter } from '../../../src/ingest/dialects/router.ts'

const matchMargoRoute = createRouter(statusRoutes)

const device = { deploymentId: 'app-1', reporter: 'edge-7' }
const created = { ...device, success: 201, requiresVersion: false }
const updated = { ...device, success: 200, requiresVersion: false }
const routes = [
  ['/device/edge-7/deployment/app-1/status', { ...created, generation: '2024' }],
  ['/api/v1/device/edge-7/deployment/app-1/status', { ...created, generation: '2025' }],
  ['/margo/sbi/v1/device/edge-7/deployment/app-1/status', { ...created, generation: '2025-08' }],
  ['/margo/sbi/v1/client/edge-7/deployment/app-1/status', { ...created, generation: '2025-10' }],
  ['/api/v1/clients/edge-7/deployment/app-1/status', { ...updated, generation: '2025-11' }],
  ['/api/v1/clients/edge-7/deployments/app-1/status', { ...updated, generation: '2025-12' }],
  ['/api/v1/deployments/app-1/status', { ...updated, reporter: null, requiresVersion: true, generation: '1.0.0-rc.3' }],
] as const

function problemsOf(path: string): string[] {
  try {
    matchMargoRoute(path)
  } catch (error) {
    if (error instanceof DomainError) return error.problems.map((problem) => problem.field)
    throw error
  }
  return []
}

describe('the seven routes', () => {
  it.each(routes)('%s', (path, route) => {
    expect(matchMargoRoute(path)).toEqual(route)
  })

  it.each(routes)('%s behind /v1alpha2/margo', (path, route) => {
    expect(matchMargoRoute(`/v1alpha2/margo${path}`)).toEqual(route)
  })

  it.each(routes.slice(4))('%s behind /margo', (path, route) => {
    expect(matchMargoRoute(`/margo${path}`)).toEqual(route)
  })

  it.each(routes.slice(2, 4))('%s with the reference server’s prefix said once', (path, route) => {
    expect(matchMargoRoute(`/v1alpha2${path}`)).toEqual(route)
  })

  it.each([
    '/',
    '/status',
    '/graphql',
    '/margo/device/edge-7/deployment/app-1/status',
    '/v1alpha2/api/v1/deployments/app-1/status',
    '/device/edge-7/deployments/app-1/status',
    '/device/edge-7/deployment/app-1/status/',
    '/device/edge-7/deployment/a/b/status',
    '/api/v1/deployments/app-1/status/subscription',
    '/v1/instance/app-1/status',
    '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/d/status',
    '/x/device/edge-7/deployment/app-1/status',
  ])('%s is none of them', (path) => {
    expect(matchMargoRoute(path)).toBeNull()
  })
})

describe('ids in the path', () => {
  it('are percent-decoded, slashes and pluses too', () => {
    expect(matchMargoRoute('/device/gw%2Fpump%2B1/deployment/a%20b%C3%A9+/status')).toMatchObject({
      reporter: 'gw/pump+1',
      deploymentId: 'a bé+',
    })
  })

  it('come back as they were', () => {
    const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 256 }).filter((text) => !text.includes('\0'))
    const device = id.filter((text) => text === text.trim() && !/\p{Cc}/u.test(text))
    fc.assert(
      fc.property(device, id, (reporter, deploymentId) => {
        const path = `/api/v1/clients/${encodeURIComponent(reporter)}/deployments/${encodeURIComponent(deploymentId)}/status`
        expect(matchMargoRoute(path)).toMatchObject({ reporter, deploymentId })
      }),
    )
  })

  it.each([
    ['an empty one', '/device//deployment/app-1/status', ['deviceId']],
    ['two empty ones', '/api/v1/clients//deployments//status', ['clientId', 'deploymentId']],
    ['a malformed escape', '/margo/sbi/v1/client/a%2/deployment/app-1/status', ['clientId']],
    ['an escape that is no UTF-8', '/api/v1/deployments/%ff/status', ['deploymentId']],
    ['NUL', '/api/v1/deployments/a%00/status', ['deploymentId']],
    ['white space at an end', '/device/%EF%BB%BFedge-7/deployment/d/status', ['deviceId']],
    ['a control character', '/api/v1/clients/a%0Ab/deployments/d/status', ['clientId']],
    ['257 characters', `/device/edge-7/deployment/${'x'.repeat(257)}/status`, ['deploymentId']],
  ])('%s is named', (_case, path, fields) => {
    expect(problemsOf(path)).toEqual(fields)
  })

  it('may have 256 characters, however many bytes they take', () => {
    const deploymentId = '😀'.repeat(256)
    expect(matchMargoRoute(`/api/v1/deployments/${encodeURIComponent(deploymentId)}/status`)).toMatchObject({
      deploymentId,
    })
  })
})
