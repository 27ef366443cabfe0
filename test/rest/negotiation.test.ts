import { describe, expect, it } from 'vitest'
import { accepts, hasAlready } from '../../src/api/rest/negotiation.ts'

const etag = '"sha256:aa"'
const manifest = 'application/vnd.margo.manifest.v1+json'

describe('If-None-Match', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['"sha256:aa"', true],
    ['W/"sha256:aa"', true],
    ['*', true],
    [' * ', true],
    ['"sha256:bb", W/"sha256:aa" ,"x"', true],
    ['"sha256:bb","sha256:cc"', false],
    ['"a, "sha256:aa"', false],
    ['sha256:aa', false],
    ['"sha256:a"', false],
    ['"*"', false],
  ])('%s: %s', (header, has) => expect(hasAlready(header, etag)).toBe(has))
})

describe('Accept', () => {
  it.each([
    [undefined, true],
    ['', true],
    [manifest, true],
    [manifest.toUpperCase(), true],
    ['*/*', true],
    ['application/*', true],
    ['text/html, */*;q=0.1', true],
    [`text/html, ${manifest};q=0.5`, true],
    ['application/json', false],
    ['text/*', false],
    [`${manifest};q=0, */*`, false],
    [`application/*; q=0, */*; q=1`, false],
    [`${manifest};q=zero`, false],
    ['*/*;q=0.0', false],
  ])('%s: %s', (header, allows) => expect(accepts(header, manifest)).toBe(allows))
})
