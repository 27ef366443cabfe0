/** The terminal client against a server of its own. */
import { afterAll, beforeAll, expect } from 'vitest'
import { type AppOptions, type RunningApp, startApp } from '../support/servers/app.ts'
import { type Child, startNode } from '../support/servers/child.ts'

let server: RunningApp

/** Starts it for the tests of a file. */
export function useServer(options: AppOptions = {}): () => RunningApp {
  beforeAll(async () => {
    server = await startApp(options)
  })
  afterAll(() => server.stop())
  return () => server
}

export function rollcall(...args: string[]): Child {
  return startNode(['src/apps/cli/rollcall.ts', '--url', server.url, ...args])
}

export async function report(deploymentId: string, state: string, error?: object): Promise<string> {
  const components = [{ name: 'web', state, ...(error ? { error } : {}) }]
  const body = { deploymentId, status: { state, ...(error ? { error } : {}) }, components }
  const answer = await server.post(`/device/edge-${deploymentId}/deployment/${deploymentId}/status`, body)
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { revision: string }).revision
}

export async function declare(rollout: string, ...deploymentIds: string[]): Promise<void> {
  await server.query(
    `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }`,
    {
      input: {
        rollout: { name: rollout },
        deployments: deploymentIds.map((id) => ({ deploymentId: id, deviceId: `edge-${id}` })),
      },
    },
  )
}
