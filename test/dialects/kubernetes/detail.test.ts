import { describe, expect, it } from 'vitest'
import { toDetail } from '../../../src/ingest/dialects/kubernetes/detail.ts'

const stored = (object: unknown, limit?: number, kind?: string): unknown =>
  JSON.parse(toDetail(object, limit, kind)?.text ?? 'null')

const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"stringData":{"password":"hidden"}}' }
const secret = {
  kind: 'Secret',
  metadata: { name: 's', annotations: { ...lastApplied, owner: 'me' } },
  type: 'Opaque',
  data: { password: 'aGlkZGVu' },
  stringData: { password: 'hidden' },
}
const bare = { kind: 'Secret', metadata: { name: 's', annotations: { owner: 'me' } }, type: 'Opaque' }
const { kind: _, ...nameless } = secret
const { kind: __, ...bareNameless } = bare

describe('a Kubernetes object', () => {
  it.each([
    ['by itself', secret, bare],
    ['written in another case', { ...secret, kind: 'SECRET' }, { ...bare, kind: 'SECRET' }],
    ['in a List', { kind: 'List', items: [secret] }, { kind: 'List', items: [bare] }],
    [
      'of a SecretList, whose items do not say what they are',
      { kind: 'SecretList', items: [nameless] },
      { kind: 'SecretList', items: [bareNameless] },
    ],
    [
      'in what a controller embeds',
      { kind: 'Bundle', spec: { objects: [{ template: secret }] } },
      { kind: 'Bundle', spec: { objects: [{ template: bare }] } },
    ],
  ])('keeps nothing of what is in a secret: %s', (_, object, expected) => {
    expect(stored(object)).toEqual(expected)
  })

  it('is a secret when the sender says so, whatever kind it has itself', () => {
    expect(stored(nameless, undefined, 'Secret')).toEqual(bareNameless)
    expect(stored({ ...secret, kind: '' }, undefined, 'Secret')).toEqual({ ...bare, kind: '' })
    expect(stored({ ...secret, kind: 'Other' }, undefined, 'Secret')).toEqual({ ...bare, kind: 'Other' })
    expect(stored(secret, undefined, 'Other')).toEqual(bare)
  })

  it('keeps a member that is named as the prototype is', () => {
    const text = '{"spec":{"__proto__":{"a":1}}}'
    expect(toDetail(JSON.parse(text))?.text).toBe(text)
  })

  it('that is no secret keeps its data, and what was applied', () => {
    const map = { kind: 'ConfigMap', metadata: { name: 'c', annotations: lastApplied }, data: { key: 'value' } }
    expect(stored(map)).toEqual(map)
  })

  it('goes without the noise of who manages which field', () => {
    const metadata = { name: 'p', managedFields: [{ manager: 'kubelet' }] }
    expect(stored({ kind: 'Pod', metadata })).toEqual({ kind: 'Pod', metadata: { name: 'p' } })
  })

  it('that is too large keeps what it is and how it is doing longest, and says that it is cut', () => {
    const metadata = { name: 'p', annotations: { note: 'a'.repeat(200) } }
    const whole = { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase: 'b'.repeat(100) }, spec: 'c'.repeat(400) }
    const { spec, ...withoutSpec } = whole
    const { status, ...identity } = { ...withoutSpec, metadata: { name: 'p' } }
    expect(stored(whole, 1_000)).toEqual(whole)
    expect(stored(whole, 500)).toEqual(withoutSpec)
    expect(stored(whole, 250)).toEqual({ ...identity, status })
    expect(stored(whole, 100)).toEqual(identity)
    expect(stored(whole, 10)).toEqual({})
    expect([1_000, 500].map((limit) => toDetail(whole, limit)?.isCut)).toEqual([false, true])
  })

  it('keeps numbers with all their digits, and no character that cannot be stored', () => {
    expect(toDetail({ generation: 9_007_199_254_740_993n, text: 'a\0b' })?.text).toBe(
      '{"generation":9007199254740993,"text":"a\\ufffdb"}',
    )
  })

  it('is the same when its text is', () => {
    const [one, same, other] = [{ a: 1 }, { a: 1 }, { a: 2 }].map((object) => toDetail(object)?.hash)
    expect(one).toBe(same)
    expect(one).not.toBe(other)
  })
})
