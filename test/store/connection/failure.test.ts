import { describe, expect, it } from 'vitest'
import {
  describeOutage,
  incomplete,
  incompleteness,
  isTransient,
  StatementError,
} from '../../../src/store/connection/failure.ts'

const states = (...codes: string[]): StatementError[] => codes.map((code) => new StatementError(code, code))

describe('a failure', () => {
  it('of the connection, of the server or of the moment is a reason to try again', () => {
    for (const error of [
      ...states('08006', '57P01', '57P02', '57P03', '57P05', '57014', '25P03', '25006', '40001', '40P01', '55P03'),
      // Too many connections, a full disk, no memory; an unreadable file.
      ...states('53300', '53100', '53200', '58030'),
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      Object.assign(new Error('connect'), { code: 'ENOENT', syscall: 'connect' }),
      Object.assign(new Error('connect'), { code: 'EMFILE', syscall: 'connect' }),
      Object.assign(new Error('password authentication failed'), { code: '28P01', severity: 'FATAL' }),
      new AggregateError([Object.assign(new Error('connect'), { code: 'ETIMEDOUT' })]),
      new Error('outer', { cause: new StatementError('inner', '08003') }),
      incomplete('the database lacks our tables', states('42P01')[0]),
    ])
      expect(isTransient(error), String(error)).toBe(true)
  })

  it('says what is so, and that the database cannot be reached when nothing else is known', () => {
    expect(
      ['25006', '53100', '53300', '28P01', '28000', '3D000', '57014', '08006'].map((code) =>
        describeOutage(new Error('outer', { cause: new StatementError('inner', code) })),
      ),
    ).toEqual([
      'the database is read-only',
      'the disk of the database is full',
      'every connection to the database is in use',
      'the database refuses the user or the password of DATABASE_URL',
      'the database refuses the user or the password of DATABASE_URL',
      'the database of DATABASE_URL does not exist',
      'the database did not get to it in time',
      'the database cannot be reached',
    ])
  })

  it('says that the tables were upgraded, where a plan is outdated', () => {
    const outdated = Object.assign(new Error('cached plan must not change result type'), {
      code: '0A000',
      routine: 'RevalidateCachedQuery',
    })
    const outer = new Error('outer', { cause: outdated })
    expect([describeOutage(outer), isTransient(outer)]).toEqual(['the tables have just been upgraded', true])
  })

  it('says what an incomplete database lacks', () => {
    const outer = new Error('outer', { cause: incomplete('the database lacks our tables', states('42P01')[0]) })
    expect([describeOutage(outer), incompleteness(outer)]).toEqual(Array(2).fill('the database lacks our tables'))
    expect(states('42P01', '08006', '53100').map(incompleteness)).toEqual([null, null, null])
  })

  it('of the statement is none', () => {
    for (const error of [
      ...states('22012', '23505', '42P01', '0A000', '25P02', 'XX000'),
      Object.assign(new Error('division by zero'), { code: '22012', severity: 'ERROR' }),
      Object.assign(new Error('open'), { code: 'ENOENT', syscall: 'open' }),
      Object.assign(new Error('open'), { code: 'EMFILE', syscall: 'open' }),
      new TypeError('x is not a function'),
      'text',
      null,
    ])
      expect(isTransient(error), String(error)).toBe(false)
  })
})
