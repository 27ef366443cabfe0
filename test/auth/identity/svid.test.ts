/** The rules for an X.509-SVID, and the path from it to an authority. */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findPath, problemOfLeaf } from '../../../src/api/auth/identity/svid.ts'
import {
  type Authority,
  type Certificate,
  type Certificates,
  createCertificates,
  extension,
} from '../devices/certificates.ts'
import { objectId, sequence, tagged } from '../devices/der.ts'
import { chainOf, idOf, issueSvid, signs, signsCertificates } from './svids.ts'

type Options = NonNullable<Parameters<Authority['issue']>[1]>

let certificates: Certificates
let root: Authority
const now = Date.now() + 1_000
beforeAll(async () => {
  certificates = await createCertificates()
  root = await certificates.authority('root', { usage: signsCertificates, days: 2 })
})
afterAll(() => certificates.remove())

const svid = (options: Options = {}, by = root) => issueSvid(by, idOf('press'), options)
const pathOf = (chain: readonly Certificate[], authorities: readonly Certificate[] = [root], at = now) => {
  const path = findPath(chainOf(...chain), chainOf(...authorities), at)
  return 'message' in path ? `${path.reason}: ${path.message}` : 'found'
}
const purposeList = (...ids: readonly string[]) => extension('2.5.29.37', false, sequence(...ids.map(objectId)))
const nameConstraints = extension('2.5.29.30', true, sequence(tagged(0xa0, sequence(tagged(0x86, Buffer.from('x'))))))

describe('a leaf', () => {
  it.each<[string, Options, RegExp | null]>([
    ['on P-256', {}, null],
    ['on P-384', { keyKind: 'ecdsa P-384' }, null],
    ['with Ed25519', { keyKind: 'ed25519' }, null],
    ['with RSA of 3072 bits', { keyKind: 'rsa 3072' }, null],
    ['with RSA whose exponent is long', { keyKind: 'rsa 3072 with a long exponent' }, /exponent/],
    ['with RSA of 2048 bits', { keyKind: 'rsa 2048' }, /3072 to 8192 bits/],
    ['on P-521', { keyKind: 'ecdsa P-521' }, /P-521/],
    ['on another curve', { keyKind: 'ecdsa secp256k1' }, /secp256k1/],
    ['without a key usage', { usage: { bits: '0' } }, /digitalSignature/],
    ['with a key usage that is not critical', { usage: { bits: '1', isCritical: false } }, /critical/],
    ['that may sign certificates', { usage: { bits: '100001' } }, /keyCertSign/],
    ['that may sign revocation lists', { usage: { bits: '1000001' } }, /cRLSign/],
    ['for both purposes', { extensions: [purposeList('1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2')] }, null],
    ['for clients only', { purpose: 'clientAuth' }, /serverAuth and clientAuth/],
    ['with an unknown critical extension', { extensions: [extension('1.2.3.4', true, sequence())] }, /1\.2\.3\.4/],
    ['with an unknown one that is not critical', { extensions: [extension('1.2.3.4', false, sequence())] }, null],
    ['with an extension twice', { extensions: [extension('2.5.29.15', true, sequence())] }, /cannot be read/],
  ])('%s is judged by the profile', async (_, options, problem) => {
    const found = problemOfLeaf(chainOf(await svid(options))[0] ?? expect.unreachable())
    if (problem === null) expect(found).toBeNull()
    else expect(found).toMatch(problem)
  })

  it.each<[string, Options, Options, RegExp]>([
    ['SHA-256 by P-256', {}, {}, /^found$/],
    ['SHA-1 by P-256', {}, { signature: 'ecdsa-sha1' }, /unknown algorithm/],
    ['SHA-384 by P-384', { keyKind: 'ecdsa P-384' }, { signature: 'ecdsa-sha384' }, /^found$/],
    ['SHA-256 by P-384', { keyKind: 'ecdsa P-384' }, {}, /ecdsa-sha256 by a key of ecdsa P-384/],
    ['SHA-256 by RSA', { keyKind: 'rsa 3072' }, {}, /^found$/],
    ['SHA-256 by RSA with PSS', { keyKind: 'rsa 3072' }, { signature: 'pss-sha256' }, /^found$/],
    ['SHA-512 by RSA', { keyKind: 'rsa 3072' }, { signature: 'rsa-sha512' }, /rsa-sha512/],
    ['SHA-256 by short RSA', { keyKind: 'rsa 2048' }, {}, /rsa 2048/],
    ['Ed25519', { keyKind: 'ed25519' }, {}, /^found$/],
  ])('that is signed with %s is judged by the profile', async (_, own, options, expected) => {
    const by = await certificates.authority('issuer', own)
    expect(pathOf([await svid(options, by)], [by])).toMatch(expected)
  })
})

describe('a path', () => {
  it('leads over what was sent with the leaf, in any order, to an authority of the bundle only', async () => {
    const upper = await root.subordinate('upper')
    const lower = await upper.subordinate('lower')
    const leaf = await svid({}, lower)
    const stranger = await certificates.authority('root', { usage: signsCertificates })
    expect(pathOf([leaf, lower, upper])).toBe('found')
    expect(pathOf([leaf, upper, root, lower])).toBe('found')
    expect(pathOf([leaf, lower, upper], [stranger, root])).toBe('found')
    expect(pathOf([leaf, lower, upper], [upper])).toBe('found')
    expect(pathOf([leaf, upper])).toMatch(/^untrusted: no authority/)
    // An authority of the same name with another key, also if its certificate is sent.
    expect(pathOf([leaf, lower, upper, root], [stranger])).toMatch(/^untrusted/)
    expect(pathOf([leaf, lower, upper], [])).toMatch(/^untrusted/)
  })

  it.each<[string, Options, RegExp]>([
    ['is no authority', { isAuthority: false }, /not one of an authority/],
    ['may not sign certificates', { usage: signs }, /keyCertSign|no authority/],
    ['constrains names', { extensions: [nameConstraints] }, /constrains names/],
    ['has an unknown critical extension', { extensions: [extension('1.2.3.4', true, sequence())] }, /1\.2\.3\.4/],
    ['has a short key', { keyKind: 'rsa 1024' }, /accepted key/],
    ['has a key that takes long to verify', { keyKind: 'rsa 3072 with a long exponent' }, /accepted key/],
    ['was signed with SHA-1', { signature: 'ecdsa-sha1' }, /algorithm/],
    ['has expired', { days: -1 }, /^expired: the certificate of CN=middle expired at .* clock of this server says/],
  ])('does not lead over a certificate that %s', async (_, options, problem) => {
    const middle = options.isAuthority === false ? await pretender(options) : await root.subordinate('middle', options)
    expect(pathOf([await svid({}, middle), middle])).toMatch(problem)
  })

  /** Signs as an authority, though its certificate does not say that it may. */
  async function pretender(options: Options): Promise<Authority> {
    const real = await certificates.authority('middle')
    const shown = await root.issue('middle', options)
    return { ...real, cert: shown.cert }
  }

  it('keeps to the length that an authority allows', async () => {
    const short = await certificates.authority('short', { pathLength: 1 })
    const first = await short.subordinate('first')
    const second = await first.subordinate('second')
    expect(pathOf([await svid({}, first), first], [short])).toBe('found')
    expect(pathOf([await svid({}, second), second, first], [short])).toMatch(/fewer certificates/)
  })

  it('is of the time of all its certificates; the clock of an authority may be a minute ahead', async () => {
    const leaf = await svid()
    const { validFromDate, validToDate } = new X509Certificate(leaf.cert)
    const [from, until] = [validFromDate.getTime(), validToDate.getTime()]
    expect(pathOf([leaf], [root], from - 59_000)).toBe('found')
    expect(pathOf([leaf], [root], from - 61_000)).toMatch(/^expired: the certificate of .* is valid from /)
    expect(pathOf([leaf], [root], until)).toBe('found')
    expect(pathOf([leaf], [root], until + 1)).toMatch(/^expired: .* expired at /)
  })

  it('is not searched for among many certificates', async () => {
    const many = await Promise.all(Array.from({ length: 9 }, () => root.subordinate('root')))
    const leaf = await svid({}, many[0] ?? root)
    expect(pathOf([leaf, ...many])).toMatch(/more than 8/)
    // Eight that all could have issued each other: few signatures are verified.
    const verify = vi.spyOn(X509Certificate.prototype, 'verify')
    expect(pathOf([leaf, ...many.slice(1)])).toMatch(/^untrusted/)
    expect(verify.mock.calls.length).toBeLessThan(25)
    verify.mockRestore()
  })
})
