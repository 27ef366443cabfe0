import { parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/graphql/execution/document-shape.ts'

const shape = (text: string, operationName?: string) => shapeOf(parse(text), operationName)

const plain = `subscription Name($id: String!, $device: String = "x") {
  deployment(deploymentId: $id, deviceId: $device) { cursor alias: deployment { ...Parts } }
}
fragment Parts on Deployment { state ...More }
fragment More on Deployment { deploymentId }`

/** The same definitions in reverse order. */
function reversed(text: string): string {
  return text
    .split(/\n(?=fragment)/)
    .toReversed()
    .join('\n')
}

describe('the shape of an operation', () => {
  it.each([
    ['another name', plain.replace('Name', 'Other')],
    ['no name', plain.replace('Name', '')],
    ['other formatting and comments', plain.replaceAll('\n', ' # comment\n\n').replaceAll(', ', '  ')],
    ['other names of variables', plain.replaceAll('$id', '$key').replaceAll('$device', '$id')],
    ['other names of fragments', plain.replaceAll('Parts', 'Swap').replaceAll('More', 'Parts')],
    [
      'another order of arguments',
      plain.replace('deploymentId: $id, deviceId: $device', 'deviceId: $device, deploymentId: $id'),
    ],
    ['another order of fragments', reversed(plain)],
  ])('ignores %s', (_, text) => {
    expect(shape(text).hash).toBe(shape(plain).hash)
  })

  it.each([
    ['another field', plain.replace('cursor', 'coalesced')],
    ['another alias', plain.replace('alias', 'other')],
    ['another order of fields', plain.replace('state ...More', '...More state')],
    ['another default value', plain.replace('"x"', '"y"')],
    ['another type of a variable', plain.replace('$device: String', '$device: String!')],
    [
      'variables that are exchanged',
      plain.replace('deploymentId: $id, deviceId: $device', 'deploymentId: $device, deviceId: $id'),
    ],
    ['a directive', plain.replace('cursor', 'cursor @skip(if: false)')],
    ['another type condition', plain.replace('More on Deployment', 'More on Node')],
    ['a literal', plain.replace('deploymentId: $id', 'deploymentId: "x"')],
  ])('contains %s', (_, text) => {
    expect(shape(text).hash).not.toBe(shape(plain).hash)
  })

  it('is that of the operation that is executed', () => {
    const both = 'subscription A { changes { cursor } } subscription B { changes { change { kind } } }'
    expect(shape(both, 'A').hash).toBe(shape('subscription { changes { cursor } }').hash)
    expect(shape(both, 'B').hash).toBe(shape('subscription { changes { change { kind } } }').hash)
  })

  it('has the variables in the order of their definitions', () => {
    expect(shape(plain).variables).toEqual(['id', 'device'])
  })
})
