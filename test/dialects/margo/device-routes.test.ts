import { describe, expect, it } from 'vitest'
import { deviceRoutes } from '../../../src/ingest/dialects/margo/device-routes.ts'
import { createRouter } from '../../../src/ingest/dialects/router.ts'

const matchDeviceRoute = createRouter(deviceRoutes)

describe('where devices introduce themselves', () => {
  it.each([
    ['/onboarding', { kind: 'onboarding', generation: '2024' }],
    ['/v1alpha2/margo/onboarding/', { kind: 'onboarding', generation: '2024' }],
    ['/margo/api/v1/onboarding', { kind: 'onboarding', generation: '2025' }],
    ['/v1alpha2/margo/sbi/v1/onboarding', { kind: 'onboarding', generation: '2025-08' }],
    ['/api/v1/onboarding/certificate', { kind: 'certificate', generation: '2025' }],
    ['/device/a%2Fb/capabilities', { kind: 'capabilities', generation: '2024', reporter: 'a/b', deviceId: null }],
    ['/api/v1/device/a/capabilities', { kind: 'capabilities', generation: '2025', reporter: 'a', deviceId: null }],
    [
      '/margo/sbi/v1/device/a/capabilities',
      { kind: 'capabilities', generation: '2025-08', reporter: 'a', deviceId: null },
    ],
    [
      '/margo/sbi/v1/client/a/capabilities',
      { kind: 'capabilities', generation: '2025-10', reporter: 'a', deviceId: null },
    ],
    [
      '/margo/api/v1/clients/a/capabilities',
      { kind: 'capabilities', generation: '2025-11', reporter: 'a', deviceId: null },
    ],
    [
      '/api/v1/clients/a/capabilities/b/c',
      { kind: 'capabilities', generation: '2025-12', reporter: 'a', deviceId: 'b/c' },
    ],
    [
      '/api/v1/clients/a/capabilities/b%2Fc',
      { kind: 'capabilities', generation: '2025-12', reporter: 'a', deviceId: 'b/c' },
    ],
    ['/api/v1/capabilities/b/c', { kind: 'capabilities', generation: '1.0.0-rc.3', reporter: null, deviceId: 'b/c' }],
    ['/api/v1/capabilities', { kind: 'capabilities', generation: '1.0.0-rc.3', reporter: null, deviceId: null }],
  ])('%s', (path, route) => expect(matchDeviceRoute(path)).toEqual(route))

  it.each([
    '/capabilities',
    '/api/v1/capabilities/',
    '/devices/a/capabilities',
    '/onboarding/x',
    '/margo/onboarding',
    '/x/onboarding',
  ])('%s is none of them', (path) => expect(matchDeviceRoute(path)).toBeNull())

  it.each([
    '/device//capabilities',
    '/device/%ff/capabilities',
    '/api/v1/capabilities/a//b',
    '/api/v1/capabilities/a/',
    '/api/v1/capabilities/a b',
    '/api/v1/capabilities/%ff',
  ])('%s is refused by its deviceId', (path) => expect(() => matchDeviceRoute(path)).toThrow('deviceId'))
})
