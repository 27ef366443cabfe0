import { describe, expect, it } from 'vitest'
import { adviceFor, nearestRoute, routes } from '../../src/api/rest/nearest-route.ts'
import { startApp } from '../support/servers/app.ts'

describe('a path that does not exist', () => {
  it.each([
    ['/device/edge-1/deployments/hello/status', 'POST /device/{deviceId}/deployment/{deploymentId}/status'],
    ['/device/edge-1/deployment/hello', 'POST /device/{deviceId}/deployment/{deploymentId}/status'],
    ['/devices/edge-1/deployment/hello/status', 'POST /device/{deviceId}/deployment/{deploymentId}/status'],
    ['/api/v1/deployment/hello/status', 'POST /api/v1/deployments/{deploymentId}/status'],
    ['/report', 'POST /reports'],
    ['/grapql', 'POST /graphql'],
    ['/health', 'GET /healthz'],
    ['/export', 'GET /export/changes'],
    ['/export/deployment', 'GET /export/deployments'],
    ['/v1/instances', 'GET /v1/instance'],
  ])('%s is near to %s', (path, route) => expect(nearestRoute(path)).toBe(route))

  it('is near to nothing if it resembles nothing, however long it is', () => {
    expect(nearestRoute('/wp-admin/setup-config.php/x/y')).toBe(null)
    expect(nearestRoute(`/${'a/'.repeat(100_000)}`)).toBe(null)
    expect(nearestRoute(`/${'a'.repeat(100_000)}`)).toBe(null)
  })

  it('is answered with the variable that it needs, or with the pages that list the routes', () => {
    expect(adviceFor('/session/oidc/login')).toMatch(/no sign-in for persons, which OIDC_ISSUER configures$/)
    expect(adviceFor('/wp-admin/setup-config.php')).toMatch(/^docs\/reporting.md, .* list the routes$/)
  })

  it('is answered with the nearest route, and each of those exists', async () => {
    const server = await startApp()
    const answer = await server.post('/device/edge-1/deployments/hello/status', {})
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      {
        detail: expect.stringContaining(
          'the nearest route is POST /device/{deviceId}/deployment/{deploymentId}/status',
        ),
      },
    ])
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ')
      const { status } = await fetch(`${server.url}${path.replaceAll(/\{\w+\}/g, 'x')}`, { method })
      expect([route, status]).not.toEqual([route, 404])
      expect([route, status]).not.toEqual([route, 405])
    }
    await server.stop()
  })
})
