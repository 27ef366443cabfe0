import { DrizzleQueryError } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { createLog, createRequestIds, type Log } from '../../src/platform/log/log.ts'

describe('the log', () => {
  it('is a line of JSON for each event, with its level, time and process', () => {
    const { log, lines } = collect()
    log.info({ requestId: 'r-1' }, 'it happened')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'info', pid: process.pid, requestId: 'r-1', msg: 'it happened' })
    expect(new Date(String(lines[0]?.time)).toISOString()).toBe(lines[0]?.time)
  })

  it('escapes characters that hide, or that reverse what follows them, and is the same document', () => {
    const lines: string[] = []
    const log = createLog({ level: 'info', to: { write: (line) => void lines.push(line) } })
    log.warn({ device: 'gw\u202e1-\u200b\u2028\u009b2J' }, 'refused')
    expect(lines[0]).toContain(String.raw`"gw\u202e1-\u200b\u2028\u009b2J"`)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ device: 'gw\u202e1-\u200b\u2028\u009b2J' })
  })

  it('hides credentials wherever they stand', () => {
    const { log, text } = collect()
    const headers = { authorization: 'Bearer s3cret', cookie: 'sid=s3cret', 'set-cookie': ['s3cret'], host: 'shown' }
    log.info({ headers, request: { headers }, authorization: 's3cret', device: { token: 's3cret' } })
    expect(text()).not.toContain('s3cret')
    expect(text()).toContain('shown')
  })

  it('shows an error with its code, frames and causes, and never a statement, a parameter or a value', () => {
    const { log, lines, text } = collect()
    const refused = Object.assign(new Error('invalid input syntax for type integer: "s3cret"'), {
      code: '22P02',
      detail: 's3cret',
      query: 'select s3cret',
      parameters: ['s3cret'],
    })
    log.error({ error: new DrizzleQueryError('select s3cret', ['s3cret'], refused) }, 'failed')
    log.error({ err: refused }, 'failed')
    expect(text()).not.toContain('s3cret')
    expect(lines[0]?.error).toMatchObject({
      message: 'a statement failed',
      cause: { code: '22P02', message: 'invalid input syntax for type integer: "…"' },
    })
    expect(JSON.stringify(lines[0]?.error)).toContain('log.test.ts')
  })

  it('survives what is no error, and causes without an end', () => {
    const { log, lines } = collect()
    const endless = new Error('endless')
    endless.cause = endless
    log.error({ error: endless })
    log.error({ error: 's3cret' })
    expect(lines).toHaveLength(2)
    expect(JSON.stringify(lines)).not.toContain('s3cret')
  })

  it("takes a client's request id when it is sane, and makes one of its own otherwise", () => {
    const requestId = createRequestIds()
    expect(requestId('trace/1:a-b_c')).toBe('trace/1:a-b_c')
    const made = [undefined, '', 'a b', 'a\nb', 'x'.repeat(129), ['a', 'b']].map((given) => requestId(given))
    expect(new Set(made).size).toBe(made.length)
    for (const id of made) expect(id).toMatch(/^[0-9a-f-]+-\w+$/)
    expect(createRequestIds()(undefined)).not.toBe(createRequestIds()(undefined))
  })
})

function collect(): { log: Log; lines: Record<string, unknown>[]; text: () => string } {
  const lines: Record<string, unknown>[] = []
  const log = createLog({ level: 'trace', to: { write: (line) => void lines.push(JSON.parse(line)) } })
  return { log, lines, text: () => JSON.stringify(lines) }
}
