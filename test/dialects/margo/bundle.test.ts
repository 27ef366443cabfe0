/** Other tools read the archive, and its bytes never change: its digest is published before it is made. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BundledDocument } from '../../../src/ingest/dialects/devices.ts'
import { createBundle } from '../../../src/ingest/dialects/margo/bundle.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'

/** What the real gzip and tar make of it, by name. */
function unpack(bundle: Uint8Array): { files: Record<string, string>; listing: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-bundle-'))
  try {
    writeFileSync(join(folder, 'b.tar.gz'), bundle)
    execFileSync('gzip', ['--test', 'b.tar.gz'], { cwd: folder })
    const listing = execFileSync('tar', ['-tvzf', 'b.tar.gz', '--utc'], { cwd: folder, encoding: 'utf8' })
    execFileSync('tar', ['-xzf', 'b.tar.gz', '--one-top-level=files'], { cwd: folder })
    const names = readdirSync(join(folder, 'files'), { recursive: true, encoding: 'utf8' })
    const files = names.map((name) => [name, readFileSync(join(folder, 'files', name), 'utf8')])
    return { files: Object.fromEntries(files), listing }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const two: BundledDocument[] = [
  { deploymentId: 'pumps', content: 'id: pumps\n' },
  { deploymentId: 'a3e2f5dc-912e-494f-8395-52cf3769bc06', content: '{"id": "ü"}' },
]

describe('a bundle', () => {
  it('is a tar in a gzip', () => {
    const { files, listing } = unpack(createBundle(two))
    expect(files).toEqual({ 'pumps.yaml': 'id: pumps\n', 'a3e2f5dc-912e-494f-8395-52cf3769bc06.yaml': '{"id": "ü"}' })
    expect(listing.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^-rw-r--r-- 0\/0 +12 1970-01-01 00:00 a3e2f5dc-912e-494f-8395-52cf3769bc06.yaml$/),
      expect.stringMatching(/^-rw-r--r-- 0\/0 +10 1970-01-01 00:00 pumps.yaml$/),
    ])
  })

  // Databases store the digests: a change of the bytes withdraws every bundle that a manifest has listed.
  it('is the same to the byte, in whatever order, for ever', () => {
    expect(digestOf(createBundle(two))).toBe('sha256:a761002e2cf05ecbed3a78726b37c560ad6e5d97bdc5bbcabeb93bb23e00c0a6')
    expect(createBundle(two.toReversed())).toEqual(createBundle(two))
  })

  it('holds what is larger than a block of it', () => {
    const contents = [0xffff, 0x10000, 511, 512, 513, 250_000].map((size) => 'x'.repeat(size))
    const { files } = unpack(createBundle(contents.map((content, i) => ({ deploymentId: `d${i}`, content }))))
    expect(
      Object.values(files)
        .map((text) => text.length)
        .sort((a, b) => a - b),
    ).toEqual(contents.map((text) => text.length).sort((a, b) => a - b))
  })

  it('has a file of its own for every id, however odd', () => {
    const long = 'x'.repeat(255)
    const odd = [
      '../../etc/passwd',
      '/abs',
      '.',
      '..',
      '-rf',
      'a b',
      'a/b',
      'a%2Fb',
      'ü',
      '\ud83d\ude00',
      'a\nb',
      "it's",
      '*',
      '~',
      `${long}a`,
      `${long}b`,
    ]
    const { files } = unpack(createBundle(odd.map((deploymentId) => ({ deploymentId, content: deploymentId }))))
    expect(Object.values(files).sort()).toEqual(odd.toSorted())
    for (const name of Object.keys(files)) expect(name).toMatch(/^[A-Za-z0-9%_][A-Za-z0-9%._~-]{0,99}\.yaml$/)
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['%2E.yaml', '%2E..yaml', '%2Drf.yaml', 'a%2Fb.yaml', 'a%252Fb.yaml']),
    )
  })

  it('is never empty', () => {
    expect(() => createBundle([])).toThrow('no empty bundle')
  })

  it('holds every document, whatever is in it', () => {
    const document = fc.record({
      deploymentId: fc.string({ unit: 'grapheme', minLength: 1 }),
      content: fc.string({ unit: 'grapheme', maxLength: 2000 }),
    })
    const documents = fc.uniqueArray(document, { selector: (one) => one.deploymentId, minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(documents, (all) => {
        const tar = gunzipSync(createBundle(all))
        expect(tar.length % 512).toBe(0)
        const contents: string[] = []
        let at = 0
        while (tar[at] !== 0) {
          const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8)
          contents.push(tar.toString('utf8', at + 512, at + 512 + size))
          at += 512 * (1 + Math.ceil(size / 512))
        }
        expect(contents.sort()).toEqual(all.map(({ content }) => content).sort())
      }),
    )
  })
})
