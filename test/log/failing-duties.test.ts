/** A duty that fails in each round, because a system that it needs is away, has two lines in the log. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createFailingDuties } from '../../src/server/log/failing-duties.ts'

it('logs the begin and the end of failures, and leaves an outage of the database to its own lines', async () => {
  const lines: string[] = []
  let isDatabaseAway = false
  const note = (message: string) => async (): Promise<boolean> => {
    if (!isDatabaseAway) lines.push(message)
    return !isDatabaseAway
  }
  const duties = createFailingDuties({ note }, { info: ((text: string) => lines.push(text)) as never })
  const fail = async (duty: string): Promise<void> => {
    duties.failed(new Error('away'), duty)
    await turn()
  }
  for (let n = 0; n < 5; n += 1) await fail('archive')
  await fail('retention')
  duties.succeeded('archive')
  duties.succeeded('archive')
  await fail('archive')
  expect(lines).toEqual([
    'the background duty archive failed: trying again',
    'the background duty retention failed: trying again',
    'the background duty archive succeeds again',
    'the background duty archive failed: trying again',
  ])
  isDatabaseAway = true
  await fail('standstill')
  duties.succeeded('standstill')
  isDatabaseAway = false
  await fail('standstill')
  expect(lines.slice(4)).toEqual(['the background duty standstill failed: trying again'])
})

it('says each once while it takes time to learn what a failure is', async () => {
  const lines: string[] = []
  const known = Promise.withResolvers<boolean>()
  const note = (message: string) => async (): Promise<boolean> => {
    await known.promise
    lines.push(message)
    return true
  }
  const duties = createFailingDuties({ note }, { info: ((text: string) => lines.push(text)) as never })
  duties.failed(new Error('away'), 'archive')
  duties.failed(new Error('away'), 'archive')
  duties.succeeded('archive')
  duties.failed(new Error('away'), 'archive')
  known.resolve(true)
  await turn()
  const fails = 'the background duty archive failed: trying again'
  expect(lines).toEqual([fails, 'the background duty archive succeeds again', fails])
})
