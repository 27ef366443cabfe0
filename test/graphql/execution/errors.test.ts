/** Expected errors reach clients unchanged; bugs are masked: over HTTP here, over WebSockets in websocket.test.ts. */
import { GraphQLError } from 'graphql'
import { describe, expect, it } from 'vitest'
import { createMaskError, formatError } from '../../../src/api/graphql/execution/errors.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { type Api, type LoggedError, startApi } from '../harness.ts'

function masker() {
  const logged: LoggedError[] = []
  const mask = createMaskError({ error: (fields, message) => void logged.push({ fields, message }) })
  return { mask, logged }
}

describe('masking', () => {
  it('shows a DomainError with its code, facts and problems, where it happened', () => {
    const { mask, logged } = masker()
    const problems = [{ field: 'a', message: 'b' }]
    const cause = new DomainError('UNAVAILABLE', 'the queue is full', {
      facts: { queued: 3, code: 'x' },
      problems,
      cause: new Error('secret'),
    })
    const shown = formatError(mask(new GraphQLError(cause.message, { path: ['a', 0], originalError: cause })))
    expect(shown).toEqual({
      message: 'the queue is full',
      path: ['a', 0],
      extensions: { code: 'UNAVAILABLE', retryable: true, queued: 3, problems },
    })
    expect(logged).toEqual([])
  })

  it('shows document errors unchanged', () => {
    const { mask, logged } = masker()
    const error = new GraphQLError('Syntax Error')
    expect(mask(error)).toBe(error)
    expect(mask(new GraphQLError('wrapped', { originalError: error })).message).toBe('wrapped')
    expect(logged).toEqual([])
  })

  it('asks to retry later if the database is unreachable', () => {
    const { mask, logged } = masker()
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' })
    const shown = formatError(mask(new GraphQLError('x', { path: ['a'], originalError: cause })))
    expect(shown).toEqual({
      message: 'the database cannot be reached: retry later',
      path: ['a'],
      extensions: { code: 'UNAVAILABLE', retryable: true },
    })
    expect(logged).toEqual([])
  })

  it.each([
    new Error('select secret from table'),
    new GraphQLError('select secret', { path: ['a'], originalError: new TypeError('select secret') }),
    'secret',
    null,
  ])('hides anything else behind an id that the log has too', (error) => {
    const { mask, logged } = masker()
    const shown = formatError(mask(error))
    const id = shown.extensions?.id
    expect(id).toMatch(/^[\da-f-]{36}$/)
    expect(JSON.stringify(shown)).not.toContain('secret')
    expect(shown.message).toBe(`Unexpected error ${id}. Details are in the server's log.`)
    expect(shown.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', id })
    expect(logged).toEqual([{ message: expect.any(String), fields: expect.objectContaining({ errorId: id }) }])
  })

  it('applies to query responses', async () => {
    const api: Api = await startApi({
      graphql: ({ database }) => ({
        database: { session: database.session, snapshot: () => Promise.reject(new Error('secret dsn')) },
      }),
    })
    const answer = await api.query('{ revision }')
    expect(answer).toMatchObject({
      data: null,
      errors: [{ path: ['revision'], extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
    })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(api.logged).toMatchObject([
      { fields: { errorId: answer.errors?.[0]?.extensions?.id, error: new Error('secret dsn') } },
    ])
    await api.close()
  })
})
