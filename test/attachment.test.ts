import { expect, it } from 'vitest'
import { createAttachment } from '../src/attachment.ts'

it('keeps something on an object, for whoever has that very object', () => {
  const first = createAttachment<object, string>('name')
  const second = createAttachment<object, string>('name')
  const bearer = { shown: true }
  expect(first.get(bearer)).toBeUndefined()
  first.set(bearer, 'a')
  first.set(bearer, 'b')
  expect([first.get(bearer), second.get(bearer)]).toEqual(['b', undefined])
  expect([first.get({ ...bearer }), first.get(Object.create(bearer))]).toEqual([undefined, undefined])
  expect(JSON.stringify(bearer)).toBe('{"shown":true}')
})
