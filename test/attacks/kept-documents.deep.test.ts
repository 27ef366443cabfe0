/** What the server keeps of a document that it refused: the errors, and not all that their validation has collected. */
import { queryObjects } from 'node:v8'
import { ValidationContext } from 'graphql'
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../support/servers/app.ts'

it('many invalid documents leave no validation behind', async () => {
  const server = await startApp()
  onTestFinished(() => server.stop())
  const documents = 60
  for (let n = 0; n < documents; n += 1) {
    const response = await server.post('/graphql', { query: `{ a${n}: deployments { nodes { unknown } } }` })
    expect(await response.json()).toHaveProperty('errors')
  }
  expect(queryObjects(ValidationContext, { format: 'count' })).toBeLessThan(documents / 4)
})
