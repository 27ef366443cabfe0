/** The end of a server: all its parts stop, the last one first. */
import { expect, it } from 'vitest'
import { createParts } from '../../src/server/parts.ts'

it('stops each part, also behind one that fails, and says so at the end', async () => {
  const stopped: string[] = []
  const parts = createParts()
  parts.add('database', (name) => stopped.push(name))
  parts.add('writer', async (name) => {
    stopped.push(name)
    throw new Error('the last reports could not be written')
  })
  expect(parts.add(null, () => stopped.push('what is not configured'))).toBeNull()
  parts.add('hangs', () => new Promise(() => {}), 1)
  parts.add('routes', (name) => stopped.push(name))
  await expect(parts.stop()).rejects.toThrow('the last reports')
  expect(stopped).toEqual(['routes', 'writer', 'database'])
})
